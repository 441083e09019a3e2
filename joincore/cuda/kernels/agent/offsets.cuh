// Turns histograms into the start of every partition and the work items of the
// match. A block needs the sum of all counts before its slice and computes it
// itself: the histograms are in the L2 cache, and no block waits for another.
//
// Partitions start at multiples of final_align rows in the final buffer, and of
// first_align rows in the first pass's buffer, so that wide lanes stay aligned and
// partitions do not share sectors.
#pragma once
#include "block/scan.cuh"
#include "layout/join.h"

namespace gj {

constexpr uint32_t final_align = 8, first_align = 32;

// Exclusive sums over `items` values, a multiple of 4, for the slice-th of `slices`
// slices. value4(i) returns values i..i+3; put4(i, sums) receives the sums of those
// in the slice. Returns the sum up to the slice's end.
template <int T, class V, class Value4, class Put4>
__device__ __forceinline__ V slice_sums(uint32_t items, uint32_t slice, uint32_t slices, V* warp_sum, Value4 value4, Put4 put4) {
  const uint32_t part = (items / 4 + slices - 1) / slices * 4, from = min(slice * part, items), to = min(from + part, items);
  V before = 0, base;
#pragma unroll 4
  for (uint32_t i = threadIdx.x * 4; i < from; i += T * 4) {
    V v[4];
    value4(i, v);
    before += v[0] + v[1] + v[2] + v[3];
  }
  block_exclusive<T>(before, warp_sum, base);
  for (uint32_t first = from; first < to; first += T * 4) {
    const uint32_t i = first + threadIdx.x * 4;
    V v[4] = {}, all;
    if (i < to) value4(i, v);
    __syncthreads();
    V s = base + block_exclusive<T>(v[0] + v[1] + v[2] + v[3], warp_sum, all);
#pragma unroll
    for (int q = 0; q < 4; q++) {
      const V value = v[q];
      v[q] = s;
      s += value;
    }
    if (i < to) put4(i, v);
    base += all;
  }
  return base;
}

__device__ __forceinline__ void load4(const uint32_t* p, uint32_t (&v)[4]) {
  uint4 q = __ldcg(reinterpret_cast<const uint4*>(p));
  v[0] = q.x, v[1] = q.y, v[2] = q.z, v[3] = q.w;
}

__device__ __forceinline__ uint32_t histogram_items(const gj_join* join) { return max(4u, 1u << (join->bits_first + join->bits_second)); }

// Starts of a slice of a side's partitions in the final buffer.
template <int T>
__device__ __forceinline__ void side_offsets(const gj_join* join, const gj_side* side, uint32_t slice, uint32_t slices, uint32_t* sums) {
  const uint32_t* count = reinterpret_cast<const uint32_t*>(side->count);
  uint4* start = reinterpret_cast<uint4*>(side->start);
  uint4* cursor = reinterpret_cast<uint4*>(side->cursor);
  uint4* tail = reinterpret_cast<uint4*>(side->tail);
  slice_sums<T>(
      histogram_items(join), slice, slices, sums,
      [&](uint32_t i, uint32_t(&v)[4]) {
        load4(count + i, v);
#pragma unroll
        for (int q = 0; q < 4; q++) v[q] = (v[q] + final_align - 1) & ~(final_align - 1);
      },
      [&](uint32_t i, const uint32_t(&v)[4]) {
        uint32_t c[4];
        load4(count + i, c);
        start[i / 4] = cursor[i / 4] = make_uint4(v[0], v[1], v[2], v[3]);
        tail[i / 4] = make_uint4(v[0] + c[0], v[1] + c[1], v[2] + c[2], v[3] + c[3]);
      });
}

// Starts of a side's parents in the first pass's buffer. One block, a thread per parent.
template <int T>
__device__ __forceinline__ void parent_offsets(const gj_join* join, const gj_side* side, uint32_t* sums) {
  constexpr uint32_t most = 256;
  static_assert(T >= most);
  __shared__ uint32_t parent_rows[most];
  const uint32_t parents = 1u << join->bits_first, fan = 1u << join->bits_second;
  const uint32_t* count = reinterpret_cast<const uint32_t*>(side->count);
  for (uint32_t p = threadIdx.x / 32; p < parents; p += T / 32) {
    uint32_t rows = 0;
    for (uint32_t c = threadIdx.x & 31; c < fan; c += 32) rows += __ldcg(count + p * fan + c);
    for (int d = 16; d; d /= 2) rows += __shfl_xor_sync(~0u, rows, d);
    if ((threadIdx.x & 31) == 0) parent_rows[p] = rows;
  }
  __syncthreads();
  const uint32_t rows = threadIdx.x < parents ? parent_rows[threadIdx.x] : 0;
  uint32_t total;
  const uint32_t start = block_exclusive<T>((rows + first_align - 1) & ~(first_align - 1), sums, total);
  if (threadIdx.x < parents) {
    reinterpret_cast<uint32_t*>(side->parent_count)[threadIdx.x] = rows;
    reinterpret_cast<uint32_t*>(side->parent_start)[threadIdx.x] = start;
    reinterpret_cast<uint32_t*>(side->parent_cursor)[threadIdx.x] = start;
    reinterpret_cast<uint32_t*>(side->parent_tail)[threadIdx.x] = start + rows;
  }
}

// Item p < partitions is the first chunk and range of partition p. Further
// chunk x range pairs of large partitions follow as extra items.
template <int T>
__device__ __forceinline__ void plan_match(const gj_join* join, uint32_t slice, uint32_t slices, uint64_t* sums) {
  const uint32_t* build = reinterpret_cast<const uint32_t*>(join->side[0].count);
  const uint32_t* probe = reinterpret_cast<const uint32_t*>(join->side[1].count);
  uint64_t* extra = reinterpret_cast<uint64_t*>(join->extra);
  const uint32_t parts = 1u << (join->bits_first + join->bits_second);
  const uint32_t chunk = (uint32_t)join->chunk_rows, range = (uint32_t)join->range_rows;
  const uint64_t upto = slice_sums<T>(
      histogram_items(join), slice, slices, sums,
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
        for (int q = 0; q < 4; q++)
          if (i + q < parts) extra[i + q] = v[q];
      });
  if (slice + 1 == slices && threadIdx.x == 0) extra[parts] = upto;
}

// Blocks of T threads, of which the given ones before them are left out. For each of
// `slices` slices one block per side and one for the work items; then one per side for the
// parents.
template <int T>
__device__ __forceinline__ void offsets(const gj_join* join, uint32_t slices, uint32_t before = 0) {
  __shared__ uint64_t sums[32];
  uint32_t* words = reinterpret_cast<uint32_t*>(sums);
  const uint32_t block = before + blockIdx.x, task = block / slices, slice = block % slices;
  if (task < 2)
    side_offsets<T>(join, &join->side[task], slice, slices, words);
  else if (task == 2)
    plan_match<T>(join, slice, slices, sums);
  else if (join->bits_second && slice < 2)
    parent_offsets<T>(join, &join->side[slice], words);
}

}  // namespace gj
