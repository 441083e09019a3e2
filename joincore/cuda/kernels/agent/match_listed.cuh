// Joins co-partitions like agent/match.cuh, through a match list in shared memory:
// for payload gathered by row id, when few rows match or when the gathered values
// are close together.
//
// Items are drawn and chunk tables built as there. A warp handles 32 * IPT probe
// rows at a time (block/match_list.cuh) while its next rows are being copied to
// shared memory.
//
// Bound: reads each row once, writes each output row once.
#pragma once
#include "block/arena.cuh"
#include "block/buckets.cuh"
#include "block/emit.cuh"
#include "block/match_list.cuh"
#include "layout/join.h"
#include "layout/row.cuh"
#include "layout/work_items.cuh"

namespace gj {

// Shared memory: the table, then for each warp its match list, its current probe
// rows and the next ones, then the carried fields of both sides.
template <int KW, class B, class S, int C, int NB, int IPT, int WARPS>
struct ListedLayout {
  static constexpr int lists = Buckets<KW, B, C, NB>::bytes, list_bytes = 32 * IPT * 4, probes = lists + list_bytes * WARPS,
                       step_bytes = 32 * IPT * (KW + S::words) * 4, fields = probes + 2 * step_bytes * WARPS,
                       bytes = fields + field_list_bytes<B>() + field_list_bytes<S>();
};

// KW key words; B, S: payload kinds of build and probe rows; T threads, at most C
// rows per chunk, NB buckets, IPT probe rows per thread.
template <int KW, class B, class S, int T, int C, int NB, int IPT>
__device__ __forceinline__ void match_listed(const gj_join* join) {
  using Work = ListedMatch<KW, B, S, C, NB, IPT>;
  constexpr int WB = KW + B::words, WS = KW + S::words;
  using Layout = ListedLayout<KW, B, S, C, NB, IPT, T / 32>;
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  __shared__ uint32_t sums[32];
  __shared__ MatchItem next;
  __shared__ unsigned long long claim;
  // Shared by all items: kept in shared memory to save registers.
  __shared__ gj_join job;
  for (uint32_t i = threadIdx.x; i < sizeof job / 8; i += T) reinterpret_cast<uint64_t*>(&job)[i] = reinterpret_cast<const uint64_t*>(join)[i];
  __syncthreads();
  if (threadIdx.x == 0) claim = no_claim((uint32_t)job.output_chunk);

  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  uint32_t* const list = reinterpret_cast<uint32_t*>(smem + Layout::lists + warp * Layout::list_bytes);
  char* const probes = smem + Layout::probes + warp * 2 * Layout::step_bytes;
  const typename Work::Table table(smem);
  auto* const build_fields = reinterpret_cast<FieldList<B>*>(smem + Layout::fields);
  auto* const probe_fields = reinterpret_cast<FieldList<S>*>(smem + Layout::fields + field_list_bytes<B>());
  copy_fields<B, T>(job.side[0], build_fields);
  copy_fields<S, T>(job.side[1], probe_fields);
  Emitter<KW, B, S> out(build_fields, probe_fields);

  if (warp == 0) {
    const MatchItem first = item_at(job, blockIdx.x, true);
    if (lane == 0) next = first;
  }
  while (true) {
    __syncthreads();  // the next item is known; the previous one no longer uses shared memory
    const MatchItem item = next;
    const uint32_t nb = item.build_rows, ns = item.probe_rows;
    if (!item.exists) break;
    const bool work = nb && ns;
    const LaneRows<WS> from(reinterpret_cast<const char*>(job.side[1].final), job.side[1].final_capacity, item.probe_at + lane);
    auto exist = [&](uint32_t step) { return step + lane < ns ? (ns - step - lane + 31) / 32 : 0; };
    auto fetch = [&](uint32_t step, char* to) {
      if (step + Work::rows <= ns)
        from.template copy<IPT>(step, IPT, to, Work::rows, lane);
      else
        from.template copy<IPT>(step, exist(step), to, Work::rows, lane);
      end_copies();
    };
    uint32_t step = warp * Work::rows;
    char *here = probes, *ahead = probes + Layout::step_bytes;
    if (work) {
      fetch(step, here);
      fetch(step + T * IPT, ahead);
      table.template build<T>(reinterpret_cast<const char*>(job.side[0].final), job.side[0].final_capacity, item.build_at, nb, sums);
    }
    __syncthreads();
    if (warp == 0) draw_item<WB>(job, next);
    for (; work && step < ns; step += T * IPT) {
      await_copies<1>();
      __syncwarp();
      Work{job, &claim, table, out, list, nb, here, exist(step)}.join();
      __syncwarp();
      fetch(step + 2 * T * IPT, here);
      char* const done = here;
      here = ahead, ahead = done;
    }
    await_copies<0>();
  }
  out.flush(job, &claim);
  __syncthreads();
  if (threadIdx.x == 0) reinterpret_cast<unsigned long long*>(job.tails)[blockIdx.x] = claim;
}

}  // namespace gj
