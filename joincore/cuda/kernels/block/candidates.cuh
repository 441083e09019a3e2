// The match as one warp runs it: it takes 32 probe rows at a time and distributes
// all their candidates over the lanes, regardless of the row. It compares keys,
// then evaluates the condition; flags say what happens to a pair that passes. Pairs
// are staged in shared memory and written to a region that one counter allocates.
#pragma once
#include "block/condition.cuh"
#include "block/scan.cuh"
#include "block/table.cuh"
#include "layout/row.cuh"
#include "layout/work_items.cuh"

namespace gj {

constexpr uint32_t no_group = ~0u, stage_rows = 160;
constexpr uint32_t short_bucket = 8;  // up to this many candidates a lane searches alone

// The state of a warp between two rounds of 32 candidates.
struct WarpState {
  uint32_t group, next;  // current and next 32 probe rows of the range; no_group: none yet
  uint32_t done;         // candidates of the group that are finished
  uint32_t staged;       // pairs in the stage
};

template <int WARPS>
struct BlockState {
  MatchItem item;
  uint32_t next_group;
  uint32_t suspended;
  uint32_t unfinished;  // of the item: some row has no partner yet
  uint32_t unused;
  WarpState warp[WARPS];
};

// The operations of a warp. T threads per block. The evaluation of conditions takes
// registers that a match without one (CONDITION is false) is compiled to keep.
template <int KW, class Table, int T, bool CONDITION>
class Warp {
 public:
  __device__ Warp(const gj_match& m, const gj_join& job, BlockState<T / 32>& block, char* stages, const Table& table)
      : m_(m), job_(job), block_(block), table_(table), lane_(threadIdx.x & 31), state_(block.warp[threadIdx.x / 32]),
        build_stage_(reinterpret_cast<uint32_t*>(stages) + threadIdx.x / 32 * 2 * stage_rows), probe_stage_(build_stage_ + stage_rows) {}

  // Processes the item's groups of probe rows. False: the region is full.
  __device__ __forceinline__ bool match() {
    uint32_t group = state_.group, next = state_.next, done = state_.done, staged = state_.staged;
    __syncwarp();  // the state has been read by all lanes before it is written
    const uint32_t rows = block_.item.probe_rows;
    if (group == no_group) group = draw(), next = draw(), done = 0;
    Row<KW + 1> ahead = load(group);
    bool fits = true;
    while (group < rows) {
      const Row<KW + 1> row = ahead;
      ahead = load(next);
      fits = reserve(staged) && candidates(group, row, done, staged);
      if (!fits) break;
      group = next, next = draw(), done = 0;
    }
    if (lane_ == 0) state_ = {fits ? no_group : group, next, done, staged};
    return fits;
  }

  // Records whether a row of the item's chunk has no partner yet.
  __device__ __forceinline__ void check_build_marks() const {
    bool all = true;
    for (uint32_t i = threadIdx.x; i < block_.item.build_rows && all; i += T) all = marked(reinterpret_cast<const uint32_t*>(m_.build_marks), table_.row(i));
    if (!all) atomicOr(&block_.unfinished, 1u);
  }

  // Writes the pairs left in the stage.
  __device__ __forceinline__ bool drain() {
    uint32_t staged = state_.staged;
    __syncwarp();
    const bool fits = flush(staged, staged);
    if (lane_ == 0) state_ = {no_group, 0, 0, staged};
    return fits;
  }

 private:
  __device__ __forceinline__ uint32_t draw() {
    uint32_t group = 0;
    if (lane_ == 0) group = atomicAdd(&block_.next_group, 32);
    return __shfl_sync(~0u, group, 0);
  }

  __device__ __forceinline__ Row<KW + 1> load(uint32_t group) const {
    Row<KW + 1> r;
    clear(r);
    if (group + lane_ < block_.item.probe_rows)
      Lanes<KW + 1>::load(reinterpret_cast<const char*>(job_.side[1].final), job_.side[1].final_capacity, block_.item.probe_at + group + lane_, r, ReadOnce());
    return r;
  }

  // 32 probe rows: lane l has row l, with n candidate slots from `first` on.
  struct Group {
    KeyWords<KW> key;
    uint32_t row, first, n;
    uint32_t found;  // one bit per row that has a partner; the same in all lanes
  };

  // The candidates of 32 probe rows, from `done` on. False: the region is full, and
  // `done` is the number of finished candidates.
  __device__ __forceinline__ bool candidates(uint32_t at, const Row<KW + 1>& row, uint32_t& done, uint32_t& staged) {
    const bool once = m_.flags == GJ_MARK_BUILD && !CONDITION, valid = at + lane_ < block_.item.probe_rows;
    uint32_t* probe_marks = reinterpret_cast<uint32_t*>(m_.probe_marks);
    Group g{{}, row.word[KW], 0, 0, 0};
#pragma unroll
    for (int q = 0; q < KW; q++) g.key.word[q] = row.word[q];
    if (valid) table_.candidates(g.key, g.first, g.n);
    if (once) g.n = uncovered(g);
    if (m_.flags & GJ_FIRST && block_.item.chunk > 0) {
      g.found = __ballot_sync(~0u, valid && marked(probe_marks, g.row));
      if (g.found >> lane_ & 1) g.n = 0;
    }
    const uint32_t marked_before = g.found;
    const bool fits = done == 0 && one_each(g, staged) ? true : all(g, done, staged);
    if (m_.flags & GJ_MARK_PROBE && (g.found & ~marked_before) >> lane_ & 1) mark(probe_marks, g.row);
    if (m_.flags & GJ_FIRST && __any_sync(~0u, valid && !(g.found >> lane_ & 1)) && lane_ == 0) atomicOr(&block_.unfinished, 1u);
    if (once && g.n) atomicOr(table_.covered_bits() + g.first / 32, 1u << (g.first % 32));
    return fits;
  }

  // If buckets are short and contain each key at most once, each lane searches its
  // own row's partner. False: these conditions do not hold, and nothing was done.
  __device__ __forceinline__ bool one_each(Group& g, uint32_t& staged) {
    const uint32_t longest = __reduce_max_sync(~0u, g.n);
    if (longest > short_bucket) return false;
    uint32_t same = 0, slot = 0;
    for (uint32_t k = 0; k < longest; k++)
      if (k < g.n && table_.same(g.first + k, g.key)) same++, slot = g.first + k;
    if (__any_sync(~0u, same > 1)) return false;
    pairs(same > 0, slot, g.row, lane_, g, staged);
    return true;
  }

  // All candidates of all rows, 32 at a time, one per lane.
  __device__ __forceinline__ bool all(Group& g, uint32_t& done, uint32_t& staged) {
    const uint32_t upto = warp_inclusive(g.n), total = __shfl_sync(~0u, upto, 31);
    while (done < total) {
      if (!reserve(staged)) return false;
      const uint32_t want = min(done + lane_, total - 1);
      const uint32_t source = warp_owner(upto, want);  // the lane whose candidate this is
      if (m_.flags & GJ_FIRST) {
        const uint32_t s = __shfl_sync(~0u, source, 0);
        if (g.found >> s & 1) {
          done = __shfl_sync(~0u, upto, s);
          continue;
        }
      }
      const uint32_t slot = __shfl_sync(~0u, g.first, source) + want - __shfl_sync(~0u, upto - g.n, source);
      KeyWords<KW> key;
#pragma unroll
      for (int q = 0; q < KW; q++) key.word[q] = __shfl_sync(~0u, g.key.word[q], source);
      const uint32_t probe_row = __shfl_sync(~0u, g.row, source);
      const bool decided = m_.flags & GJ_FIRST && g.found >> source & 1;
      pairs(done + lane_ < total && !decided && table_.same(slot, key), slot, probe_row, source, g, staged);
      done += 32;
    }
    return true;
  }

  // One pair per lane, with equal normalised keys if `hit`: checks it and does what
  // the flags ask for. The stage has space for 32 pairs.
  __device__ __forceinline__ void pairs(bool hit, uint32_t slot, uint32_t probe_row, uint32_t source, Group& g, uint32_t& staged) {
    const Pair pair{hit ? table_.row(slot) : 0, probe_row};
    if constexpr (CONDITION) {
      hit = hit && passes(reinterpret_cast<const gj_program*>(m_.condition), pair);
      __syncwarp();
    }
    if (m_.flags & GJ_MARK_PROBE) g.found |= __reduce_or_sync(~0u, hit ? 1u << source : 0u);
    if (m_.flags & GJ_MARK_BUILD && hit) mark_once(reinterpret_cast<uint32_t*>(m_.build_marks), pair.build);
    if (m_.flags & GJ_PAIRS) stage(hit, pair, staged);
  }

  // When only marks of build rows are wanted, each key is looked up once: one lane
  // acts for all lanes with equal keys, and keys looked up before are skipped.
  // Moves `first` to the key's first row, which is the row that `covered` marks.
  __device__ __forceinline__ uint32_t uncovered(Group& g) const {
    uint64_t k = g.key.word[0];
    if constexpr (KW == 2) k |= (uint64_t)g.key.word[1] << 32;
    uint32_t n = g.n;
    const uint32_t same = __match_any_sync(~0u, k) & __ballot_sync(~0u, n > 0);
    if (n && lane_ + 1 != __ffs(same)) n = 0;
    while (n && !table_.same(g.first, g.key)) g.first++, n--;
    if (n && atomicOr(table_.covered_bits() + g.first / 32, 0u) >> (g.first % 32) & 1) n = 0;
    __syncwarp();
    return n;
  }

  __device__ __forceinline__ void stage(bool hit, const Pair& pair, uint32_t& staged) {
    const uint32_t hits = __ballot_sync(~0u, hit);
    if (hit) {
      const uint32_t at = staged + __popc(hits & ((1u << lane_) - 1));
      build_stage_[at] = pair.build;
      probe_stage_[at] = pair.probe;
    }
    staged += __popc(hits);
    __syncwarp();
  }

  // Makes space for 32 pairs in the stage.
  __device__ __forceinline__ bool reserve(uint32_t& staged) { return staged <= stage_rows - 32 || flush(staged, staged & ~31u); }

  // Writes the first n staged pairs. False: the region has no space for them.
  __device__ __forceinline__ bool flush(uint32_t& staged, uint32_t n) {
    if (n == 0) return true;
    unsigned long long* progress = reinterpret_cast<unsigned long long*>(m_.progress);
    unsigned long long at = 0;
    if (lane_ == 0) {
      at = atomicAdd(&progress[GJ_CLAIMED], (unsigned long long)n);
      // No later claim fits either: the written pairs end here.
      if (at + n > m_.capacity) atomicMin(&progress[GJ_LIMIT], at);
    }
    at = __shfl_sync(~0u, at, 0);
    if (at + n > m_.capacity) return false;
    for (uint32_t i = lane_; i < n; i += 32) {
      __stcs(reinterpret_cast<uint32_t*>(m_.build) + at + i, build_stage_[i]);
      __stcs(reinterpret_cast<uint32_t*>(m_.probe) + at + i, probe_stage_[i]);
    }
    const uint32_t rest = staged - n;  // below 32, or n is everything
    uint32_t b = 0, p = 0;
    if (lane_ < rest) b = build_stage_[n + lane_], p = probe_stage_[n + lane_];
    __syncwarp();
    if (lane_ < rest) build_stage_[lane_] = b, probe_stage_[lane_] = p;
    __syncwarp();
    staged = rest;
    return true;
  }

  const gj_match& m_;
  const gj_join& job_;
  BlockState<T / 32>& block_;
  const Table& table_;
  const uint32_t lane_;
  WarpState& state_;
  uint32_t *build_stage_, *probe_stage_;
};

}  // namespace gj
