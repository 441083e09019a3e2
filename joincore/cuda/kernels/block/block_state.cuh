// What the threads of a block that groups rows share: the job, a warp's slots, the row
// numbers of a tile, hashes of keys.
#pragma once
#include "block/local_groups.cuh"
#include "block/machine.cuh"

namespace gj {

// What all threads of a block share, at the beginning of its shared memory.
struct BlockState {
  gj_aggregate job;
  gj_groups groups;
  LocalGroups local;
};

__device__ __forceinline__ BlockState& block_state() { return *shared_at<BlockState>(0); }

__device__ __forceinline__ const gj_origin* origins() { return reinterpret_cast<const gj_origin*>(block_state().job.origins); }

// Slots in shared memory: those of neighbouring threads lie side by side.
template <int R>
struct WarpSlots {
  uint32_t values, nulls;  // offsets
  static constexpr uint32_t bytes_each = 32 * (8 * R + 1);  // of a slot of a warp
  __device__ __forceinline__ WarpSlots(uint32_t base, uint32_t count) {
    const uint32_t lane = threadIdx.x % 32, from = base + threadIdx.x / 32 * count * bytes_each;
    values = from + 8 * lane, nulls = from + count * (256 * R) + lane;
  }
  __device__ __forceinline__ int64_t& at(uint32_t slot, int j) const { return *shared_at<int64_t>(values + slot * (256 * R) + 256 * j); }
  __device__ __forceinline__ uint32_t null(uint32_t slot) const { return *shared_at<uint8_t>(nulls + slot * 32); }
  __device__ __forceinline__ void set_null(uint32_t slot, uint32_t v) const { *shared_at<uint8_t>(nulls + slot * 32) = (uint8_t)v; }
};

// The row numbers of a warp's tile.
template <int R>
struct TileRows {
  uint32_t row[R];
  __device__ __forceinline__ uint32_t number(const gj_column&, int j) const { return row[j]; }
  __device__ __forceinline__ bool any(uint32_t active) const { return __any_sync(~0u, active != 0); }
};

__device__ __forceinline__ Hash hash_of_word(uint64_t key) {
  Hash h = finish(key ^ gj_hash_seed);
  if (block_state().groups.collide) h.part &= 1, h.table &= 1;
  return h;
}

// Of several words, word(w).
template <class Word>
__device__ __forceinline__ Hash hash_of_words(uint32_t words, Word word) {
  uint64_t sum = gj_hash_seed;
  Hash h{0, 0};
  for (uint32_t w = 0; w < words; w++) {
    h = finish(sum ^ word(w));
    sum = (uint64_t)h.part << 32 | h.table;
  }
  if (block_state().groups.collide) h.part &= 1, h.table &= 1;
  return h;
}

}  // namespace gj
