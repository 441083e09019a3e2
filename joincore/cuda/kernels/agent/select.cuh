// Stable compaction in one pass: the numbers of the selected rows, in order.
//
// Blocks draw tiles of rows in order; block/lookback.cuh explains how a tile learns
// the number of rows selected before it.
//
// Bound: reads the predicate's inputs, writes 4 bytes per selected row.
#pragma once
#include "block/lookback.cuh"
#include "block/scan.cuh"

namespace gj {

// One warp: publishes a tile's count and returns the sum of all tiles before it,
// reading 32 states at a time. The states are zero before the launch.
__device__ __forceinline__ uint64_t sum_before(uint64_t* state, uint64_t tile, uint64_t own) {
  const uint32_t lane = threadIdx.x & 31;
  if (lane == 0) Status::store(state + tile, tile ? Status::own(0, own) : Status::upto(0, own));
  uint64_t sum = 0;
  for (uint64_t at = tile; at > 0;) {
    const uint64_t word = at > lane ? Status::load(state + at - 1 - lane) : Status::upto(0, 0);
    const uint32_t known = __ballot_sync(~0u, word != 0), ends = __ballot_sync(~0u, Status::is_upto(0, word));
    // Lanes up to the first with an inclusive sum, or before the first without any state.
    const uint32_t run = min(ends ? __ffs(ends) : 32, ~known ? __ffs(~known) - 1 : 32);
    uint64_t v = lane < run ? word & Status::value_mask : 0;
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    sum += v;
    if (ends && run == __ffs(ends)) break;
    at -= run;
  }
  if (lane == 0 && tile) Status::store(state + tile, Status::upto(0, sum + own));
  return sum;
}

// T threads, tiles of T * IPT rows. scan: uint64[1 + tiles], zero before the
// launch. take(row) is the predicate; put(row, place) writes a selected row.
template <int T, int IPT, class Take, class Put>
__device__ __forceinline__ void select_rows(uint64_t rows, uint64_t* scan, uint64_t* total, Take take, Put put) {
  constexpr int N = T * IPT, W = T / 32;
  static_assert(IPT * W <= T, "a thread for each vote");
  __shared__ uint32_t votes[IPT * W], place[IPT * W], sums[32];
  __shared__ uint64_t base;
  __shared__ unsigned long long drawn;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const uint64_t tiles = (rows + N - 1) / N;
  if (tiles == 0 && blockIdx.x == 0 && threadIdx.x == 0) *total = 0;
  while (true) {
    if (threadIdx.x == 0) drawn = atomicAdd(reinterpret_cast<unsigned long long*>(scan), 1);
    __syncthreads();
    const uint64_t tile = drawn;
    if (tile >= tiles) return;
    const uint64_t first = tile * N + threadIdx.x;
#pragma unroll 4
    for (int j = 0; j < IPT; j++) {
      const uint64_t row = first + j * T;
      const uint32_t vote = __ballot_sync(~0u, row < rows && take((uint32_t)row));
      if (lane == 0) votes[j * W + warp] = vote;
    }
    __syncthreads();
    uint32_t all;
    const uint32_t before = block_exclusive<T>(threadIdx.x < IPT * W ? (uint32_t)__popc(votes[threadIdx.x]) : 0u, sums, all);
    if (threadIdx.x < IPT * W) place[threadIdx.x] = before;
    if (warp == 0) {
      const uint64_t earlier = sum_before(scan + 1, tile, all);
      if (lane == 0) {
        base = earlier;
        if (tile == tiles - 1) *total = earlier + all;
      }
    }
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < IPT; j++) {
      const uint32_t vote = votes[j * W + warp];
      if (vote >> lane & 1) put((uint32_t)(first + j * T), base + place[j * W + warp] + __popc(vote & ((1u << lane) - 1)));
    }
    __syncthreads();
  }
}

}  // namespace gj
