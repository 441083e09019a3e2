// A hash table of the groups that a block meets, in its shared memory. It holds what
// their slots of the device's table are to be added in the end. Groups that it has no
// slot for are added to there at once.
//
// Sums are numbers of several words of 4 bytes: shared memory adds to these by one
// instruction, but to words of 8 bytes in a loop. Few groups have copies of their
// cells, so that the threads of a warp seldom add to the same word.
#pragma once
#include "block/groups.cuh"

namespace gj {

constexpr uint32_t local_group = 1u << 31;  // marks a slot of the block's table
constexpr uint32_t local_probes = 8;

struct LocalGroups {
  uint32_t capacity, words, wides, copies;
  char* base;

  __device__ __forceinline__ LocalGroups(const gj_aggregate* job, char* base)
      : capacity((uint32_t)job->local_capacity), words((uint32_t)job->local_words), wides((uint32_t)job->local_wides),
        copies((uint32_t)job->copies), base(base) {}

  __device__ __forceinline__ uint32_t slots() const { return capacity + 2; }
  // Arrays one after the other, those of 8 bytes first.
  __device__ __forceinline__ unsigned long long* keys(uint32_t key_words) const { return reinterpret_cast<unsigned long long*>(base); }
  __device__ __forceinline__ long long* wide_cells(uint32_t key_words) const {
    return reinterpret_cast<long long*>(keys(key_words) + (uint64_t)capacity * key_words);
  }
  __device__ __forceinline__ uint32_t* cells(uint32_t key_words) const {
    return reinterpret_cast<uint32_t*>(wide_cells(key_words) + (uint64_t)slots() * wides * copies);
  }
  __device__ __forceinline__ uint32_t* global(uint32_t key_words) const { return cells(key_words) + (uint64_t)slots() * words * copies; }
  __device__ __forceinline__ uint32_t* states(uint32_t key_words) const { return global(key_words) + slots(); }

  // The word of a cell, of a copy.
  __device__ __forceinline__ uint64_t place(uint32_t slot, uint32_t per_slot, uint32_t word, uint32_t copy) const {
    return ((uint64_t)slot * per_slot + word) * copies + copy;
  }
};

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

}  // namespace gj
