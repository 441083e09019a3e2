// Empties a block's table, and adds it to that of the device.
#pragma once
#include "block/block_state.cuh"

namespace gj {

// Empties the block's table.
__device__ __forceinline__ void clear_local() {
  BlockState& b = block_state();
  LocalGroups& l = b.local;
  if (b.job.mode == GJ_SCATTER)  // the rows of partitions are counted in place of a table
    for (uint32_t i = threadIdx.x; i < b.job.partitions; i += blockDim.x) shared_at<uint32_t>((uint32_t)b.job.local_at)[i] = 0;
  if (b.job.mode == GJ_SCATTER || !l.groups) return;
  if (threadIdx.x == 0) l.taken = groups_without_key;
  const uint32_t words = (uint32_t)b.groups.words, apart = l.words_apart(), T = blockDim.x;
  for (uint32_t i = threadIdx.x; i < l.capacity * words; i += T) l.key(0, 1)[i] = GJ_NO_KEY;
  for (uint32_t i = threadIdx.x; i < (uint32_t)b.job.local_words * apart; i += T) *l.cell(0, i) = 0;
  for (uint32_t i = threadIdx.x; i < l.groups; i += T) *l.global_slot(i) = no_group;
  for (uint32_t i = threadIdx.x; i < l.capacity; i += T) *l.number(i) = cells_unknown;
  if (words > 1)
    for (uint32_t i = threadIdx.x; i < l.capacity; i += T) *l.tag(i) = GJ_FREE;
  for (uint32_t c = 0; c < b.groups.cell_count; c++) {
    const gj_cell cell = reinterpret_cast<const gj_cell*>(b.groups.kinds)[c];
    if (!is_wide_cell((uint32_t)cell.kind)) continue;
    for (uint32_t i = threadIdx.x; i < apart; i += T) *l.wide_cell((uint32_t)cell.local, i) = cell.kind == GJ_MIN ? INT64_MAX : INT64_MIN;
  }
}

// Adds a cell of a slot of the block's table, all copies of it, to one of the device's.
__device__ __forceinline__ void flush_cell(const gj_cell& cell, unsigned long long* to, uint32_t s) {
  const LocalGroups& l = block_state().local;
  const uint32_t kind = (uint32_t)cell.kind, apart = l.words_apart();
  if (is_wide_cell(kind)) {
    for (uint32_t c = 0; c < l.copies; c++) {
      const int64_t v = *l.wide_cell((uint32_t)cell.local, s * l.copies + c);
      if (kind == GJ_MIN)
        take_least(to, v);
      else
        take_greatest(to, v);
    }
    return;
  }
  const uint32_t* from = l.cell((uint32_t)cell.local, s * l.copies);
  switch (kind) {
    case GJ_COUNT:
    case GJ_SEEN: {
      unsigned long long sum = 0;
      for (uint32_t c = 0; c < l.copies; c++) sum += from[c];
      if (sum && kind == GJ_COUNT) add_word(to, sum);
      if (sum && kind == GJ_SEEN) see(to);
      break;
    }
    case GJ_SUM: {
      int64_t digit[3];
      sum_copies<3>(from, apart, l.copies, digit);
      add_to_words<2>(to, (Wide)digit[0] + ((Wide)digit[1] << 32) + (Wide)((UnsignedWide)(Wide)digit[2] << 64));
      break;
    }
    default: {
      int64_t digit[5], carry = 0;
      sum_copies<5>(from, apart, l.copies, digit);
      for (int w = 0; w < 4; w++) {
        int64_t v = digit[w] + carry;
        if (w < 3) {
          const int64_t low = (int32_t)(uint32_t)v;
          carry = (v - low) >> 32;
          v = low;
        } else {
          v += (int64_t)((uint64_t)digit[4] << 32);
        }
        if (v) add_word(to + w, (unsigned long long)v);
      }
    }
  }
}

// Adds the block's table to that of the device.
__device__ __forceinline__ void flush_local() {
  const BlockState& b = block_state();
  const LocalGroups& l = b.local;
  if (b.job.mode == GJ_SCATTER || !l.groups) return;
  const uint32_t count = (uint32_t)b.groups.cell_count;
  for (uint32_t i = threadIdx.x; i < l.groups * count; i += blockDim.x) {
    const uint32_t s = i / count, g = *l.global_slot(s);
    if (g == no_group) continue;
    const gj_cell cell = reinterpret_cast<const gj_cell*>(b.groups.kinds)[i % count];
    flush_cell(cell, cells_of(&b.groups, g) + cell.at, s);
  }
}

}  // namespace gj
