// Divides the rows of an input that is larger than the device by a few bits of
// their keys' hash, with all columns. Windows of rows are uploaded, divided and
// sent back to the host as co-partitions. The hash differs from the one by which
// joins partition, so that the keys of a co-partition spread over all of a join's
// partitions. The CPU, which divides windows too, computes the same hash. Rows
// with a NULL in their key go to partition 0.
//
// A tile's rows are ranked once. Each column then passes through shared memory in
// partition order, so that the writes of a run are coalesced.
//
// Bound: reads the key, reads and writes each column once. The link moves the same
// bytes at a fiftieth of that rate.
#pragma once
#include "agent/keys.cuh"
#include "block/hash.cuh"
#include "block/scan.cuh"
#include "layout/divide.h"

namespace gj {

// Assigns each row its partition and counts rows. T = GJ_DIVIDE_FAN threads.
template <int T>
__device__ __forceinline__ void divide_count(const gj_divide* d) {
  static_assert(T == GJ_DIVIDE_FAN, "a thread is a partition's");
  __shared__ uint32_t count[T];
  count[threadIdx.x] = 0;
  __syncthreads();
  const gj_part* part = reinterpret_cast<const gj_part*>(d->parts);
  uint8_t* partition = reinterpret_cast<uint8_t*>(d->partition);
  gj_keys keys = {};
  keys.parts = d->parts, keys.part_count = d->part_count, keys.seed = d->seed;
  const int shift = 32 - (int)d->bits;
  const uint64_t rows = d->rows;
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * T) {
    uint32_t p = 0;
    if (has_key(part, (uint32_t)keys.part_count, (uint32_t)i)) {
      p = finish(key_of(keys, (uint32_t)i)).part >> shift;
    }
    partition[i] = (uint8_t)p;
    atomicAdd(&count[p], 1u);
  }
  __syncthreads();
  if (count[threadIdx.x]) atomicAdd(reinterpret_cast<uint32_t*>(d->count) + threadIdx.x, count[threadIdx.x]);
}

// Computes where each partition begins. One block.
template <int T>
__device__ __forceinline__ void divide_start(const gj_divide* d) {
  __shared__ uint32_t sums[32];
  uint32_t total;
  const uint32_t rows = reinterpret_cast<const uint32_t*>(d->count)[threadIdx.x];
  const uint32_t start = block_exclusive<T>((rows + GJ_DIVIDE_ALIGN - 1) / GJ_DIVIDE_ALIGN * GJ_DIVIDE_ALIGN, sums, total);
  reinterpret_cast<uint32_t*>(d->cursor)[threadIdx.x] = start;
}

// Moves the columns of tiles of T * IPT rows.
template <int T, int IPT>
__device__ __forceinline__ void divide_place(const gj_divide* d) {
  constexpr int N = T * IPT;
  __shared__ uint2 stage[N];
  __shared__ uint8_t partition_of[N];  // by slot
  __shared__ uint32_t count[T], offset[T], target[T], sums[32];
  const uint8_t* partition = reinterpret_cast<const uint8_t*>(d->partition);
  const gj_moved* moved = reinterpret_cast<const gj_moved*>(d->moved);
  const uint32_t columns = (uint32_t)d->moved_count;
  for (uint64_t first = (uint64_t)blockIdx.x * N; first < d->rows; first += (uint64_t)gridDim.x * N) {
    const uint32_t n = (uint32_t)min((uint64_t)N, d->rows - first);
    count[threadIdx.x] = 0;
    __syncthreads();
    uint32_t slot[IPT];  // first partition and rank, later the slot
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t i = threadIdx.x + j * T;
      slot[j] = 0;
      if (i < n) {
        const uint32_t p = partition[first + i];
        slot[j] = p << 16 | atomicAdd(&count[p], 1u);
      }
    }
    __syncthreads();
    uint32_t total;
    const uint32_t mine = count[threadIdx.x];
    const uint32_t begin = block_exclusive<T>(mine, sums, total);
    offset[threadIdx.x] = begin;
    if (mine) target[threadIdx.x] = atomicAdd(reinterpret_cast<uint32_t*>(d->cursor) + threadIdx.x, mine) - begin;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t p = slot[j] >> 16;
      slot[j] = offset[p] + (slot[j] & 0xffff);
      if (threadIdx.x + j * T < n) partition_of[slot[j]] = (uint8_t)p;
    }
    // One column, or half of a 16-byte one: `step` values per row.
    auto move = [&](auto* to, auto load, uint32_t step) {
      auto* staged = reinterpret_cast<decltype(to)>(stage);
#pragma unroll
      for (int j = 0; j < IPT; j++)
        if (threadIdx.x + j * T < n) staged[slot[j]] = load(threadIdx.x + j * T);
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < n; i += T) to[(uint64_t)(target[partition_of[i]] + i) * step] = staged[i];
      __syncthreads();
    };
    auto column = [&](auto* from, auto* to, uint32_t step) { move(to, [&](uint32_t i) { return __ldg(from + (first + i) * step); }, step); };
    for (uint32_t c = 0; c < columns; c++) {
      const uint64_t from = moved[c].from, to = moved[c].to;
      switch (moved[c].bytes) {
        case 1: column(reinterpret_cast<const uint8_t*>(from), reinterpret_cast<uint8_t*>(to), 1); break;
        case 2: column(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to), 1); break;
        case 4:
          if (from)
            column(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to), 1);
          else
            move(reinterpret_cast<uint32_t*>(to), [&](uint32_t i) { return (uint32_t)(d->first + first + i); }, 1);
          break;
        case 8:
          if (moved[c].narrow) {
            const uint64_t* wide = reinterpret_cast<const uint64_t*>(from) + first;
            const uint64_t base = moved[c].base;
            move(reinterpret_cast<uint32_t*>(to), [&](uint32_t i) { return (uint32_t)(__ldg(wide + i) - base); }, 1);
          } else {
            column(reinterpret_cast<const uint2*>(from), reinterpret_cast<uint2*>(to), 1);
          }
          break;
        default:
          for (int half = 0; half < 2; half++) column(reinterpret_cast<const uint2*>(from) + half, reinterpret_cast<uint2*>(to) + half, 2);
      }
    }
    __syncthreads();
  }
}

// Finds the range of a column's values, in order of signed numbers.
template <int T>
__device__ __forceinline__ void divide_range(const gj_range& d) {
  const uint64_t* values = reinterpret_cast<const uint64_t*>(d.values);
  uint64_t most = 0, least = 0;  // the latter as its complement
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < d.rows; i += (uint64_t)gridDim.x * T) {
    const uint64_t ordered = __ldg(values + i) ^ 1ull << 63;
    most = max(most, ordered), least = max(least, ~ordered);
  }
  for (int lane = 16; lane; lane /= 2) {
    most = max(most, __shfl_xor_sync(~0u, most, lane)), least = max(least, __shfl_xor_sync(~0u, least, lane));
  }
  if (threadIdx.x % 32 == 0) {
    unsigned long long* to = reinterpret_cast<unsigned long long*>(d.greatest);
    atomicMax(to, most), atomicMax(to + 1, least);
  }
}

// Restores values from their differences. Bound: reads 4 and writes 8 bytes a row.
template <int T>
__device__ __forceinline__ void divide_widen(const gj_widen& d) {
  const uint32_t* from = reinterpret_cast<const uint32_t*>(d.from);
  uint64_t* to = reinterpret_cast<uint64_t*>(d.to);
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < d.rows; i += (uint64_t)gridDim.x * T) to[i] = d.base + __ldg(from + i);
}

}  // namespace gj
