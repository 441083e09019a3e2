// Histograms of both sides' hashes for all passes of a radix sort, in one scan of
// the keys.
//
// A block counts in shared memory. Each counter has 8 copies in different banks,
// chosen by lane, so a digit that all rows share causes four-way conflicts
// instead of 32-way ones.
// Bound: reads each key once.
#pragma once
#include "block/hash.cuh"
#include "layout/sort.h"

namespace gj {

constexpr int count_copies = 8, count_bytes = GJ_SORT_PASSES * GJ_SORT_FAN * count_copies * 4;

template <int KW, int T>
__device__ __forceinline__ void count_digits(const gj_sort* sort) {
  extern __shared__ uint4 shared[];
  uint32_t* counter = reinterpret_cast<uint32_t*>(shared);
  const uint32_t passes = (uint32_t)sort->passes, words = passes * GJ_SORT_FAN * count_copies;
  // The sides divide the blocks by their row counts; each side gets at least one.
  const uint64_t build = sort->side[0].rows, all = build + sort->side[1].rows;
  const uint32_t split = min(max((uint32_t)(gridDim.x * build / (all ? all : 1)), 1u), gridDim.x - 1);
  const int s = blockIdx.x >= split;
  const uint32_t block = s ? blockIdx.x - split : blockIdx.x, blocks = s ? gridDim.x - split : split;
  const uint64_t rows = sort->side[s].rows;

  for (uint32_t i = threadIdx.x; i < words; i += T) counter[i] = 0;
  __syncthreads();
  auto count = [&](const uint32_t (&key)[KW]) {
    const uint32_t hash = hash_words(key).part;
#pragma unroll
    for (uint32_t p = 0; p < GJ_SORT_PASSES; p++)
      if (p < passes) atomicAdd(&counter[(p * GJ_SORT_FAN + (hash >> sort->shift[p] & sort->mask[p])) * count_copies + (threadIdx.x & (count_copies - 1))], 1);
  };
  constexpr int V = 4 / KW, U = 4;  // keys per vector, vectors in flight
  const uint4* vector = reinterpret_cast<const uint4*>(sort->side[s].column[0].at[0]);
  const uint64_t vectors = rows / V, stride = (uint64_t)blocks * T;
  for (uint64_t i = (uint64_t)block * T + threadIdx.x; i < vectors; i += U * stride) {
    uint4 v[U];
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * stride < vectors) v[u] = __ldcs(vector + i + u * stride);
#pragma unroll
    for (int u = 0; u < U; u++) {
      if (i + u * stride >= vectors) break;
      const uint32_t w[4] = {v[u].x, v[u].y, v[u].z, v[u].w};
#pragma unroll
      for (int k = 0; k < V; k++) {
        uint32_t key[KW];
#pragma unroll
        for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
        count(key);
      }
    }
  }
  if (block == 0 && threadIdx.x < rows - vectors * V) {
    uint32_t key[KW];
#pragma unroll
    for (int q = 0; q < KW; q++) key[q] = reinterpret_cast<const uint32_t*>(vector)[(vectors * V + threadIdx.x) * KW + q];
    count(key);
  }
  __syncthreads();
  uint32_t* global = reinterpret_cast<uint32_t*>(sort->histogram) + s * passes * GJ_SORT_FAN;
  for (uint32_t d = threadIdx.x; d < passes * GJ_SORT_FAN; d += T) {
    const uint4 a = shared[2 * d], b = shared[2 * d + 1];
    const uint32_t sum = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
    if (sum) atomicAdd(global + d, sum);
  }
}

}  // namespace gj
