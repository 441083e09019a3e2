// Finds the partners of probe rows: every kind of join, any number of partners.
//
// A work item is a chunk of a partition's build rows and a range of its probe
// rows; a partition with more of either is several items (offsets.cuh), so a
// hot key on either side is spread over the device. Persistent blocks draw
// items and make a table of the chunk. A warp takes 32 probe rows at a time
// and goes through all their candidates, one a lane, whichever row they belong
// to: keys are compared, then the condition is evaluated. Flags say what
// follows for a pair that passes.
//
// Pairs go through a stage in shared memory to a region that one counter hands
// out, so the result is dense and its size is not known before. A claim that
// does not fit ends what the warp does: the block saves its shared memory,
// which has all of its state, and a later launch with an empty region goes on
// from there.
//
// Bound: reads each partitioned row once, writes each pair once.
#pragma once
#include "program.cuh"
#include "table.cuh"

namespace gj {

struct MatchItem {
  uint64_t build_at, probe_at;      // first rows
  uint32_t build_rows, probe_rows;  // 0: nothing to do
  uint64_t exists;
};

constexpr uint32_t no_group = ~0u, stage_rows = 160;

// A warp between two steps of 32 candidates.
struct WarpState {
  uint32_t group, next;  // probe rows of the range that it is at and will be at; no_group: none yet
  uint32_t done;         // candidates of the group
  uint32_t staged;       // pairs in its stage
};

template <int WARPS>
struct BlockState {
  MatchItem item;
  uint32_t next_group;
  uint32_t suspended;
  WarpState warp[WARPS];
};

// Dynamic shared memory.
template <class Table, int WARPS>
struct PartnersLayout {
  static constexpr int stages = (sizeof(BlockState<WARPS>) + 15) / 16 * 16, table = stages + WARPS * stage_rows * 8, bytes = table + Table::bytes;
};

__device__ __forceinline__ bool marked(const uint32_t* marks, uint32_t row) { return __ldcg(marks + row / 32) >> (row % 32) & 1; }
__device__ __forceinline__ void mark(uint32_t* marks, uint32_t row) {
  if (!marked(marks, row)) atomicOr(marks + row / 32, 1u << (row % 32));
}

// One warp: what work item `item` is.
__device__ __forceinline__ MatchItem item_at(const gj_join& job, uint64_t item) {
  const uint32_t lane = threadIdx.x & 31, parts = 1u << (job.bits_first + job.bits_second);
  const uint32_t chunk_rows = (uint32_t)job.chunk_rows, range_rows = (uint32_t)job.range_rows;
  auto of = [](uint64_t table, uint32_t p) { return __ldg(reinterpret_cast<const uint32_t*>(table) + p); };
  uint32_t p = (uint32_t)item, chunk = 0, range = 0;
  if (item >= parts) {
    // Further items of partition p are extra[p] <= item - parts < extra[p + 1].
    const uint64_t* extra = reinterpret_cast<const uint64_t*>(job.extra);
    const uint64_t e = item - parts;
    if (e >= extra[parts]) return {0, 0, 0, 0, 0};
    uint32_t low = 0, width = parts;
    while (width > 1) {
      const uint32_t step = (width + 31) / 32, at = low + lane * step;
      const uint32_t not_after = __ballot_sync(~0u, lane * step < width && at < parts && extra[at] <= e);
      low += (31 - __clz(not_after)) * step;
      width = step;
    }
    p = low;
    const uint64_t k = e - extra[p] + 1;
    const uint32_t ranges = (of(job.side[1].count, p) + range_rows - 1) / range_rows;
    chunk = (uint32_t)(k / ranges), range = (uint32_t)(k % ranges);
  }
  const uint64_t build = of(job.side[0].count, p), probe = of(job.side[1].count, p);
  const uint64_t b = (uint64_t)chunk * chunk_rows, r = (uint64_t)range * range_rows;
  return {of(job.side[0].start, p) + b, of(job.side[1].start, p) + r, b < build ? (uint32_t)min(build - b, (uint64_t)chunk_rows) : 0,
          r < probe ? (uint32_t)min(probe - r, (uint64_t)range_rows) : 0, 1};
}

// What a warp does. T threads a block.
template <int KW, class Table, int T>
class Warp {
 public:
  __device__ Warp(const gj_match& m, const gj_join& job, BlockState<T / 32>& block, char* stages, const Table& table)
      : m_(m), job_(job), block_(block), table_(table), lane_(threadIdx.x & 31), state_(block.warp[threadIdx.x / 32]),
        build_stage_(reinterpret_cast<uint32_t*>(stages) + threadIdx.x / 32 * 2 * stage_rows), probe_stage_(build_stage_ + stage_rows) {}

  // Goes through the item's groups of probe rows; false: the region is full.
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
      fits = candidates(group, row, done, staged);
      if (!fits) break;
      group = next, next = draw(), done = 0;
    }
    if (lane_ == 0) state_ = {fits ? no_group : group, next, done, staged};
    return fits;
  }

  // Writes what is left in the stage.
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

  // The candidates of 32 probe rows, from `done` on; false: the region is full
  // and `done` is how far it came.
  __device__ __forceinline__ bool candidates(uint32_t group, const Row<KW + 1>& row, uint32_t& done, uint32_t& staged) {
    const uint32_t flags = (uint32_t)m_.flags;
    const bool first_only = flags & GJ_FIRST, once = flags == GJ_MARK_BUILD && !m_.condition;
    uint32_t* probe_marks = reinterpret_cast<uint32_t*>(m_.probe_marks);
    KeyWords<KW> key;
#pragma unroll
    for (int q = 0; q < KW; q++) key.word[q] = row.word[q];
    const uint32_t probe_row = row.word[KW];
    uint32_t first = 0, n = 0;
    if (group + lane_ < block_.item.probe_rows) table_.candidates(key, first, n);
    if (first_only && n && marked(probe_marks, probe_row)) n = 0;
    if (once) n = uncovered(key, first, n);
    const uint32_t upto = warp_inclusive(n), all = __shfl_sync(~0u, upto, 31);
    uint32_t found = 0;  // a bit for each of the 32 rows
    bool fits = true;
    while (done < all) {
      if (staged > stage_rows - 32 && !flush(staged, staged & ~31u)) {
        fits = false;
        break;
      }
      // A lane's candidate belongs to the first row with upto > want.
      const uint32_t want = min(done + lane_, all - 1);
      uint32_t source = 0;
#pragma unroll
      for (int d = 16; d; d /= 2)
        if (__shfl_sync(~0u, upto, source + d - 1) <= want) source += d;
      if (first_only) {
        const uint32_t s = __shfl_sync(~0u, source, 0);
        if (found >> s & 1) {
          done = __shfl_sync(~0u, upto, s);
          continue;
        }
      }
      const uint32_t slot = __shfl_sync(~0u, first, source) + want - __shfl_sync(~0u, upto - n, source);
      KeyWords<KW> wanted;
#pragma unroll
      for (int q = 0; q < KW; q++) wanted.word[q] = __shfl_sync(~0u, key.word[q], source);
      Pair pair{0, __shfl_sync(~0u, probe_row, source)};
      bool hit = done + lane_ < all && !(first_only && found >> source & 1) && table_.same(slot, wanted);
      if (hit) pair.build = table_.row(slot);
      if (m_.condition) hit = hit && passes(reinterpret_cast<const gj_program*>(m_.condition), pair);
      __syncwarp();
      found |= __reduce_or_sync(~0u, hit ? 1u << source : 0u);
      if (hit && flags & GJ_MARK_BUILD) mark(reinterpret_cast<uint32_t*>(m_.build_marks), pair.build);
      if (flags & GJ_PAIRS) stage(hit, pair, staged);
      done += 32;
    }
    if (flags & GJ_MARK_PROBE && found >> lane_ & 1) mark(probe_marks, probe_row);
    if (once && n) atomicOr(table_.covered_bits() + first / 32, 1u << (first % 32));
    return fits;
  }

  // Where only marks of build rows are wanted, a key is looked up once: of
  // equal keys one lane does it, and one that has been looked up is not again.
  // Moves `first` to the key's first row, which is what `covered` marks.
  __device__ __forceinline__ uint32_t uncovered(const KeyWords<KW>& key, uint32_t& first, uint32_t n) const {
    uint64_t k = key.word[0];
    if constexpr (KW == 2) k |= (uint64_t)key.word[1] << 32;
    const uint32_t same = __match_any_sync(~0u, n ? k : ~k) & __ballot_sync(~0u, n);
    if (n && lane_ + 1 != __ffs(same)) n = 0;
    while (n && !table_.same(first, key)) first++, n--;
    if (n && *(volatile uint32_t*)(table_.covered_bits() + first / 32) >> (first % 32) & 1) n = 0;
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

  // Writes the first n of the staged pairs; false: the region has no room.
  __device__ __forceinline__ bool flush(uint32_t& staged, uint32_t n) {
    if (n == 0) return true;
    unsigned long long* progress = reinterpret_cast<unsigned long long*>(m_.progress);
    unsigned long long at = 0;
    if (lane_ == 0) {
      at = atomicAdd(&progress[GJ_CLAIMED], (unsigned long long)n);
      // Nothing that is claimed later fits: what is written ends here.
      if (at + n > m_.capacity) atomicMin(&progress[GJ_LIMIT], at);
    }
    at = __shfl_sync(~0u, at, 0);
    if (at + n > m_.capacity) return false;
    for (uint32_t i = lane_; i < n; i += 32) {
      __stcs(reinterpret_cast<uint32_t*>(m_.build) + at + i, build_stage_[i]);
      __stcs(reinterpret_cast<uint32_t*>(m_.probe) + at + i, probe_stage_[i]);
    }
    const uint32_t rest = staged - n;  // below 32, or n is all
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

__device__ __forceinline__ void copy_block(void* to, const void* from, uint32_t bytes) {
  for (uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
}

// resume: 0 begins, 1 goes on from what was saved.
template <int KW, class Table, int T>
__device__ __forceinline__ void find_partners(const gj_match* match, uint64_t resume) {
  constexpr int WARPS = T / 32;
  using Layout = PartnersLayout<Table, WARPS>;
  extern __shared__ uint4 shared[];
  char* memory = reinterpret_cast<char*>(shared);
  BlockState<WARPS>& block = *reinterpret_cast<BlockState<WARPS>*>(memory);
  __shared__ uint32_t sums[32];
  __shared__ gj_match m;
  __shared__ gj_join job;
  for (uint32_t i = threadIdx.x; i < sizeof m / 8; i += T) reinterpret_cast<uint64_t*>(&m)[i] = reinterpret_cast<const uint64_t*>(match)[i];
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < sizeof job / 8; i += T) reinterpret_cast<uint64_t*>(&job)[i] = reinterpret_cast<const uint64_t*>(m.join)[i];
  char* saved = reinterpret_cast<char*>(m.saved) + (uint64_t)blockIdx.x * Layout::bytes;
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  bool begun = false;  // the item in shared memory
  if (resume) {
    copy_block(memory, saved, Layout::stages);
    __syncthreads();
    if (!block.suspended) return;  // its work is done
    copy_block(memory + Layout::stages, saved + Layout::stages, Layout::bytes - Layout::stages);
    begun = true;
  } else if (lane == 0) {
    block.warp[warp] = {no_group, 0, 0, 0};
  }
  Table table(memory + Layout::table);
  Warp<KW, Table, T> self(m, job, block, memory + Layout::stages, table);
  auto end = [&](bool suspended) {
    if (threadIdx.x == 0) {
      block.suspended = suspended;
      if (suspended) atomicAdd(reinterpret_cast<unsigned long long*>(m.progress) + GJ_SUSPENDED, 1);
    }
    __syncthreads();
    copy_block(saved, memory, suspended ? Layout::bytes : Layout::stages);
  };
  while (true) {
    __syncthreads();  // the last item is done with, or what was saved is there
    if (!begun) {
      if (warp == 0) {
        uint64_t ticket = 0;
        if (lane == 0) ticket = atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_TICKET, 1);
        const MatchItem item = item_at(job, __shfl_sync(~0u, ticket, 0));
        if (lane == 0) block.item = item, block.next_group = 0;
      }
      __syncthreads();
      if (block.item.exists && block.item.build_rows && block.item.probe_rows) table.build(job.side[0], block.item.build_at, block.item.build_rows, sums);
      __syncthreads();
    }
    if (!block.item.exists) break;
    begun = false;
    if (!block.item.build_rows) continue;
    if (__syncthreads_or(!self.match())) return end(true);
  }
  end(__syncthreads_or(!self.drain()));
}

}  // namespace gj
