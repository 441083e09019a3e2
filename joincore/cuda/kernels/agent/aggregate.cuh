// Groups rows and adds their values to the groups, by a program that evaluates
// conditions, keys and values (block/machine.cuh).
//
// Each warp takes tiles of 32 * R rows, as far apart as there are warps. It runs the
// program's filter for a tile and collects the rows that pass; once they fill a tile,
// it runs the rest of the program for them, so that only passing rows pay for it.
// Threads wait for each other at the end alone, when the block adds its own table to
// that of the device. While a tile is worked on, what is read next is on its way to the
// L2 cache.
//
// If there are more groups than fit a block's table, rows are first scattered: their
// numbers go to partitions by the hash of their keys. Then each block groups partitions,
// of which the groups fit.
//
// Bound: reads the columns once; of scattered rows, also writes and reads a row number
// and fetches each column of the key and the values.
#pragma once
#include "block/fixed.cuh"
#include "block/grouping.cuh"
#include "block/local_table.cuh"

namespace gj {

// A program to be interpreted, with its instructions and columns in shared memory, if
// they fit; and what the launch does.
struct StagedProgram {
  static constexpr bool fixed = false;
  uint32_t staged;  // offset; 0: in global memory

  // Copies it to shared memory; a barrier must follow.
  __device__ __forceinline__ explicit StagedProgram(const gj_aggregate& job) : staged(job.staged ? sizeof(BlockState) : 0) {
    const uint32_t length = (uint32_t)job.program.length + 1, more = (uint32_t)job.program.column_count * (sizeof(gj_column) / 8);
    if (!staged) return;
    for (uint32_t i = threadIdx.x; i < length; i += blockDim.x) shared_at<uint64_t>(staged)[i] = words_at(job.program.code)[i];
    for (uint32_t i = threadIdx.x; i < more; i += blockDim.x) shared_at<uint64_t>(staged + 8 * length)[i] = words_at(job.program.columns)[i];
  }
  __device__ __forceinline__ uint64_t instruction(uint32_t at) const {
    return staged ? shared_at<uint64_t>(staged)[at] : __ldg(words_at(block_state().job.program.code) + at);
  }
  __device__ __forceinline__ gj_column column(uint32_t i) const { return column_of(i); }
  // The same without the program.
  __device__ static __forceinline__ gj_column column_of(uint32_t i) {
    const gj_aggregate& job = block_state().job;
    const uint32_t at = sizeof(BlockState) + 8 * ((uint32_t)job.program.length + 1);
    return job.staged ? shared_at<gj_column>(at)[i] : reinterpret_cast<const gj_column*>(job.program.columns)[i];
  }
  __device__ __forceinline__ const long long* constants() const { return reinterpret_cast<const long long*>(block_state().job.program.constants); }

  __device__ static __forceinline__ uint32_t filter() { return (uint32_t)block_state().job.filter; }
  __device__ static __forceinline__ uint32_t length() { return (uint32_t)block_state().job.program.length; }
  __device__ static __forceinline__ uint32_t begin() { return (uint32_t)block_state().job.begin; }
  __device__ static __forceinline__ uint32_t mode() { return (uint32_t)block_state().job.mode; }
  __device__ static __forceinline__ bool no_keys() { return block_state().job.no_keys; }
  __device__ static __forceinline__ uint32_t slots() { return (uint32_t)block_state().job.program.slots; }
  __device__ static __forceinline__ uint32_t key_words() { return (uint32_t)block_state().groups.words; }
};

#ifdef __CUDA_ARCH__
// A program that package rowid makes code of.
struct FixedProgram : StagedProgram {
  static constexpr bool fixed = true;
  using StagedProgram::StagedProgram;
  __device__ __forceinline__ uint64_t instruction(uint32_t at) const { return fixed_code(at); }
  __device__ __forceinline__ gj_column column(uint32_t i) const { return fixed_as(fixed_column(i), StagedProgram::column(i)); }

  __device__ static __forceinline__ uint32_t filter() { return GJ_FIXED(GJ_FIXED_FILTER); }
  __device__ static __forceinline__ uint32_t length() { return GJ_FIXED(GJ_FIXED_LENGTH); }
  __device__ static __forceinline__ uint32_t begin() { return GJ_FIXED(GJ_FIXED_BEGIN); }
  __device__ static __forceinline__ uint32_t mode() { return GJ_FIXED(GJ_FIXED_MODE); }
  __device__ static __forceinline__ bool no_keys() { return GJ_FIXED(GJ_FIXED_NO_KEYS); }
  __device__ static __forceinline__ uint32_t slots() { return GJ_FIXED(GJ_FIXED_SLOTS); }
  __device__ static __forceinline__ uint32_t key_words() { return GJ_FIXED(GJ_FIXED_KEY_WORDS); }
};
#endif

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

// Brings a tile to the L2 cache, each thread of the warp a column: of the next tile the
// columns that decide which rows pass, of this one the others, which are read after
// them. More would be evicted before it is read. Rows are numbered from `first` on.
// It is not inlined, because the interpreter has no registers for it.
__device__ __noinline__ void prefetch_columns(uint64_t first, uint64_t tile, uint64_t next, uint64_t rows, uint32_t tile_rows) {
  const gj_aggregate& job = block_state().job;
  const uint32_t columns = (uint32_t)job.program.column_count, deciding = job.filter ? (uint32_t)job.filter_columns : columns;
  for (uint32_t i = threadIdx.x % 32; i < columns; i += 32) {
    const uint64_t from = i < deciding ? next : tile;
    if (from >= rows) continue;
    const uint32_t n = (uint32_t)min((uint64_t)tile_rows, rows - from);
    const gj_column c = StagedProgram::column_of(i);
    const uint32_t width = c.positions ? 4 : (uint32_t)c.width;
    if (width) prefetch((c.positions ? c.positions : c.values) + (first + from) * width, n * width);
    if (c.validity && !c.positions) prefetch(c.validity + first + from, n);
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

// Groups a range: tiles from `at` on, in pairs `stride` rows apart. Returns whether an
// expression failed.
template <int R, bool WIDE, class Program, class Slots, class Group>
__device__ __forceinline__ bool group_rows(const Program& p, const RowRange& range, uint64_t at, uint64_t stride, Slots& slots, Group& grouping) {
  constexpr uint32_t N = 32 * R;
  const gj_aggregate& job = block_state().job;
  PassedRows<R> passed((uint32_t)job.passed_at);
  Machine<R, WIDE> m;
  TileRows<R> rows;
  bool failed = false;
  const bool together = Program::mode() == GJ_SCATTER;
  for (;;) {
    uint32_t from, to, active = 0;
    bool filtering = false;
    if (!Program::filter()) {
      from = Program::begin(), to = Program::length();
    } else if (passed.count < N && at < range.rows) {
      filtering = true;
      from = Program::begin(), to = Program::filter();
    } else {
      from = Program::filter(), to = Program::length();
      active = passed.take(rows);
    }
    if (at < range.rows && (filtering || !Program::filter())) {
      const uint64_t next = at + (at & N ? stride - N : N);
      if (!range.chosen) prefetch_columns(range.first, at, next, range.rows, N);
      active = tile_rows(range, at, rows);
      at = next;
    }
    if (!filtering && !(together ? __syncthreads_or(active) : rows.any(active))) break;
    m.start(active);
    grouping.start(slots);
    run(p, from, to, m, rows, slots, grouping);
    failed |= m.failed;
    if (filtering) passed.add(m.active, rows);
  }
  return failed;
}

// R rows of each thread at a time. WIDE: values have 128 bits. ONE: keys have one
// word. Program: how the program is run, StagedProgram or FixedProgram.
template <int R, bool WIDE, bool ONE, class Program>
__device__ __forceinline__ void aggregate(const gj_aggregate* descriptor) {
  BlockState& b = block_state();
  if (threadIdx.x == 0) {
    b.job = *descriptor;
    b.groups = *reinterpret_cast<const gj_groups*>(b.job.groups);
    b.local.place(&b.job, (uint32_t)b.groups.words, (uint32_t)b.job.local_at);
  }
  __syncthreads();
  const gj_aggregate& job = b.job;
  const Program p(job);
  const uint32_t key_words = ONE ? 0 : Program::key_words(), program_slots = Program::slots();
  WarpSlots<R> slots((uint32_t)job.slots_at, program_slots + key_words);
  Grouping<R, WIDE, ONE, Program> grouping;
  grouping.key_slot = program_slots, grouping.key_words = key_words;
  const uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
  const bool gather = Program::mode() == GJ_GATHER;
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
