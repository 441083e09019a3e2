// Joins co-partitions in shared memory: inner join, any number of matches.
//
// A work item is a chunk of a partition's build rows and a range of its probe
// rows. A larger partition has several items, so hot keys and build partitions
// larger than shared memory need no special case. Persistent blocks draw items.
//
// A block builds a hash table of the chunk (block/buckets.cuh); a probe reads one
// bucket entry and the keys of that bucket.
//
// A warp takes 32 * IPT probe rows, finds their matches and emits them from
// registers (block/emit.cuh), which is best when most rows have one match. Rows
// with several matches are expanded, one output row per lane.
// agent/match_listed.cuh is for sparse matches.
//
// Bound: reads each row once, writes each output row once.
#pragma once
#include "block/arena.cuh"
#include "block/beside.cuh"
#include "block/buckets.cuh"
#include "block/emit.cuh"
#include "block/scan.cuh"
#include "block/unhash.cuh"
#include "layout/join.h"
#include "layout/row.cuh"
#include "layout/work_items.cuh"

namespace gj {

// Shared memory: the chunk's table, then for each warp an output stage and its
// next probe rows, then the carried fields of both sides.
template <int KW, class B, class S, int C, int NB, int IPT, int WARPS>
struct MatchLayout {
  static constexpr bool hashes = B::beside || S::beside;  // in place of keys
  using BuildRows = MatchRows<KW, B, hashes>;
  using ProbeRows = MatchRows<KW, S, hashes>;
  using Table = Buckets<KW, B, C, NB, BuildRows>;
  static constexpr int stages = Table::bytes, stage_bytes = Emitter<KW, B, S>::stage_bytes(IPT),
                       ahead = stages + stage_bytes * WARPS, ahead_bytes = 32 * IPT * ProbeRows::stored * 4, fields = ahead + ahead_bytes * WARPS,
                       bytes = fields + field_list_bytes<B>() + field_list_bytes<S>();
};

// KW key words; B, S: payload kinds of build and probe rows; T threads, at most C
// rows per chunk, NB buckets, IPT probe rows per thread.
template <int KW, class B, class S, int T, int C, int NB, int IPT>
__device__ __forceinline__ void match(const gj_join* join) {
  constexpr int PB = B::words, WS = KW + S::words;
  using Out = Emitter<KW, B, S>;
  using Layout = MatchLayout<KW, B, S, C, NB, IPT, T / 32>;
  using ProbeRows = typename Layout::ProbeRows;
  constexpr int stored = ProbeRows::stored;
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  const typename Layout::Table table(smem);
  __shared__ uint32_t sums[32];
  __shared__ MatchItem next;
  __shared__ uint32_t next_step;
  __shared__ unsigned long long claim;
  // Shared by all items: kept in shared memory to save registers.
  __shared__ gj_join job;
  for (uint32_t i = threadIdx.x; i < sizeof job / 8; i += T) reinterpret_cast<uint64_t*>(&job)[i] = reinterpret_cast<const uint64_t*>(join)[i];
  __syncthreads();
  if (threadIdx.x == 0) claim = no_claim((uint32_t)job.output_chunk);

  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  uint32_t* stage = reinterpret_cast<uint32_t*>(smem + Layout::stages + warp * Layout::stage_bytes);
  char* ahead = smem + Layout::ahead + warp * Layout::ahead_bytes;
  auto* const build_fields = reinterpret_cast<FieldList<B>*>(smem + Layout::fields);
  auto* const probe_fields = reinterpret_cast<FieldList<S>*>(smem + Layout::fields + field_list_bytes<B>());
  copy_fields<B, T>(job.side[0], build_fields);
  copy_fields<S, T>(job.side[1], probe_fields);
  Out out(build_fields, probe_fields);
  if (warp == 0) {
    const MatchItem first = item_at<Layout::hashes>(job, blockIdx.x, true);
    if (lane == 0) next = first;
  }
  while (true) {
    __syncthreads();  // the next item is known; the previous one no longer uses shared memory
    const MatchItem item = next;
    const uint32_t nb = item.build_rows, ns = item.probe_rows;
    if (!item.exists) break;
    const bool work = nb && ns;
    // Prefetches the warp's next probe rows while the current ones are matched and emitted.
    auto fetch = [&](uint32_t i) {
      const char* from = reinterpret_cast<const char*>(job.side[1].final);
      const uint64_t capacity = job.side[1].final_capacity;
      const uint64_t at = item.probe_at + lane + i;
      if (i + 32 * IPT <= ns) {
#pragma unroll
        for (int j = 0; j < IPT; j++) copy_async<stored>(from, capacity, at + j * 32, ahead, 32 * IPT, j * 32 + lane);
      } else {
#pragma unroll
        for (int j = 0; j < IPT; j++)
          if (i + j * 32 + lane < ns) copy_async<stored>(from, capacity, at + j * 32, ahead, 32 * IPT, j * 32 + lane);
      }
    };
    uint32_t step = warp * 32 * IPT;
    if (threadIdx.x == 0) next_step = T * IPT;
    if (work) {
      fetch(step);
      table.template build<T>(reinterpret_cast<const char*>(job.side[0].final), job.side[0].final_capacity, item.build_at, nb, sums);
    }
    __syncthreads();
    if (warp == 0) draw_item<Layout::BuildRows::stored, Layout::hashes>(job, next);
    if (work) {
      const uint32_t top = Layout::hashes ? top_bits(job, item.partition) : 0;
      auto key = [&](const Row<WS>& r, int q) {
        if constexpr (Layout::hashes) return unhash(top | r.word[0]);
        return r.word[q];
      };
      auto same = [&](uint32_t slot, const Row<WS>& r) { return table.same(slot, head<KW>(r)); };
      // Probe: the warp takes its next 32 * IPT rows.
      while (step < ns) {
        Row<WS> r[IPT];
        end_copies();
        await_copies<0>();
#pragma unroll
        for (int j = 0; j < IPT; j++) ProbeRows::load(ahead, 32 * IPT, j * 32 + lane, r[j], Shared());
        uint32_t later = 0;
        if (lane == 0) later = atomicAdd(&next_step, 32 * IPT);
        later = __shfl_sync(~0u, later, 0);
        fetch(later);
        const uint32_t here = step;
        step = later;
        // First match << 16 | matches are contiguous << 15 | number of matches; 0: none.
        uint32_t found[IPT];
        Bucket in[IPT];
#pragma unroll
        for (int j = 0; j < IPT; j++) {
          in[j] = table.bucket(head<KW>(r[j]));
          if (here + j * 32 + lane >= ns) in[j].rows = 0;
        }
        uint32_t longest = 0;
#pragma unroll
        for (int j = 0; j < IPT; j++) {
          const uint32_t s = in[j].first, n = in[j].rows;
          const bool m0 = n > 0 && same(s, r[j]), m1 = n > 1 && same(s + 1, r[j]);
          const uint32_t one = s << 16 | 0x8001;
          found[j] = (m0 ? one : m1 ? one + (1 << 16) : 0) + (m0 && m1);
          longest = max(longest, n);
        }
        if (__any_sync(~0u, longest == 7)) {
#pragma unroll
          for (int j = 0; j < IPT; j++)
            if (in[j].rows == 7) longest = max(longest, in[j].rows = table.whole_bucket(head<KW>(r[j]), nb).rows);
        }
        // Some bucket of a warp's rows nearly always has more than two rows. So one loop takes
        // the third rows of all buckets, then the fourth ones.
#pragma unroll 1
        for (uint32_t k = 2; __any_sync(~0u, longest > k); k++) {
          bool match[IPT];
#pragma unroll
          for (int j = 0; j < IPT; j++) match[j] = k < in[j].rows && same(in[j].first + k, r[j]);
#pragma unroll
          for (int j = 0; j < IPT; j++) {
            const uint32_t slot = in[j].first + k, matches = found[j] & 0x7fff;
            const bool behind = (found[j] >> 16) + matches == slot;
            if (match[j]) found[j] = matches ? (behind ? found[j] : found[j] & ~0x8000u) + 1 : slot << 16 | 0x8001;
          }
        }
        uint32_t several = 0;
#pragma unroll
        for (int j = 0; j < IPT; j++) several |= found[j] & 0x7ffe;
        if (!__any_sync(~0u, several)) {
          uint32_t mask[IPT];
          Row<PB ? PB : 1> v[IPT];
#pragma unroll
          for (int j = 0; j < IPT; j++) {
            mask[j] = __ballot_sync(~0u, found[j] & 1);
            clear(v[j]);
            if (found[j] & 1) table.payload(found[j] >> 16, v[j].word);
          }
          out.template put<IPT>(
              job, &claim, stage, mask, [&](int j, int q) { return key(r[j], q); }, [&](int j, int q) { return v[j].word[q]; },
              [&](int j, int q) { return r[j].word[KW + q]; });
          continue;
        }
        // Several matches per row: 32 rows at a time, one output row per lane. The code stands
        // once for all of the thread's rows: copies of it would take registers from the rest.
#pragma unroll 1
        for (int j = 0; j < IPT; j++) {
          uint32_t these = found[0];
          Row<WS> mine = r[0];
#pragma unroll
          for (int k = 1; k < IPT; k++)
            if (j == k) these = found[k], mine = r[k];
          const uint32_t matches = these & 0x7fff, first = these >> 15;
          const uint32_t upto = warp_inclusive(matches), n = __shfl_sync(~0u, upto, 31);
          if (n == 0) continue;
          for (uint32_t o = 0; o < n; o += 32) {
            const uint32_t want = min(o + lane, n - 1);
            const uint32_t source = warp_owner(upto, want);
            Row<WS> v;
#pragma unroll
            for (int q = 0; q < WS; q++) v.word[q] = __shfl_sync(~0u, mine.word[q], source);
            uint32_t slot = __shfl_sync(~0u, first, source);
            uint32_t skip = want - (__shfl_sync(~0u, upto, source) - __shfl_sync(~0u, matches, source));
            const bool side_by_side = slot & 1;
            slot >>= 1;
            if (side_by_side) slot += skip;
            while (!side_by_side) {  // skip rows of other keys between the matches
              while (!same(slot, v)) slot++;
              if (!skip) break;
              skip--, slot++;
            }
            Row<PB ? PB : 1> w;
            clear(w);
            table.payload(slot, w.word);
            const uint32_t mask[1] = {__ballot_sync(~0u, o + lane < n)};
            out.template put<1>(
                job, &claim, stage, mask, [&](int, int q) { return key(v, q); }, [&](int, int q) { return w.word[q]; },
                [&](int, int q) { return v.word[KW + q]; });
          }
        }
      }
    }
  }
  out.flush(job, &claim);
  __syncthreads();
  if (threadIdx.x == 0) reinterpret_cast<unsigned long long*>(job.tails)[blockIdx.x] = claim;
}

}  // namespace gj
