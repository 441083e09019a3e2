// Histogram of both sides' keys over all partition bits.
//
// A block counts one side in shared memory: in 4-byte counters for up to 2^15
// partitions, above that in 2-byte ones. A word then holds partition p of the
// first half in its low half and partition p of the second half in its high half,
// so that whole lines are added to the global counters. Every 3 * 2^14 rows a
// sweep moves multiples of 2^14 from each 2-byte counter to the global one, so
// that none overflows. Lanes of a warp that meet the same hot partition add once.
//
// If the join is sampled, build keys are also looked up in the sample of probe
// keys.
//
// Bound: reads each key once. 4.2 TB/s measured on an H200, of 4.3 attainable.
#pragma once
#include "agent/sample.cuh"
#include "block/constant.cuh"
#include "block/hash.cuh"
#include "layout/join.h"

namespace gj {

constexpr int word_counter_bits = 15;

// words: number of counter words, a power of two.
template <bool HALVES>
__device__ __forceinline__ void count_rows(uint32_t* counter, uint32_t words, uint32_t p, uint32_t n) {
  if constexpr (HALVES)
    atomicAdd(&counter[p & (words - 1)], p & words ? n << 16 : n);
  else
    atomicAdd(&counter[p], n);
}

// The largest value of a 2-byte counter after a sweep, and the rows it can then count.
constexpr uint32_t half_kept = (1 << 14) - 1, half_room = 0xffff - half_kept;

// Moves the multiples of half_kept + 1 in 2-byte counters to the global counters.
template <int T>
__device__ __forceinline__ void sweep(uint32_t* counter, uint32_t words, uint32_t* global) {
  constexpr uint32_t kept = half_kept << 16 | half_kept;
  __syncthreads();
  uint4* quad = reinterpret_cast<uint4*>(counter);
  for (uint32_t i = threadIdx.x; i < words / 4; i += T) {
    const uint4 v = quad[i];
    if (!((v.x | v.y | v.z | v.w) & ~kept)) continue;
    const uint32_t over[4] = {v.x & ~kept, v.y & ~kept, v.z & ~kept, v.w & ~kept};
#pragma unroll
    for (int q = 0; q < 4; q++) {
      if (over[q] & 0xffff) atomicAdd(&global[4 * i + q], over[q] & 0xffff);
      if (over[q] >> 16) atomicAdd(&global[words + 4 * i + q], over[q] >> 16);
    }
    quad[i] = make_uint4(v.x & kept, v.y & kept, v.z & kept, v.w & kept);
  }
  __syncthreads();
}

template <int KW, int T, bool HALVES, bool LOOK>
__device__ __forceinline__ void histogram_side(const gj_join* join, int s, uint32_t block, uint32_t blocks) {
  extern __shared__ uint4 shared[];
  uint32_t* counter = reinterpret_cast<uint32_t*>(shared);
  const int bits = (int)(join->bits_first + join->bits_second), shift = 32 - bits;
  const uint32_t words = max(4u, HALVES ? 1u << (bits - 1) : 1u << bits);
  const gj_side* side = &join->side[s];
  const uint64_t rows = side->rows;
  uint32_t* global = reinterpret_cast<uint32_t*>(side->count);

  for (uint32_t i = threadIdx.x; i < words; i += T) counter[i] = 0;
  SampleLookup<KW, T, LOOK> lookup(join, counter + words);
  if constexpr (LOOK) lookup.take(join, block == 0);
  __syncthreads();

  constexpr int V = 4 / KW, U = 4;  // keys per vector, vectors in flight
  const uint4* vector = reinterpret_cast<const uint4*>(side->key);
  const uint64_t vectors = rows / V, stride = (uint64_t)blocks * T;
  uint32_t hot = ~0u;  // the same for all lanes of a warp
  const uint32_t lane = threadIdx.x & 31;
  auto count = [&](uint64_t at, auto check) {
    const uint64_t i = at + threadIdx.x;
    uint4 v[U];
#pragma unroll
    for (int u = 0; u < U; u++)
      if (!check.value || i + u * stride < vectors) v[u] = __ldcs(vector + i + u * stride);
#pragma unroll
    for (int u = 0; u < U; u++) {
      const bool valid = !check.value || i + u * stride < vectors;
      const uint32_t w[4] = {v[u].x, v[u].y, v[u].z, v[u].w};
      uint32_t p[V];
#pragma unroll
      for (int k = 0; k < V; k++) {
        uint32_t key[KW];
#pragma unroll
        for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
        p[k] = bits ? hash_words(key).part >> shift : 0;
        if constexpr (LOOK)
          if (valid) lookup.look(key, (uint32_t)((i + u * stride) * V + k));
      }
      if (u == 0) {
        // If many lanes meet the leader's partition, they add once.
        uint32_t leader = __shfl_sync(~0u, valid ? p[0] : ~0u, (at >> 12) & 31);
        if (__popc(__ballot_sync(~0u, valid && p[0] == leader)) >= 6) hot = leader;
      }
      if (hot == ~0u) {
#pragma unroll
        for (int k = 0; k < V; k++)
          if (valid) count_rows<HALVES>(counter, words, p[k], 1);
      } else {
#pragma unroll
        for (int k = 0; k < V; k++) {
          uint32_t same = __ballot_sync(~0u, valid && p[k] == hot);
          if (lane + 1 == __ffs(same)) count_rows<HALVES>(counter, words, hot, __popc(same));
          if (valid && p[k] != hot) count_rows<HALVES>(counter, words, p[k], 1);
        }
      }
    }
  };
  uint32_t unswept = 0;
  for (uint64_t at = (uint64_t)block * T; at < vectors; at += U * stride) {
    if (at + (U - 1) * stride + T <= vectors)
      count(at, Constant<false>());
    else
      count(at, Constant<true>());
    if constexpr (HALVES) {
      static_assert(T * U * V <= half_room);
      unswept += T * U * V;
      if (unswept + T * U * V > half_room) sweep<T>(counter, words, global), unswept = 0;
    }
  }
  if (block == 0 && threadIdx.x < rows - vectors * V) {
    uint32_t key[KW];
    load_key<KW>(side->key, vectors * V + threadIdx.x, key);
    if constexpr (LOOK) lookup.look(key, (uint32_t)(vectors * V + threadIdx.x));
    atomicAdd(&global[bits ? hash_words(key).part >> shift : 0], 1);
  }
  __syncthreads();
  const uint32_t used = HALVES ? words : 1u << bits;
  for (uint32_t i = threadIdx.x; i < used; i += T) {
    const uint32_t c = counter[i];
    if constexpr (HALVES) {
      if (c & 0xffff) atomicAdd(&global[i], c & 0xffff);
      if (c >> 16) atomicAdd(&global[words + i], c >> 16);
    } else {
      if (c) atomicAdd(&global[i], c);
    }
  }
}

// The sides to count. If both, they divide the blocks by their row counts; each
// side gets at least one.
constexpr uint64_t count_build = 1, count_probe = 2;

template <int KW, int T>
__device__ __forceinline__ void histogram(const gj_join* join, uint64_t sides) {
  const uint64_t rows = join->side[0].rows, all = rows + join->side[1].rows;
  uint32_t split = min(max((uint32_t)(gridDim.x * rows / (all ? all : 1)), 1u), gridDim.x - 1);
  if (sides == count_build) split = gridDim.x;
  if (sides == count_probe) split = 0;
  const bool halves = join->bits_first + join->bits_second > word_counter_bits, look = join->sample != 0;
  if (blockIdx.x < split) {
    if (halves && look) histogram_side<KW, T, true, true>(join, 0, blockIdx.x, split);
    if (halves && !look) histogram_side<KW, T, true, false>(join, 0, blockIdx.x, split);
    if (!halves && look) histogram_side<KW, T, false, true>(join, 0, blockIdx.x, split);
    if (!halves && !look) histogram_side<KW, T, false, false>(join, 0, blockIdx.x, split);
  } else {
    if (halves) histogram_side<KW, T, true, false>(join, 1, blockIdx.x - split, gridDim.x - split);
    if (!halves) histogram_side<KW, T, false, false>(join, 1, blockIdx.x - split, gridDim.x - split);
  }
}

}  // namespace gj
