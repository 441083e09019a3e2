// Groups rows and adds their values to the groups, by a program that evaluates
// conditions, keys and values (block/machine.cuh).
//
// Each warp takes tiles of 32 * R rows, as far apart as there are warps. It runs the
// program's filter for a tile and collects the rows that pass; once they fill a tile,
// it runs the rest of the program for them, so that only passing rows pay for it.
// Threads wait for each other at the end alone, when the block adds its own table to
// that of the device. While a tile is worked on, the next one is on its way to the L2
// cache.
//
// If there are more groups than fit a block's table, rows are first scattered: their
// numbers go to partitions by the hash of their keys. Then each block groups partitions,
// of which the groups fit.
//
// Bound: reads the columns once; of scattered rows, also writes and reads a row number
// and fetches each column of the key and the values.
#pragma once
#include "block/grouping.cuh"

namespace gj {

// A program with its instructions and columns in shared memory, if they fit.
struct StagedProgram {
  uint32_t staged;  // offset; 0: in global memory
  uint32_t columns;

  // Copies it to shared memory; a barrier must follow.
  __device__ __forceinline__ explicit StagedProgram(const gj_aggregate& job) : staged(job.staged ? sizeof(BlockState) : 0) {
    const uint32_t length = (uint32_t)job.program.length + 1, more = (uint32_t)job.program.column_count * (sizeof(gj_column) / 8);
    columns = staged + 8 * length;
    if (!staged) return;
    for (uint32_t i = threadIdx.x; i < length; i += blockDim.x) shared_at<uint64_t>(staged)[i] = words_at(job.program.code)[i];
    for (uint32_t i = threadIdx.x; i < more; i += blockDim.x) shared_at<uint64_t>(columns)[i] = words_at(job.program.columns)[i];
  }
  __device__ __forceinline__ uint64_t instruction(uint32_t at) const {
    return staged ? shared_at<uint64_t>(staged)[at] : __ldg(words_at(block_state().job.program.code) + at);
  }
  __device__ __forceinline__ gj_column column(uint32_t i) const {
    return staged ? shared_at<gj_column>(columns)[i] : reinterpret_cast<const gj_column*>(block_state().job.program.columns)[i];
  }
  __device__ __forceinline__ const long long* constants() const { return reinterpret_cast<const long long*>(block_state().job.program.constants); }
};

// Brings an array to the L2 cache, but for a few bytes at its ends.
__device__ __forceinline__ void prefetch(uint64_t from, uint32_t bytes) {
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 900
  const uint64_t at = (from + 15) & ~15ull;
  if (from + bytes >= at + 16) asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(at), "r"((uint32_t)(from + bytes - at) & ~15u));
#else
  for (uint32_t b = 0; b < bytes; b += 128) asm volatile("prefetch.global.L2 [%0];" ::"l"(from + b));
#endif
#endif
}

// Brings rows of columns to the L2 cache: each thread of the warp those of one column.
__device__ __forceinline__ void prefetch_columns(const StagedProgram& p, uint32_t columns, uint64_t first, uint32_t rows) {
  for (uint32_t i = threadIdx.x % 32; i < columns; i += 32) {
    const gj_column c = p.column(i);
    const uint32_t width = c.positions ? 4 : (uint32_t)c.width;
    if (width) prefetch((c.positions ? c.positions : c.values) + first * width, rows * width);
    if (c.validity && !c.positions) prefetch(c.validity + first, rows);
  }
}

// Row numbers that have passed the filter, of one warp.
template <int R>
struct PassedRows {
  static constexpr uint32_t N = 32 * R;
  static constexpr uint32_t bytes = 2 * N * 4;  // of a warp
  uint32_t* list;
  uint32_t count = 0;

  __device__ __forceinline__ explicit PassedRows(uint32_t base) : list(shared_at<uint32_t>(base + threadIdx.x / 32 * bytes)) {}

  __device__ __forceinline__ void add(uint32_t passed, const TileRows<R>& rows) {
    const uint32_t below = (1u << threadIdx.x % 32) - 1;
#pragma unroll
    for (int j = 0; j < R; j++) {
      const bool mine = passed >> j & 1;
      const uint32_t votes = __ballot_sync(~0u, mine);
      if (mine) list[count + __popc(votes & below)] = rows.row[j];
      count += __popc(votes);
    }
    __syncwarp();
  }

  // Takes a tile's rows, or as many as there are; returns which there are.
  __device__ __forceinline__ uint32_t take(TileRows<R>& rows) {
    const uint32_t n = min(count, N);
    uint32_t active = 0;
    count -= n;
#pragma unroll
    for (int j = 0; j < R; j++) {
      const uint32_t i = j * 32 + threadIdx.x % 32;
      active |= (uint32_t)(i < n) << j;
      rows.row[j] = i < n ? list[count + i] : 0;
    }
    __syncwarp();
    return active;
  }
};

// Rows that the warps of some blocks group: from `first` on, or those of a list.
struct RowRange {
  uint64_t rows, first;
  const uint32_t* chosen;  // address 0: from first on
};

// The row numbers of the tile that begins at `at`; returns which rows there are.
template <int R>
__device__ __forceinline__ uint32_t tile_rows(const RowRange& range, uint64_t at, TileRows<R>& rows) {
  const uint32_t n = (uint32_t)min((uint64_t)(32 * R), range.rows - at), lane = threadIdx.x % 32, first = (uint32_t)(range.first + at);
  uint32_t active = 0;
#pragma unroll
  for (int j = 0; j < R; j++) {
    active |= (uint32_t)(j * 32 + lane < n) << j;
    rows.row[j] = first + j * 32 + lane;
  }
  if (range.chosen) {
    const uint32_t* chosen = range.chosen + at + lane;
#pragma unroll
    for (int j = 0; j < R; j++) rows.row[j] = active >> j & 1 ? __ldg(chosen + j * 32) : 0;
  }
  return active;
}

// Groups a range: pairs of tiles from `at` on, `stride` rows apart. Returns whether an
// expression failed.
template <int R, bool WIDE, class Slots, class Group>
__device__ __forceinline__ bool group_rows(const StagedProgram& p, const RowRange& range, uint64_t at, uint64_t stride, Slots& slots, Group& grouping) {
  constexpr uint32_t N = 32 * R;
  const gj_aggregate& job = block_state().job;
  const uint32_t filter = (uint32_t)job.filter, length = (uint32_t)job.program.length, begin = (uint32_t)job.begin;
  PassedRows<R> passed((uint32_t)job.passed_at);
  Machine<R, WIDE> m;
  TileRows<R> rows;
  bool failed = false, selective = false;
  const bool together = job.mode == GJ_SCATTER;
  for (;;) {
    uint32_t from = begin, to = length, active = 0;
    const bool filtering = filter && passed.count < N && at < range.rows;
    if (filter && !filtering) {
      active = passed.take(rows);
      from = filter;
    } else if (at < range.rows) {
      const bool second = at & N;
      if (!second && !range.chosen && at + stride < range.rows)
        prefetch_columns(p, (uint32_t)(selective ? job.filter_columns : job.program.column_count), range.first + at + stride,
                         (uint32_t)min((uint64_t)(2 * N), range.rows - at - stride));
      active = tile_rows(range, at, rows);
      at += second ? stride - N : N;
    }
    if (filtering)
      to = filter;
    else if (together ? !__syncthreads_or(active) : !rows.any(active))
      break;
    m.start(active);
    grouping.start(slots);
    run(p, from, to, m, rows, slots, grouping);
    failed |= m.failed;
    if (filtering) {
      const uint32_t before = passed.count;
      passed.add(m.active, rows);
      selective = (passed.count - before) * 8 < N;
    }
  }
  return failed;
}

// R rows of each thread at a time. WIDE: values have 128 bits. ONE: keys have one
// word.
template <int R, bool WIDE, bool ONE>
__device__ __forceinline__ void aggregate(const gj_aggregate* descriptor) {
  BlockState& b = block_state();
  if (threadIdx.x == 0) {
    b.job = *descriptor;
    b.groups = *reinterpret_cast<const gj_groups*>(b.job.groups);
    b.local.place(&b.job, (uint32_t)b.groups.words, (uint32_t)b.job.local_at);
  }
  __syncthreads();
  const gj_aggregate& job = b.job;
  const StagedProgram p(job);
  const uint32_t key_words = ONE ? 0 : (uint32_t)b.groups.words, program_slots = (uint32_t)job.program.slots;
  WarpSlots<R> slots((uint32_t)job.slots_at, program_slots + key_words);
  Grouping<R, WIDE, ONE> grouping;
  grouping.key_slot = program_slots, grouping.key_words = key_words;
  const uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
  const bool gather = job.mode == GJ_GATHER;
  bool failed = false;
  for (uint64_t part = gather ? blockIdx.x : 0; part < (gather ? job.partitions : 1); part += gridDim.x) {
    clear_local();
    __syncthreads();
    RowRange range{job.rows, job.first, reinterpret_cast<const uint32_t*>(job.chosen)};
    if (gather) {
      range.rows = min((uint64_t)reinterpret_cast<const uint32_t*>(job.partition_counts)[part * GJ_COUNTS_APART], job.partition_capacity);
      range.chosen = reinterpret_cast<const uint32_t*>(job.partition_rows) + part * job.partition_capacity;
    }
    const uint64_t first = (gather ? 0 : blockIdx.x * warps) + warp, all = gather ? warps : gridDim.x * warps;
    failed |= group_rows<R, WIDE>(p, range, first * (64 * R), all * (64 * R), slots, grouping);
    __syncthreads();
    flush_local();
    __syncthreads();
    if (!gather) break;
  }
  if (failed) *reinterpret_cast<volatile uint64_t*>(job.program.failed) = 1;
}

}  // namespace gj
