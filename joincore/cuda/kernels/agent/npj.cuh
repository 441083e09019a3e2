// The join without partitions: one hash table of all build rows in device memory,
// open addressing, at most half full unless memory is short.
//
// A slot access fetches two sectors, which hold eight slots. A search therefore
// looks at all eight, its own first, before it continues with the next eight. In a
// half-full table 1 % of the successful searches and 6 % of the others continue;
// with linear probing over single slots these would be 6 % and 19 %.
//
// A slot is tag << 32 | row: a 32-bit tag that distinguishes keys, and the last
// build row with that tag, from which `next` leads to the others. An empty slot is
// all ones; no row has that number, so no key is special. A 4-byte key is its own
// tag. The tag of an 8-byte key is the half of the hash that does not number the
// slot, and candidate pairs are compared by the whole key.
//
// If the range of the build keys is no wider than the table's number of 4-byte
// words, the table is instead an array with the last build row of each key: the
// array join for dense keys. A probe row then reads at most one word and compares
// neither tags nor keys.
//
// Build rows of one key are walked one after the other: a hot key on both sides
// gives right results slowly.
//
// Bound: one random read and write back a build row, one random read a probe row.
// An H200 serves 39.5 G random reads a second.
#pragma once
#include "block/hash.cuh"
#include "block/result.cuh"

namespace gj {

constexpr unsigned long long empty_slot = ~0ull;
constexpr uint32_t no_row = ~0u;

template <int KW>
__device__ __forceinline__ uint64_t key_value(uint64_t keys, uint64_t row) {
  if constexpr (KW == 1) return __ldg(reinterpret_cast<const uint32_t*>(keys) + row);
  return __ldg(reinterpret_cast<const unsigned long long*>(keys) + row);
}

// Finds the range of the build keys: range[0] is the smallest key, range[1] the
// complement of the largest. range[2] counts the rows whose keys are so close to
// the preceding row's that their array words share a sector.
template <int KW, int T>
__device__ __forceinline__ void key_range(const gj_table* table) {
  __shared__ unsigned long long lows[T / 32], highs[T / 32], nears[T / 32];
  unsigned long long low = ~0ull, high = ~0ull, near = 0;
#pragma unroll 4
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < table->rows[0]; i += (uint64_t)gridDim.x * T) {
    const unsigned long long key = key_value<KW>(table->key[0], i), before = key_value<KW>(table->key[0], i - (i > 0));
    low = min(low, key), high = min(high, ~key);
    near += key - before + 7 < 15;
  }
#pragma unroll
  for (int d = 16; d; d /= 2) {
    low = min(low, __shfl_xor_sync(~0u, low, d)), high = min(high, __shfl_xor_sync(~0u, high, d));
    near += __shfl_xor_sync(~0u, near, d);
  }
  if (threadIdx.x % 32 == 0) lows[threadIdx.x / 32] = low, highs[threadIdx.x / 32] = high, nears[threadIdx.x / 32] = near;
  __syncthreads();
  if (threadIdx.x) return;
  for (int w = 1; w < T / 32; w++) low = min(low, lows[w]), high = min(high, highs[w]), near += nears[w];
  unsigned long long* range = reinterpret_cast<unsigned long long*>(table->range);
  atomicMin(range, low), atomicMin(range + 1, high), atomicAdd(range + 2, near);
}

// The slot of `count` at which a key's search begins, and its tag.
template <int KW>
__device__ __forceinline__ uint64_t first_slot(uint64_t key, uint64_t count, uint32_t& tag) {
  Hash h;
  if constexpr (KW == 1) {
    const uint32_t word[1] = {(uint32_t)key};
    h = {hash_words(word).part, (uint32_t)key};
  } else {
    const uint32_t word[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    h = hash_words(word);
  }
  tag = h.table;
  return (uint64_t)h.part * count >> 32;
}

struct DenseRows;

// A table and build rows in one device's memory. agent/spread.cuh has the other case.
template <int KW>
struct Slots {
  using Descriptor = gj_table;
  using Array = DenseRows;
  const gj_table& of;
  uint64_t* slot;
  uint64_t count;
  __device__ explicit Slots(const gj_table& table) : of(table), slot(reinterpret_cast<uint64_t*>(table.table)), count(table.slots) {}
  __device__ static __forceinline__ const gj_table& table(const Descriptor& d) { return d; }
  __device__ __forceinline__ uint64_t* at(uint64_t i) const { return slot + i; }
  // The slot that a search from slot `first` visits after `others` other slots.
  __device__ __forceinline__ uint64_t after(uint64_t first, uint32_t others) const {
    uint64_t line = (first & ~7ull) + (others & ~7u);
    if (line >= count) line -= count;
    return line + ((first ^ others) & 7);
  }
  // Whether a search that has visited that many slots may visit one more.
  __device__ static constexpr bool continues(uint32_t) { return true; }
  __device__ static __forceinline__ void overflow() {}
  __device__ __forceinline__ uint64_t key_of(uint32_t row) const { return key_value<KW>(of.key[0], row); }
  __device__ __forceinline__ uint32_t next_of(uint32_t row) const { return __ldg(reinterpret_cast<const uint32_t*>(of.next) + row); }
};

// The table as an array indexed by key.
struct DenseRows {
  uint32_t* row;
  uint64_t low, width;
  bool dense;  // the table is an array
  __device__ explicit DenseRows(const gj_table& table) : row(reinterpret_cast<uint32_t*>(table.table)) {
    const uint64_t* range = reinterpret_cast<const uint64_t*>(table.range);
    low = range[0], width = ~range[1] - low + 1;  // 0: the whole range of the type
    dense = width - 1 < 2 * table.slots;
  }
  __device__ __forceinline__ uint32_t find(uint64_t key) const {
    const uint64_t at = key - low;
    return at < width ? __ldg(row + at) : no_row;
  }
};

// Enters a build row into its slot and returns the row that was there, if any. It
// reads the slot before the atomic operation: on an H200 an atomic that misses the
// cache takes longer than a read that misses followed by an atomic that hits,
// although the latter moves more bytes (20.2 against 14.9 ms for 2^27 rows).
template <class Where>
__device__ __forceinline__ uint32_t enter_row(const Where& slots, uint32_t first, uint32_t tag, uint32_t row) {
  const unsigned long long mine = (uint64_t)tag << 32 | row;
  for (uint32_t others = 0; slots.continues(others); others++) {
    unsigned long long* slot = reinterpret_cast<unsigned long long*>(slots.at(slots.after(first, others)));
    unsigned long long there = __ldcg(slot);
    if (there == empty_slot) there = atomicCAS(slot, empty_slot, mine);
    if (there == empty_slot) return no_row;
    if (there >> 32 == tag) return (uint32_t)atomicExch(slot, mine);  // a slot never changes its tag
  }
  slots.overflow();
  return no_row;
}

// The same for the array.
__device__ __forceinline__ uint32_t enter_row(const DenseRows& array, uint64_t key, uint32_t row) {
  uint32_t* word = array.row + (key - array.low);
  uint32_t there = *reinterpret_cast<volatile uint32_t*>(word);
  if (there == no_row) there = atomicCAS(word, no_row, row);
  return there == no_row ? no_row : atomicExch(word, row);
}

// Enters all build rows.
template <int KW, int T>
__device__ __forceinline__ void enter_rows(const gj_table* table) {
  const Slots<KW> slots(*table);
  const DenseRows array(*table);
  uint32_t* next = reinterpret_cast<uint32_t*>(table->next);
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < table->rows[0]; i += (uint64_t)gridDim.x * T) {
    const uint64_t key = key_value<KW>(table->key[0], i);
    uint32_t tag, before;
    if (array.dense) {
      before = enter_row(array, key, (uint32_t)i);
    } else {
      const uint32_t first = (uint32_t)first_slot<KW>(key, slots.count, tag);
      before = enter_row(slots, first, tag, (uint32_t)i);
    }
    if (before != no_row) *reinterpret_cast<volatile uint32_t*>(table->repeats) = 1;
    __stcs(next + i, before);
  }
}

// Joins the probe rows, T * IPT per tile.
template <int KW, int T, int IPT, class Where = Slots<KW>>
__device__ __forceinline__ void probe_rows(const typename Where::Descriptor* descriptor) {
  constexpr int N = T * IPT, WARPS = T / 32;
  __shared__ typename Where::Descriptor of;
  __shared__ uint32_t pair[2][N];
  __shared__ ChunkClaim<IPT * WARPS> claim;
  FarRows pairs{{pair[0], pair[1]}};
  copy_descriptor<T>(descriptor, &of);
  __syncthreads();
  const gj_table& table = Where::table(of);
  const Where slots(of);
  const typename Where::Array array(table);
  const uint32_t t = threadIdx.x, lane = t & 31, warp = t / 32;
  const bool repeats = *reinterpret_cast<const uint32_t*>(table.repeats);
  for (uint64_t first = (uint64_t)blockIdx.x * N; first < table.rows[1]; first += (uint64_t)gridDim.x * N) {
    const uint32_t rows = (uint32_t)min((uint64_t)N, table.rows[1] - first);
    uint64_t key[IPT];
    uint32_t row[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) key[j] = j * T + t < rows ? key_value<KW>(table.key[1], first + j * T + t) : 0;
    if (array.dense) {
#pragma unroll
      for (int j = 0; j < IPT; j++) row[j] = j * T + t < rows ? array.find(key[j]) : no_row;
    } else {
      uint64_t at[IPT], word[IPT];
      uint32_t tag[IPT];
#pragma unroll
      for (int j = 0; j < IPT; j++) at[j] = first_slot<KW>(key[j], slots.count, tag[j]);
#pragma unroll
      for (int j = 0; j < IPT; j++) word[j] = j * T + t < rows ? __ldg(slots.at(at[j])) : empty_slot;
#pragma unroll
      for (int j = 0; j < IPT; j++) {
        for (uint32_t others = 1; word[j] != empty_slot && word[j] >> 32 != tag[j]; others++)
          word[j] = slots.continues(others) ? __ldg(slots.at(slots.after(at[j], others))) : empty_slot;
        row[j] = (uint32_t)word[j];
      }
    }
    bool left = false;
#pragma unroll
    for (int j = 0; j < IPT; j++) left |= row[j] != no_row;
    // Each iteration handles one partner of each row.
    while (__syncthreads_or(left)) {
      uint32_t hits = 0;
#pragma unroll
      for (int j = 0; j < IPT; j++)
        if (row[j] != no_row && (KW == 1 || array.dense || slots.key_of(row[j]) == key[j])) hits |= 1u << j;
#pragma unroll
      for (int j = 0; j < IPT; j++) {
        const uint32_t some = __ballot_sync(~0u, hits >> j & 1);
        if (lane == 0) claim.chunk[j * WARPS + warp] = __popc(some);
      }
      __syncthreads();
      claim.claim(table.result);
      __syncthreads();
      left = false;
#pragma unroll
      for (int j = 0; j < IPT; j++) {
        const uint32_t some = __ballot_sync(~0u, hits >> j & 1);
        if (hits >> j & 1) {
          const uint32_t to = claim.chunk[j * WARPS + warp] + __popc(some & ((1u << lane) - 1));
          pairs.set(to, row[j], (uint32_t)first + j * T + t);
        }
        row[j] = repeats && row[j] != no_row ? slots.next_of(row[j]) : no_row;
        left |= row[j] != no_row;
      }
      __syncthreads();
      write_result<T, IPT>(table.result, pairs, claim.base, claim.total);
    }
  }
}

}  // namespace gj
