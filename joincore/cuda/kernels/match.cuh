// Joins co-partitions in shared memory: inner join, any number of matches.
//
// A work item is a chunk of a partition's build rows and a range of its probe
// rows; a partition with more of either is several items, so neither a hot key
// nor a build side that does not fit is special. Persistent blocks draw items.
//
// The chunk's rows lie in a table (buckets.cuh). A warp takes 32 * IPT probe
// rows at a time, while its next ones are on their way. Where most have a match,
// they are put out from registers (emit.cuh). Where few have, what is found is
// listed in shared memory, an entry a match: the number of the probe row among
// those that the warp has and the slot of the build row. Only what is listed is
// read further, a lane an entry: a row without a match costs no more than the
// search for its key. Rows with several matches are listed 32 matches at a time.
//
// Bound: reads each row once, writes each output row once.
#pragma once
#include "arena.cuh"
#include "buckets.cuh"
#include "descriptor.h"
#include "emit.cuh"
#include "items.cuh"
#include "row.cuh"
#include "scan.cuh"

namespace gj {

// Shared-memory layout: the table, then for each warp its list, or its stage for
// output in the same place, and the probe rows that it has and that it waits for.
template <int KW, class B, class S, int C, int NB, int IPT, int WARPS>
struct MatchLayout {
  static constexpr int lists = Buckets<KW, B::words, C, NB>::bytes, list_bytes = Emitter<KW, B, S>::stage_bytes(IPT), probes = lists + list_bytes * WARPS,
                       step_bytes = 32 * IPT * (KW + S::words) * 4, bytes = probes + 2 * step_bytes * WARPS;
  static_assert(list_bytes >= 32 * IPT * 4);
};

// What a warp does with the probe rows that it has.
template <int KW, class B, class S, int C, int NB, int IPT>
struct Step {
  static constexpr int PB = B::words, PS = S::words, WS = KW + PS, rows = 32 * IPT;
  static constexpr uint32_t none = 0xffff;
  // What is fetched by row id costs so much more that a second way would not pay.
  static constexpr bool lists_only = B::form == Form::row_id || S::form == Form::row_id;
  using Table = Buckets<KW, PB, C, NB>;

  const gj_join& job;
  unsigned long long* claim;
  const Table& table;
  Emitter<KW, B, S>& out;
  uint32_t* list;
  uint32_t build_rows;  // of the table
  const char* probe;    // the rows
  uint32_t exist;       // as many of the lane's

  __device__ __forceinline__ Row<KW> key(uint32_t i) const {
    const Row<WS> r = row(i);
    Row<KW> k;
#pragma unroll
    for (int q = 0; q < KW; q++) k.word[q] = r.word[q];
    return k;
  }

  // Joins them.
  __device__ __forceinline__ void join() const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t slot[IPT];
    if (find(slot)) return join_several();
    uint32_t mask[IPT], n = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      mask[j] = __ballot_sync(~0u, slot[j] != none);
      n += __popc(mask[j]);
    }
    if constexpr (!lists_only) {
      if (2 * n > rows) return put_found(mask, slot);
    }
    if (!n) return;
    n = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      if (slot[j] != none) list[n + __popc(mask[j] & ((1u << lane) - 1))] = (j * 32 + lane) << 16 | slot[j];
      n += __popc(mask[j]);
    }
    put_listed(n);
  }

 private:
  __device__ __forceinline__ Row<WS> row(uint32_t i) const {
    Row<WS> r;
    Lanes<WS>::load(probe, rows, i, r, Shared());
    return r;
  }

  // Finds a match of each of the lane's rows; returns whether a row of the warp
  // has several.
  __device__ __forceinline__ bool find(uint32_t (&slot)[IPT]) const {
    const uint32_t lane = threadIdx.x & 31;
    Bucket bucket[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      bucket[j] = table.bucket(key(j * 32 + lane));
      if (j >= exist) bucket[j].rows = 0;
    }
    // Most buckets have at most three rows: compared without a loop.
    bool several = false;
    uint32_t longest = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const Row<KW> k = key(j * 32 + lane);
      const uint32_t s = bucket[j].first, n = bucket[j].rows;
      const bool m0 = n > 0 && table.same(s, k), m1 = n > 1 && table.same(s + 1, k), m2 = n > 2 && table.same(s + 2, k);
      slot[j] = m0 ? s : m1 ? s + 1 : m2 ? s + 2 : none;
      several |= (m0 && (m1 || m2)) || (m1 && m2);
      longest = max(longest, n);
    }
    if (__any_sync(~0u, longest > 3)) {
#pragma unroll 1
      for (uint32_t j = 0; j < IPT; j++) {
        const Row<KW> k = key(j * 32 + lane);
        const Bucket all = whole_bucket(j, k);
        for (uint32_t i = 3; i < all.rows; i++)
          if (table.same(all.first + i, k)) {
#pragma unroll
            for (int h = 0; h < IPT; h++)
              if (h == j) several |= slot[h] != none, slot[h] = all.first + i;
          }
      }
    }
    return __any_sync(~0u, several);
  }

  // 32 rows at a time; their matches are listed 32 at a time, in order.
  __device__ __forceinline__ void join_several() const {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
    for (uint32_t j = 0; j < IPT; j++) {
      const Row<KW> k = key(j * 32 + lane);
      const Bucket all = whole_bucket(j, k);
      uint32_t matches = 0, first = 0, last = 0;
      for (uint32_t i = 0; i < all.rows; i++)
        if (table.same(all.first + i, k)) {
          if (!matches) first = all.first + i;
          last = all.first + i;
          matches++;
        }
      const uint32_t upto = warp_inclusive(matches), total = __shfl_sync(~0u, upto, 31);
      for (uint32_t o = 0; o < total; o += 32) {
        const uint32_t want = min(o + lane, total - 1);
        uint32_t source = 0;  // the first lane with upto > want
#pragma unroll
        for (int d = 16; d; d /= 2)
          if (__shfl_sync(~0u, upto, source + d - 1) <= want) source += d;
        const uint32_t of = __shfl_sync(~0u, matches, source), end = __shfl_sync(~0u, last, source);
        uint32_t s = __shfl_sync(~0u, first, source), skip = want - (__shfl_sync(~0u, upto, source) - of);
        if (end - s + 1 == of) {
          s += skip;
        } else {  // rows of other keys lie between the matches
          const Row<KW> wanted = key(j * 32 + source);
          while (true) {
            while (!table.same(s, wanted)) s++;
            if (!skip) break;
            skip--, s++;
          }
        }
        list[lane] = (j * 32 + source) << 16 | s;
        put_listed(min(32u, total - o));
      }
    }
  }

  __device__ __forceinline__ Bucket whole_bucket(uint32_t j, const Row<KW>& k) const { return j < exist ? table.whole_bucket(k, build_rows) : Bucket{0, 0}; }

  // Puts out rows with one match each.
  __device__ __forceinline__ void put_found(const uint32_t (&mask)[IPT], const uint32_t (&slot)[IPT]) const {
    Row<WS> r[IPT];
    Row<PB ? PB : 1> w[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      r[j] = row(j * 32 + (threadIdx.x & 31));
      clear(w[j]);
      if (slot[j] != none) table.payload(slot[j], w[j].word);
    }
    out.template put<IPT>(
        job, claim, list, mask, [&](int j, int q) { return r[j].word[q]; }, [&](int j, int q) { return w[j].word[q]; },
        [&](int j, int q) { return r[j].word[KW + q]; });
  }

  // Puts out the first n entries of the list.
  __device__ __forceinline__ void put_listed(uint32_t n) const {
    __syncwarp();
    out.append(job, claim, n, [&](uint32_t i, uint32_t* k, uint32_t* build_word, uint32_t* probe_word) {
      const uint32_t entry = list[i];
      const Row<WS> r = row(entry >> 16);
#pragma unroll
      for (int q = 0; q < KW; q++) k[q] = r.word[q];
#pragma unroll
      for (int q = 0; q < PS; q++) probe_word[q] = r.word[KW + q];
      table.payload(entry & 0xffff, build_word);
    });
    __syncwarp();
  }
};

// KW key words; B, S: the payload of build and probe rows; T threads, C rows a
// chunk at most, NB buckets, IPT probe rows a thread.
template <int KW, class B, class S, int T, int C, int NB, int IPT>
__device__ __forceinline__ void match(const gj_join* join) {
  using Work = Step<KW, B, S, C, NB, IPT>;
  constexpr int WB = KW + B::words, WS = KW + S::words;
  using Layout = MatchLayout<KW, B, S, C, NB, IPT, T / 32>;
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  __shared__ uint32_t sums[32];
  __shared__ MatchItem next;
  __shared__ unsigned long long claim;
  // What every item needs lies in shared memory, not in registers.
  __shared__ gj_join job;
  for (uint32_t i = threadIdx.x; i < sizeof job / 8; i += T) reinterpret_cast<uint64_t*>(&job)[i] = reinterpret_cast<const uint64_t*>(join)[i];
  __syncthreads();
  if (threadIdx.x == 0) claim = no_claim((uint32_t)job.output_chunk);

  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  uint32_t* const list = reinterpret_cast<uint32_t*>(smem + Layout::lists + warp * Layout::list_bytes);
  char* const probes = smem + Layout::probes + warp * 2 * Layout::step_bytes;
  const typename Work::Table table(smem);
  Emitter<KW, B, S> out;

  if (warp == 0) {
    const MatchItem first = item_at(job, blockIdx.x, true);
    if (lane == 0) next = first;
  }
  while (true) {
    __syncthreads();  // the next item is known, and the last one done with shared memory
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
    if (warp == 0) {
      uint64_t ticket = 0;
      if (lane == 0) ticket = gridDim.x + atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_TICKET, 1);
      const MatchItem then = item_at(job, __shfl_sync(~0u, ticket, 0), true);
      if (lane == 0) next = then;
      if (then.exists && then.probe_rows)
        prefetch<WB>(reinterpret_cast<const char*>(job.side[0].final), job.side[0].final_capacity, then.build_at, then.build_rows, lane, 32);
    }
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
