// Block-wide exclusive sums over one value per thread.
#pragma once
#include <stdint.h>

namespace gj {

template <class V>
__device__ __forceinline__ V warp_inclusive(V v) {
  int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    V o = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += o;
  }
  return v;
}

// Returns the exclusive sum of v over the block's T threads and sets total.
// All threads must have passed a barrier since the last use of warp_sum.
template <int T, class V>
__device__ __forceinline__ V block_exclusive(V v, V* warp_sum, V& total) {
  static_assert(T % 32 == 0 && T <= 1024);
  V inclusive = warp_inclusive(v);
  int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  if (lane == 31) warp_sum[warp] = inclusive;
  __syncthreads();
  V w = lane < T / 32 ? warp_sum[lane] : 0;
  V ws = warp_inclusive(w);
  total = __shfl_sync(~0u, ws, 31);
  V before = __shfl_sync(~0u, ws - w, warp);
  return before + inclusive - v;
}

// The first lane whose inclusive sum exceeds `want`. The last lane's sum must exceed it.
__device__ __forceinline__ uint32_t warp_owner(uint32_t upto, uint32_t want) {
  uint32_t lane = 0;
#pragma unroll
  for (int d = 16; d; d /= 2)
    if (__shfl_sync(~0u, upto, lane + d - 1) <= want) lane += d;
  return lane;
}

}  // namespace gj
