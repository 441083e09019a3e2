// One radix-partition pass: whole rows, not stable.
//
// A block ranks the rows of a tile among the rows of their partition with
// shared-memory atomics, claims room for each partition's run with one global
// atomic, orders the tile by partition in shared memory and writes the runs.
// All words of a row move with the one rank. While a tile is written the rows
// of the block's next tile are already on their way to registers. A partition
// that took more than an eighth of the last tile is ranked by warp votes, so
// that a hot key does not serialise.
//
// First pass: from columns, one parent. Second pass: from the first pass's
// buffer, tiles never cross a parent.
//
// Bound: reads and writes each row once.
#pragma once
#include "descriptor.h"
#include "hash.cuh"
#include "row.cuh"
#include "scan.cuh"

namespace gj {

constexpr int max_parents = 256, max_fan = 256;

// Payload columns of CW words each; CW = 0: the payload is the row's number.
template <int KW, int W, int CW>
struct ColumnSource {
  const gj_side* side;
  const char* column[1 + (CW ? (W - KW) / CW : 0)];
  __device__ explicit ColumnSource(const gj_side* s) : side(s) {
    column[0] = reinterpret_cast<const char*>(s->key);
    if constexpr (CW)
#pragma unroll
      for (int c = 0; c < (W - KW) / CW; c++) column[1 + c] = reinterpret_cast<const char*>(s->column[c]);
  }
  __device__ __forceinline__ void load(uint64_t row, Row<W>& r) const {
    if constexpr (KW == 1) {
      r.word[0] = __ldcs(reinterpret_cast<const uint32_t*>(column[0]) + row);
    } else {
      uint2 v = __ldcs(reinterpret_cast<const uint2*>(column[0]) + row);
      r.word[0] = v.x, r.word[1] = v.y;
    }
    if constexpr (CW == 0) {
      if constexpr (W > KW) r.word[KW] = (uint32_t)row;
    } else {
#pragma unroll
      for (int c = 0; c < (W - KW) / CW; c++)
        if constexpr (CW == 1) {
          r.word[KW + c] = __ldcs(reinterpret_cast<const uint32_t*>(column[1 + c]) + row);
        } else {
          uint2 v = __ldcs(reinterpret_cast<const uint2*>(column[1 + c]) + row);
          r.word[KW + 2 * c] = v.x, r.word[KW + 2 * c + 1] = v.y;
        }
    }
  }
  __device__ __forceinline__ uint32_t parents() const { return 1; }
  __device__ __forceinline__ uint32_t start(uint32_t) const { return 0; }
  __device__ __forceinline__ uint32_t rows(uint32_t) const { return (uint32_t)side->rows; }
};

template <int W>
struct BufferSource {
  const gj_side* side;
  const char* base;
  uint64_t capacity;
  uint32_t parents_;
  __device__ BufferSource(const gj_join* join, const gj_side* s)
      : side(s), base(reinterpret_cast<const char*>(s->first)), capacity(s->first_capacity), parents_(1u << join->bits_first) {}
  __device__ __forceinline__ void load(uint64_t row, Row<W>& r) const { Lanes<W>::load(base, capacity, row, r, ReadOnce()); }
  __device__ __forceinline__ uint32_t parents() const { return parents_; }
  __device__ __forceinline__ uint32_t start(uint32_t p) const { return reinterpret_cast<const uint32_t*>(side->parent_start)[p]; }
  __device__ __forceinline__ uint32_t rows(uint32_t p) const { return reinterpret_cast<const uint32_t*>(side->parent_count)[p]; }
};

// Runs to partition number (hash >> shift) & mask of the tile's parent;
// cursor[parent * (mask + 1) + partition] is its next free row in dst.
template <int KW, int W, int T, int IPT, class Source>
__device__ __forceinline__ void scatter(const Source& source, char* dst, uint64_t dst_capacity, uint32_t* cursor, int shift, uint32_t mask) {
  constexpr int N = T * IPT, G = 4;
  static_assert(T >= max_fan && N <= 1 << 16);
  extern __shared__ uint4 shared[];
  char* stage = reinterpret_cast<char*>(shared);
  __shared__ uint32_t count[max_fan], offset[max_fan], target[max_fan], sums[32];
  __shared__ uint32_t first_tile[max_parents + 1], parent_start[max_parents], parent_rows[max_parents];
  __shared__ uint32_t hot_next;

  const uint32_t parents = source.parents();
  {
    uint32_t rows = 0, total;
    if (threadIdx.x < parents) {
      parent_rows[threadIdx.x] = rows = source.rows(threadIdx.x);
      parent_start[threadIdx.x] = source.start(threadIdx.x);
    }
    uint32_t tiles = block_exclusive<T>((rows + N - 1) / N, sums, total);
    if (threadIdx.x < parents) first_tile[threadIdx.x] = tiles;
    if (threadIdx.x == 0) first_tile[parents] = total, hot_next = ~0u;
    if (threadIdx.x < max_fan) count[threadIdx.x] = 0;
    __syncthreads();
  }

  auto partition = [&](const Row<W>& r) {
    uint32_t key[KW];
#pragma unroll
    for (int q = 0; q < KW; q++) key[q] = r.word[q];
    return hash_words(key).part >> shift & mask;
  };

  Row<W> row[IPT];
  uint32_t parent = 0, tile = blockIdx.x, rows = 0;
  // Loads this block's next tile; false: there is none.
  auto fetch = [&]() {
    while (parent < parents && tile >= first_tile[parent + 1]) parent++;
    if (parent == parents) return false;
    uint32_t before = (tile - first_tile[parent]) * N;
    const uint64_t at = (uint64_t)parent_start[parent] + before + threadIdx.x;
    rows = min((uint32_t)N, parent_rows[parent] - before);
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      clear(row[j]);
      if (threadIdx.x + j * T < rows) source.load(at + j * T, row[j]);
    }
    tile += gridDim.x;
    return true;
  };

  for (bool more = fetch(); more;) {
    const uint32_t n = rows, hot = hot_next, base = parent * (mask + 1);
    uint32_t rank[IPT];  // partition and rank in it, then slot in the tile
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const bool valid = threadIdx.x + j * T < n;
      const uint32_t p = partition(row[j]);
      uint32_t r = 0;
      if (hot != ~0u) {
        const uint32_t lane = threadIdx.x & 31, same = __ballot_sync(~0u, valid && p == hot);
        uint32_t first = 0;
        if (lane + 1 == __ffs(same)) first = atomicAdd(&count[hot], __popc(same));
        first = __shfl_sync(~0u, first, same ? __ffs(same) - 1 : 0);
        if (p == hot)
          r = first + __popc(same & ((1u << lane) - 1));
        else if (valid)
          r = atomicAdd(&count[p], 1);
      } else if (valid) {
        r = atomicAdd(&count[p], 1);
      }
      rank[j] = p << 16 | r;
    }
    __syncthreads();
    uint32_t c = 0, claimed = 0, before, total;
    if (threadIdx.x <= mask) {
      c = count[threadIdx.x];
      count[threadIdx.x] = 0;
      if (c) claimed = atomicAdd(&cursor[base + threadIdx.x], c);  // needed only when the tile is written
    }
    if (threadIdx.x == 0) hot_next = ~0u;
    before = block_exclusive<T>(c, sums, total);
    if (threadIdx.x <= mask) {
      offset[threadIdx.x] = before;
      if (c > N / 8) hot_next = threadIdx.x;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < IPT; j++) rank[j] = offset[rank[j] >> 16] + (rank[j] & 0xffff);
#pragma unroll
    for (int j = 0; j < IPT; j++)
      if (n == N || threadIdx.x + j * T < n) Lanes<W>::store(stage, N, rank[j], row[j], Shared());
    if (threadIdx.x <= mask) target[threadIdx.x] = claimed - before;
    __syncthreads();
    more = fetch();
    // A group of rows at a time, each step for all of the group.
    if (n == N) {
#pragma unroll
      for (int g = 0; g < IPT; g += G) {
        Row<W> r[G];
        uint32_t at[G];
#pragma unroll
        for (int j = 0; j < G; j++)
          if (g + j < IPT) Lanes<W>::load(stage, N, threadIdx.x + (g + j) * T, r[j], Shared());
#pragma unroll
        for (int j = 0; j < G; j++)
          if (g + j < IPT) at[j] = target[partition(r[j])] + threadIdx.x + (g + j) * T;
#pragma unroll
        for (int j = 0; j < G; j++)
          if (g + j < IPT) Lanes<W>::store(dst, dst_capacity, at[j], r[j], Write());
      }
    } else {
      for (uint32_t i = threadIdx.x; i < n; i += T) {
        Row<W> r;
        Lanes<W>::load(stage, N, i, r, Shared());
        Lanes<W>::store(dst, dst_capacity, target[partition(r)] + i, r, Write());
      }
    }
  }
}

}  // namespace gj
