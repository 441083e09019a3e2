// Finds the partners of probe rows: every kind of join, any number of partners.
//
// A work item is a chunk of a partition's build rows and a range of its probe
// rows. A larger partition has several items, so a hot key on either side is
// spread over the device. Persistent blocks draw items and build a table of each
// chunk, or use one table for all. Their warps match as block/candidates.cuh says.
//
// The size of the result is not known beforehand: warps claim space for pairs from
// an output region. When a claim does not fit, the block saves its shared memory,
// which is all of its state, and a later launch with an empty region resumes it.
//
// Bound: reads each partitioned row once, writes each pair once.
#pragma once
#include "block/candidates.cuh"

namespace gj {

// Dynamic shared memory.
template <class Table, int WARPS>
struct PartnersLayout {
  static constexpr int stages = (sizeof(BlockState<WARPS>) + 15) / 16 * 16, table = stages + WARPS * stage_rows * 8, bytes = table + Table::bytes;
};

__device__ __forceinline__ void copy_block(void* to, const void* from, uint32_t bytes) {
  for (uint32_t i = threadIdx.x; i < bytes / 16; i += blockDim.x) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
}

// resume: 0 starts, 1 continues from the saved state. CONDITION: pairs must fulfil that
// of the match, which has one.
template <int KW, class Table, int T, bool CONDITION>
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
  bool begun = false;  // shared memory holds the state of an item
  if (resume) {
    copy_block(memory, saved, Layout::stages);
    __syncthreads();
    if (!block.suspended) return;  // the block finished in an earlier launch
    copy_block(memory + Layout::stages, saved + Layout::stages, Layout::bytes - Layout::stages);
    begun = true;
  } else if (lane == 0) {
    block.warp[warp] = {no_group, 0, 0, 0};
  }
  Table table(memory + Layout::table, m);
  Warp<KW, Table, T, CONDITION> self(m, job, block, memory + Layout::stages, table);
  auto end = [&](bool suspended) {
    if (threadIdx.x == 0) {
      block.suspended = suspended;
      if (suspended) atomicAdd(reinterpret_cast<unsigned long long*>(m.progress) + GJ_SUSPENDED, 1);
    }
    __syncthreads();
    copy_block(saved, memory, suspended ? Layout::bytes : Layout::stages);
  };
  while (true) {
    __syncthreads();  // the previous item is finished, or the saved state is restored
    if (!begun) {
      if (warp == 0) {
        uint64_t ticket = 0;
        if (lane == 0) ticket = atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_TICKET, 1);
        const MatchItem item = item_at(job, __shfl_sync(~0u, ticket, 0), m.flags & GJ_FIRST);
        if (lane == 0) {
          block.item = item, block.next_group = 0, block.unfinished = 0;
          if (!item.probe_rows || is_finished(m, item)) block.item.build_rows = 0;
        }
      }
      __syncthreads();
      if constexpr (Table::per_item) {
        if (block.item.build_rows) table.build(job.side[0], block.item.build_at, block.item.build_rows, sums);
        __syncthreads();
      }
    }
    if (!block.item.exists) break;
    begun = false;
    if (!block.item.build_rows) continue;
    if (__syncthreads_or(!self.match())) return end(true);
    if (m.finished && block.item.shared) {
      if (!(m.flags & GJ_FIRST)) self.check_build_marks();
      __syncthreads();
      if (threadIdx.x == 0 && !block.unfinished) mark(reinterpret_cast<uint32_t*>(m.finished), finished_row(m, block.item));
    }
  }
  end(__syncthreads_or(!self.drain()));
}

}  // namespace gj
