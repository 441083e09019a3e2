// Histogram of both sides' keys over all partition bits.
//
// A block counts one side in shared memory: in words for up to 2^15 partitions,
// above in halves of words. The addition that brings a half to 2^15 moves 2^15
// to the global counter. Between two barriers a block adds at most 2^14, and
// the move is done before the second, so no half reaches 2^16.
// Lanes of a warp that meet the same hot partition add once.
//
// Bound: reads each key once; 4.2 TB/s of 4.3 on an H200.
#pragma once
#include "descriptor.h"
#include "hash.cuh"

namespace gj {

constexpr int word_counter_bits = 15;

template <bool HALVES>
__device__ __forceinline__ void count_rows(uint32_t* counter, uint32_t* global, uint32_t p, uint32_t n) {
  if constexpr (!HALVES) {
    atomicAdd(&counter[p], n);
  } else {
    const uint32_t shift = p * 16 & 16, old = atomicAdd(&counter[p / 2], n << shift);
    if ((old ^ (old + (n << shift))) & 0x8000u << shift) {
      atomicSub(&counter[p / 2], 0x8000u << shift);
      atomicAdd(&global[p], 0x8000u);
    }
  }
}

template <int KW, int T, bool HALVES>
__device__ __forceinline__ void histogram_side(const gj_join* join) {
  extern __shared__ uint4 shared[];
  uint32_t* counter = reinterpret_cast<uint32_t*>(shared);
  const int bits = (int)(join->bits_first + join->bits_second), shift = 32 - bits;
  const uint32_t words = HALVES ? 1u << (bits - 1) : 1u << bits;
  uint64_t rows = join->side[0].rows, all = rows + join->side[1].rows;
  // Blocks are shared out by rows; each side has at least one.
  uint32_t split = (uint32_t)(gridDim.x * rows / (all ? all : 1));
  split = min(max(split, 1u), gridDim.x - 1);
  const int s = blockIdx.x >= split;
  const gj_side* side = &join->side[s];
  const uint32_t block = s ? blockIdx.x - split : blockIdx.x, blocks = s ? gridDim.x - split : split;
  rows = side->rows;
  uint32_t* global = reinterpret_cast<uint32_t*>(side->count);

  for (uint32_t i = threadIdx.x; i < words; i += T) counter[i] = 0;
  __syncthreads();

  constexpr int V = 4 / KW, U = 4;  // keys a vector, vectors in flight
  const uint4* vector = reinterpret_cast<const uint4*>(side->key);
  const uint64_t vectors = rows / V, stride = (uint64_t)blocks * T;
  static_assert(T * U * V <= 1 << 14);
  uint32_t hot = ~0u;  // the same for all lanes of a warp
  const uint32_t lane = threadIdx.x & 31;
  for (uint64_t at = (uint64_t)block * T; at < vectors; at += U * stride) {
    const uint64_t i = at + threadIdx.x;
    uint4 v[U];
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * stride < vectors) v[u] = __ldcs(vector + i + u * stride);
#pragma unroll
    for (int u = 0; u < U; u++) {
      const bool valid = i + u * stride < vectors;
      const uint32_t w[4] = {v[u].x, v[u].y, v[u].z, v[u].w};
      uint32_t p[V];
#pragma unroll
      for (int k = 0; k < V; k++) {
        uint32_t key[KW];
#pragma unroll
        for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
        p[k] = bits ? hash_words(key).part >> shift : 0;
      }
      if (u == 0) {
        // A partition that many lanes meet at once is worth adding together.
        uint32_t leader = __shfl_sync(~0u, valid ? p[0] : ~0u, (at >> 12) & 31);
        if (__popc(__ballot_sync(~0u, valid && p[0] == leader)) >= 6) hot = leader;
      }
#pragma unroll
      for (int k = 0; k < V; k++) {
        if (hot != ~0u) {
          uint32_t same = __ballot_sync(~0u, valid && p[k] == hot);
          if (lane + 1 == __ffs(same)) count_rows<HALVES>(counter, global, hot, __popc(same));
        }
        if (valid && p[k] != hot) count_rows<HALVES>(counter, global, p[k], 1);
      }
    }
    __syncthreads();
  }
  if (block == 0 && threadIdx.x < rows - vectors * V) {
    const uint32_t* word = reinterpret_cast<const uint32_t*>(side->key) + (vectors * V + threadIdx.x) * KW;
    uint32_t key[KW];
#pragma unroll
    for (int q = 0; q < KW; q++) key[q] = word[q];
    count_rows<HALVES>(counter, global, bits ? hash_words(key).part >> shift : 0, 1);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < words; i += T) {
    const uint32_t c = counter[i];
    if constexpr (HALVES) {
      if (c & 0xffff) atomicAdd(&global[2 * i], c & 0xffff);
      if (c >> 16) atomicAdd(&global[2 * i + 1], c >> 16);
    } else {
      if (c) atomicAdd(&global[i], c);
    }
  }
}

template <int KW, int T>
__device__ __forceinline__ void histogram(const gj_join* join) {
  if (join->bits_first + join->bits_second <= word_counter_bits)
    histogram_side<KW, T, false>(join);
  else
    histogram_side<KW, T, true>(join);
}

}  // namespace gj
