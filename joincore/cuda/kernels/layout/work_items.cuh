// The work items of a match: chunks of a partition's build rows by ranges of its
// probe rows (agent/offsets.cuh counts them); and marks of rows.
#pragma once
#include "layout/general.h"
#include "layout/join.h"
#include "layout/row.cuh"

namespace gj {

// One bit per row, in words of 4 bytes.
__device__ __forceinline__ bool marked(const uint32_t* marks, uint64_t row) { return __ldcg(marks + row / 32) >> (row % 32) & 1; }
__device__ __forceinline__ void mark(uint32_t* marks, uint64_t row) { atomicOr(marks + row / 32, 1u << (row % 32)); }
// The same for a row that several threads may mark.
__device__ __forceinline__ void mark_once(uint32_t* marks, uint64_t row) {
  if (!marked(marks, row)) mark(marks, row);
}

struct MatchItem {
  uint64_t build_at, probe_at;      // first rows
  uint32_t build_rows, probe_rows;  // 0: the item is empty
  uint32_t exists;
  uint32_t chunk;   // number of the chunk within the partition
  uint32_t shared;  // other items have the same chunk or the same range
  uint32_t partition;  // where it is asked for
};

// One warp: the description of work item `item`. The items of a partition are
// ordered by chunk if the first chunks may decide everything (chunk_first), else by
// range, so that concurrent blocks have different chunks.
template <bool PARTITION = false>
__device__ __forceinline__ MatchItem item_at(const gj_join& job, uint64_t item, bool chunk_first) {
  const uint32_t lane = threadIdx.x & 31, parts = 1u << (job.bits_first + job.bits_second);
  const uint32_t chunk_rows = (uint32_t)job.chunk_rows, range_rows = (uint32_t)job.range_rows;
  auto of = [](uint64_t table, uint32_t p) { return __ldg(reinterpret_cast<const uint32_t*>(table) + p); };
  uint32_t p = (uint32_t)item, chunk = 0, range = 0;
  if (item >= parts) {
    // Further items of partition p are extra[p] <= item - parts < extra[p + 1].
    const uint64_t* extra = reinterpret_cast<const uint64_t*>(job.extra);
    const uint64_t e = item - parts;
    if (e >= extra[parts]) return {};
    uint32_t low = 0, width = parts;
    while (width > 1) {
      const uint32_t step = (width + 31) / 32, at = low + lane * step;
      const uint32_t not_after = __ballot_sync(~0u, lane * step < width && at < parts && extra[at] <= e);
      low += (31 - __clz(not_after)) * step;
      width = step;
    }
    p = low;
    const uint64_t k = e - extra[p] + 1;
    const uint32_t ranges = (of(job.side[1].count, p) + range_rows - 1) / range_rows, chunks = (of(job.side[0].count, p) + chunk_rows - 1) / chunk_rows;
    chunk = (uint32_t)(chunk_first ? k / ranges : k % chunks), range = (uint32_t)(chunk_first ? k % ranges : k / chunks);
  }
  const uint64_t build = of(job.side[0].count, p), probe = of(job.side[1].count, p);
  const uint64_t b = (uint64_t)chunk * chunk_rows, r = (uint64_t)range * range_rows;
  return {of(job.side[0].start, p) + b, of(job.side[1].start, p) + r, b < build ? (uint32_t)min(build - b, (uint64_t)chunk_rows) : 0,
          r < probe ? (uint32_t)min(probe - r, (uint64_t)range_rows) : 0, 1, chunk, build > chunk_rows || probe > range_rows, PARTITION ? p : 0};
}

// One warp of a persistent block: draws the block's next item and prefetches its
// build rows, of W words, into the L2 cache.
template <int W, bool PARTITION = false>
__device__ __forceinline__ void draw_item(const gj_join& job, MatchItem& next) {
  const uint32_t lane = threadIdx.x & 31;
  uint64_t ticket = 0;
  if (lane == 0) ticket = gridDim.x + atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_TICKET, 1);
  const MatchItem item = item_at<PARTITION>(job, __shfl_sync(~0u, ticket, 0), true);
  if (lane == 0) next = item;
  if (item.exists && item.probe_rows)
    prefetch<W>(reinterpret_cast<const char*>(job.side[0].final), job.side[0].final_capacity, item.build_at, item.build_rows, lane, 32);
}

// When one partner is enough, or only marks of build rows are wanted, one item can
// make others redundant: all rows of its range, or all of its chunk, have a partner.
// `finished` has a bit for the first row of each such range or chunk, so that a key
// that is hot on both sides costs little more than its rows.
__device__ __forceinline__ uint64_t finished_row(const gj_match& m, const MatchItem& item) {
  return m.flags & GJ_FIRST ? item.probe_at : item.build_at;
}
__device__ __forceinline__ bool is_finished(const gj_match& m, const MatchItem& item) {
  return m.finished && item.shared && marked(reinterpret_cast<const uint32_t*>(m.finished), finished_row(m, item));
}

}  // namespace gj
