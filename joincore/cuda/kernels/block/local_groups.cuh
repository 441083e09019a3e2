// A hash table of the groups that a block meets, in its shared memory. It holds what
// their slots of the device's table are to be added in the end. Groups that it has no
// cells for are added to there at once; as cells go to the groups that come first,
// frequent groups have some.
//
// The table has several slots for each group's cells, so that most keys are found at
// the first attempt; the cells' number is noted in the slot. Sums are numbers of
// several words of 4 bytes: shared memory adds to these by one instruction, but to
// words of 8 bytes in a loop. The same word of all groups lies side by side, so that
// random groups fall into all banks. Few groups have copies of their cells, so that
// the threads of a warp seldom add to the same one.
#pragma once
#include "block/groups.cuh"

namespace gj {
extern __shared__ uint4 shared[];

// What lies at an offset, in bytes, of shared memory.
template <class V>
__device__ __forceinline__ V* shared_at(uint32_t offset) {
  return reinterpret_cast<V*>(reinterpret_cast<char*>(shared) + offset);
}

constexpr uint32_t local_group = 1u << 31;  // marks cells of the block's table

// What a slot of the block's table says of its cells, apart from their number.
constexpr uint32_t cells_unknown = 0xffff;  // the thread that has taken the slot will say it

constexpr uint32_t groups_without_key = 2;

// Offsets in shared memory.
struct LocalGroups {
  uint32_t capacity;  // slots, a power of two
  uint32_t groups;    // that have cells, with the two that have no key, which come first
  uint32_t taken;     // groups that have cells; it may exceed their number
  uint32_t spread;    // slots at which look-ups begin: all, but for tests
  uint32_t probes, copies;
  uint32_t keys;    // uint64[words] of each slot
  uint32_t wides;   // int64[groups][copies] of each cell of 8 bytes
  uint32_t cells;   // uint32[groups][copies] of each word of 4 bytes
  uint32_t global;  // uint32[groups]: slots of the device's table, or no_group
  uint32_t tags;    // uint32[capacity], if keys have several words: gj_slot_state, or the hash of a key with its lowest bits 2
  uint32_t numbers;  // uint16[capacity]: of cells

  __device__ __forceinline__ void place(const gj_aggregate* job, uint32_t words, uint32_t at) {
    capacity = (uint32_t)job->local_capacity, groups = (uint32_t)job->local_groups;
    spread = reinterpret_cast<const gj_groups*>(job->groups)->collide ? min(capacity, 2u) : capacity;
    probes = (uint32_t)job->local_probes, copies = (uint32_t)job->copies;
    keys = at;
    wides = keys + 8 * words * capacity;
    cells = wides + 8 * words_apart() * (uint32_t)job->local_wides;
    global = cells + 4 * words_apart() * (uint32_t)job->local_words;
    tags = global + 4 * groups;
    numbers = tags + (words > 1 ? 4 * capacity : 0);
  }

  __device__ __forceinline__ unsigned long long* key(uint32_t slot, uint32_t words) const { return shared_at<unsigned long long>(keys) + slot * words; }
  __device__ __forceinline__ uint32_t* global_slot(uint32_t group) const { return shared_at<uint32_t>(global) + group; }
  __device__ __forceinline__ uint32_t* tag(uint32_t slot) const { return shared_at<uint32_t>(tags) + slot; }
  __device__ __forceinline__ volatile uint16_t* number(uint32_t slot) const { return shared_at<volatile uint16_t>(numbers) + slot; }
  // A word of a cell, or a cell of 8 bytes; `at` is group * copies + copy.
  __device__ __forceinline__ uint32_t* cell(uint32_t word, uint32_t at) const { return shared_at<uint32_t>(cells) + word * words_apart() + at; }
  __device__ __forceinline__ long long* wide_cell(uint32_t number, uint32_t at) const { return shared_at<long long>(wides) + number * words_apart() + at; }
  __device__ __forceinline__ uint32_t words_apart() const { return groups * copies; }

  __device__ __forceinline__ bool has_space() const { return *const_cast<const volatile uint32_t*>(&taken) < groups; }
  // Where the look-up of a key of one word begins: multiplication by a random number
  // spreads keys over the highest bits (Dietzfelbinger et al., 1997).
  __device__ __forceinline__ uint32_t home(uint64_t key) const {
    const uint32_t high = (uint32_t)(key * (gj_hash_seed | 1) >> 32);
    return (uint32_t)((uint64_t)high * spread >> 32);
  }
  __device__ __forceinline__ uint32_t next(uint32_t slot) const { return slot + 1 & capacity - 1; }
  __device__ __forceinline__ uint32_t mark(uint32_t group) const { return local_group | (group * copies + (threadIdx.x & (copies - 1))); }
};

// Gives cells to the group of a slot that this thread has taken; g is its slot of the
// device's table. Returns its mark, or g if there are no more cells.
__device__ __forceinline__ uint32_t give_cells(LocalGroups& l, uint32_t slot, uint32_t g) {
  const uint32_t group = atomicAdd(&l.taken, 1u);
  if (group >= l.groups) return g;
  *l.global_slot(group) = g;
  __threadfence_block();
  *l.number(slot) = (uint16_t)group;
  return l.mark(group);
}

__device__ __forceinline__ bool is_wide_cell(uint32_t kind) { return kind == GJ_MIN || kind == GJ_MAX; }
__device__ __forceinline__ uint32_t local_words_of(uint32_t kind) { return kind == GJ_SUM ? 3 : kind == GJ_SUM_WIDE ? 5 : 1; }

// Adds to a number of N words that are `stride` words apart.
template <int N, class V>
__device__ __forceinline__ void add_local(uint32_t* word, uint32_t stride, V v) {
#pragma unroll
  for (int w = 0; w < N; w++) {
    const uint32_t part = (uint32_t)v;
    v >>= 32;
    if (part) v += (uint32_t)(atomicAdd(word + w * stride, part) + part) < part;
    if (v == 0) return;
  }
}

// Makes a cell of 8 bytes the least, or the greatest, of it and v. Shared memory does
// so in a loop, and few values get there.
__device__ __noinline__ void replace_extreme(long long* cell, int64_t v, bool least) {
  if (least)
    atomicMin(cell, (long long)v);
  else
    atomicMax(cell, (long long)v);
}
__device__ __forceinline__ void take_extreme(long long* cell, int64_t v, bool least) {
  const int64_t there = *reinterpret_cast<volatile long long*>(cell);
  if (least ? v < there : v > there) replace_extreme(cell, v, least);
}

// Adds up the copies of a number of N words: out[w] times 2^32 to the power of w.
template <int N>
__device__ __forceinline__ void sum_copies(const uint32_t* word, uint32_t stride, uint32_t copies, int64_t (&out)[N]) {
#pragma unroll
  for (int w = 0; w < N; w++) {
    out[w] = 0;
    for (uint32_t c = 0; c < copies; c++) out[w] += w < N - 1 ? (int64_t)word[w * stride + c] : (int64_t)(int32_t)word[w * stride + c];
  }
}

}  // namespace gj
