// Builds a Bloom filter of the build side's keys and drops the probe rows that it
// rejects.
//
// A rejected probe row costs its key and one word of the filter; it takes part in
// no pass and no match. The remaining rows are copied to dense columns, which
// become the probe side of the join, so every payload and every join kernel works
// unchanged. The alternative is to mark rejected rows during the histogram, as the
// bypass does, and to skip them in the first pass. That saves the copies, but the
// pass ranks tiles in which every row keeps its slot: when less than a third of
// the rows remain it is slower than copying them, and each payload kind would need
// one more kernel.
//
// The filter is blocked (Putze, Sanders, Singler, "Cache-, Hash- and Space-
// Efficient Bloom Filters", section 3): a key sets four bits, two in each half of
// one 64-bit word, so a lookup reads one sector. 3.4 % of the rows without a match
// pass with 8 bits of filter a key, 0.5 % with 16.
//
// Bound: word reads from the L2 cache, one a probe row and two a build row. A
// multiprocessor requests one sector a cycle: 230 G/s for a whole H200. Measured
// there: 118 G/s for lookups and copies, 2.3 ms for 2^28 probe rows against 2^24
// keys (1.1 GB of keys, plus the payload sectors of the remaining rows). A filter
// larger than the L2 cache is slow: 6.8 ms for 2^28 lookups. The filter does not
// pay when about half of the rows match, or when the build side has about as many
// rows as the probe side; package costmodel has the model.
#pragma once
#include "agent/sample.cuh"
#include "block/hash.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// A key's word of the filter and its bits in that word. All of `part` chooses the
// word, so any number of words works. Keys of one word differ in the low bits of
// `part`, which the product moves to the top.
struct FilterBits {
  uint32_t word, mixed;
  __device__ __forceinline__ uint2 bits() const {
    return make_uint2(1u << (mixed >> 27) | 1u << (mixed >> 22 & 31), 1u << (mixed >> 17 & 31) | 1u << (mixed >> 12 & 31));
  }
  __device__ __forceinline__ bool within(uint2 word) const {
    const uint2 b = bits();
    return !((b.x & ~word.x) | (b.y & ~word.y));
  }
};

template <int KW>
__device__ __forceinline__ FilterBits filter_bits(const uint32_t (&key)[KW], uint32_t words) {
  const Hash h = hash_words(key);
  return {(uint32_t)((uint64_t)h.part * words >> 32), h.table * 0x9e3779b1u};
}

// Key k of a vector of 16 bytes.
template <int KW>
__device__ __forceinline__ void key_of_vector(uint4 v, int k, uint32_t (&key)[KW]) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
}

// Enters the build side's keys into a filter of `words` words, all zero before.
// A word is read before its atomic update: otherwise all rows of a frequent key
// would queue for the same word.
template <int KW, int T>
__device__ __forceinline__ void fill_filter(const gj_join* join, uint64_t filter, uint64_t words) {
  constexpr int V = 4 / KW;  // keys per vector
  const uint64_t rows = join->side[0].rows, stride = (uint64_t)gridDim.x * T;
  const uint4* vector = reinterpret_cast<const uint4*>(join->side[0].key);
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i * V < rows; i += stride) {
    const uint4 v = __ldcs(vector + i);
    FilterBits f[V];
    uint2 word[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
      uint32_t key[KW];
      key_of_vector(v, k, key);
      f[k] = filter_bits(key, (uint32_t)words);
      word[k] = __ldcg(reinterpret_cast<const uint2*>(filter) + f[k].word);
    }
#pragma unroll
    for (int k = 0; k < V; k++)
      if (i * V + k < rows && !f[k].within(word[k]))
        atomicOr(reinterpret_cast<unsigned long long*>(filter) + f[k].word, (unsigned long long)f[k].bits().y << 32 | f[k].bits().x);
  }
}

// Dynamic shared memory: the keys of the tile's remaining rows, and the rows'
// numbers within the tile.
template <int KW, int T, int V>
struct ReductionLayout {
  static constexpr int tile = T * V * 4 / KW, rows = tile * KW * 4, bytes = rows + tile * 2;
};

// Copies the probe rows that pass the filter: keys to `keys`, payload by the side's
// fields, in any order. GJ_KEPT counts all of them; rows from number `capacity` on
// are not written. A thread handles V vectors of keys.
template <int KW, int T, int V>
__device__ __forceinline__ void reduce(const gj_join* join, uint64_t filter, uint64_t words, uint64_t keys, uint64_t capacity) {
  using Layout = ReductionLayout<KW, T, V>;
  using Key = Value<4 * KW>;
  constexpr int PER = 4 / KW, N = V * PER;  // keys per vector, per thread
  static_assert(N <= 32 && Layout::tile <= 1 << 16);
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  Key* left_key = reinterpret_cast<Key*>(smem);
  uint16_t* left_row = reinterpret_cast<uint16_t*>(smem + Layout::rows);
  __shared__ uint32_t sums[32];
  __shared__ unsigned long long claimed;
  const gj_side& side = join->side[1];
  const uint64_t rows = side.rows;
  const uint4* vector = reinterpret_cast<const uint4*>(side.key);
  const uint2* word = reinterpret_cast<const uint2*>(filter);

  for (uint64_t first = (uint64_t)blockIdx.x * Layout::tile; first < rows; first += (uint64_t)gridDim.x * Layout::tile) {
    const uint32_t n = (uint32_t)min(rows - first, (uint64_t)Layout::tile);
    uint4 v[V];
    FilterBits f[N];
    uint2 w[N];
    uint32_t left = 0;  // one bit per key of the thread: it passed
#pragma unroll
    for (int i = 0; i < V; i++) {
      v[i] = uint4{0, 0, 0, 0};
      if ((i * T + threadIdx.x) * PER < n) v[i] = __ldcs(vector + first / PER + i * T + threadIdx.x);
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      uint32_t key[KW];
      key_of_vector(v[j / PER], j % PER, key);
      f[j] = filter_bits(key, (uint32_t)words);
      w[j] = __ldg(word + f[j].word);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
      if ((j / PER * T + threadIdx.x) * PER + j % PER < n) left |= (uint32_t)f[j].within(w[j]) << j;

    uint32_t total;
    uint32_t slot = block_exclusive<T>((uint32_t)__popc(left), sums, total);
    if (threadIdx.x == 0) claimed = atomicAdd(reinterpret_cast<unsigned long long*>(join->counters) + GJ_KEPT, (unsigned long long)total);
#pragma unroll
    for (int j = 0; j < N; j++)
      if (left >> j & 1) {
        uint32_t key[KW];
        key_of_vector(v[j / PER], j % PER, key);
        if constexpr (KW == 1)
          left_key[slot] = key[0];
        else
          left_key[slot] = make_uint2(key[0], key[1]);
        left_row[slot++] = (uint16_t)((j / PER * T + threadIdx.x) * PER + j % PER);
      }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < total; i += T) {
      const uint64_t to = claimed + i;
      if (to >= capacity) break;
      __stcg(reinterpret_cast<Key*>(keys) + to, left_key[i]);
      const uint32_t row[1] = {(uint32_t)first + left_row[i]};
      gather_fields(side, row, 1, [&](int) { return to; });
    }
    __syncthreads();
  }
}

}  // namespace gj
