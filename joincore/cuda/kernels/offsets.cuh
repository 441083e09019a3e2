// From the histograms to where every partition starts, and the work items of
// the match. One block a side; the block that finishes last plans the match.
//
// Partitions in the final buffer start at multiples of final_align rows, in
// the first buffer at multiples of first_align, so that wide lanes stay
// aligned and partitions do not share sectors.
#pragma once
#include "descriptor.h"
#include "scan.cuh"

namespace gj {

constexpr uint32_t final_align = 8, first_align = 32;

// Exclusive sums over `items` values, a multiple of 4: warp w takes the w-th
// part of them, 128 at a time. value4(i) gives values i..i+3; put4(i, sums)
// takes theirs. Returns the total.
template <int T, class V, class Value4, class Put4>
__device__ __forceinline__ V exclusive_sums(uint32_t items, V* warp_sum, Value4 value4, Put4 put4) {
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  const uint32_t part = (items / 4 + T / 32 - 1) / (T / 32) * 4, from = min(warp * part, items), to = min(from + part, items);
  V sum = 0;
#pragma unroll 4
  for (uint32_t i = from + lane * 4; i < to; i += 128) {
    V v[4];
    value4(i, v);
    sum += v[0] + v[1] + v[2] + v[3];
  }
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  __syncthreads();
  if (lane == 0) warp_sum[warp] = sum;
  __syncthreads();
  const V all = warp_inclusive(lane < T / 32 ? warp_sum[lane] : 0);
  V at = __shfl_sync(~0u, all, warp) - sum;
  for (uint32_t i = from; i < to; i += 128) {
    const bool valid = i + lane * 4 < to;
    V v[4] = {};
    if (valid) value4(i + lane * 4, v);
    const V own = v[0] + v[1] + v[2] + v[3], upto = warp_inclusive(own);
    V s = at + upto - own;
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const V value = v[q];
      v[q] = s;
      s += value;
    }
    if (valid) put4(i + lane * 4, v);
    at += __shfl_sync(~0u, upto, 31);
  }
  return __shfl_sync(~0u, all, 31);
}

__device__ __forceinline__ void load4(const uint32_t* p, uint32_t (&v)[4]) {
  uint4 q = __ldcg(reinterpret_cast<const uint4*>(p));
  v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
}

template <int T>
__device__ __forceinline__ void side_offsets(const gj_join* join, const gj_side* side, uint64_t* sums) {
  const uint32_t parts = max(4u, 1u << (join->bits_first + join->bits_second)), parents = 1u << join->bits_first;
  const uint32_t fan = 1u << join->bits_second;
  const uint32_t* count = reinterpret_cast<const uint32_t*>(side->count);
  uint32_t* start = reinterpret_cast<uint32_t*>(side->start);
  uint32_t* cursor = reinterpret_cast<uint32_t*>(side->cursor);
  uint32_t* tail = reinterpret_cast<uint32_t*>(side->tail);
  exclusive_sums<T>(
      parts, reinterpret_cast<uint32_t*>(sums),
      [&](uint32_t i, uint32_t(&v)[4]) {
        load4(count + i, v);
#pragma unroll
        for (int q = 0; q < 4; q++) v[q] = (v[q] + final_align - 1) & ~(final_align - 1);
      },
      [&](uint32_t i, const uint32_t(&v)[4]) {
        reinterpret_cast<uint4*>(start)[i / 4] = make_uint4(v[0], v[1], v[2], v[3]);
        reinterpret_cast<uint4*>(cursor)[i / 4] = make_uint4(v[0], v[1], v[2], v[3]);
        uint32_t c[4];
        load4(count + i, c);
        reinterpret_cast<uint4*>(tail)[i / 4] = make_uint4(v[0] + c[0], v[1] + c[1], v[2] + c[2], v[3] + c[3]);
      });
  if (!join->bits_second) return;

  static_assert(T >= 256, "one thread a parent");
  __shared__ uint32_t parent_rows[256];
  for (uint32_t p = threadIdx.x / 32; p < parents; p += T / 32) {
    uint32_t rows = 0;
    for (uint32_t c = threadIdx.x & 31; c < fan; c += 32) rows += __ldcg(count + p * fan + c);
    for (int d = 16; d; d /= 2) rows += __shfl_xor_sync(~0u, rows, d);
    if ((threadIdx.x & 31) == 0) parent_rows[p] = rows;
  }
  __syncthreads();
  const uint32_t rows = threadIdx.x < parents ? parent_rows[threadIdx.x] : 0;
  uint32_t total;
  uint32_t parent = block_exclusive<T>((rows + first_align - 1) & ~(first_align - 1), reinterpret_cast<uint32_t*>(sums), total);
  if (threadIdx.x < parents) {
    reinterpret_cast<uint32_t*>(side->parent_count)[threadIdx.x] = rows;
    reinterpret_cast<uint32_t*>(side->parent_start)[threadIdx.x] = parent;
    reinterpret_cast<uint32_t*>(side->parent_cursor)[threadIdx.x] = parent;
    reinterpret_cast<uint32_t*>(side->parent_tail)[threadIdx.x] = parent + rows;
  }
}

// Item p < partitions takes the first chunk and range of partition p; a
// partition with more has its further chunk x range pairs after those.
template <int T>
__device__ __forceinline__ void plan_match(const gj_join* join, uint64_t* sums) {
  const uint32_t parts = max(4u, 1u << (join->bits_first + join->bits_second));
  const uint32_t* build = reinterpret_cast<const uint32_t*>(join->side[0].count);
  const uint32_t* probe = reinterpret_cast<const uint32_t*>(join->side[1].count);
  uint64_t* extra = reinterpret_cast<uint64_t*>(join->extra);
  const uint32_t chunk = (uint32_t)join->chunk_rows, range = (uint32_t)join->range_rows;
  const uint64_t total = exclusive_sums<T>(
      parts, sums,
      [&](uint32_t i, uint64_t(&v)[4]) {
        uint32_t b[4], p[4];
        load4(build + i, b);
        load4(probe + i, p);
#pragma unroll
        for (int q = 0; q < 4; q++) {
          const bool one = b[q] <= chunk && p[q] <= range;
          v[q] = one || !b[q] || !p[q] ? 0 : (uint64_t)((b[q] + chunk - 1) / chunk) * ((p[q] + range - 1) / range) - 1;
        }
      },
      [&](uint32_t i, const uint64_t(&v)[4]) {
#pragma unroll
        for (int q = 0; q < 4; q++) extra[i + q] = v[q];
      });
  if (threadIdx.x == 0) extra[1u << (join->bits_first + join->bits_second)] = total;
}

template <int T>
__device__ __forceinline__ void offsets(const gj_join* join) {
  __shared__ uint64_t sums[32];
  __shared__ bool last;
  side_offsets<T>(join, &join->side[blockIdx.x], sums);
  if (threadIdx.x == 0)
    last = atomicAdd(reinterpret_cast<unsigned long long*>(join->counters) + GJ_SIDES_SCANNED, 1) == 1;
  __syncthreads();
  if (last) plan_match<T>(join, sums);
}

}  // namespace gj
