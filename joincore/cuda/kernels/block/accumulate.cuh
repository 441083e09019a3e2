// Adds values to the cells of groups, in the block's table or in the device's.
#pragma once
#include "block/block_state.cuh"

namespace gj {

// The groups of R rows of each thread.
template <int R, bool WIDE, class Launch>
struct RowGroups {
  uint32_t slot[R];  // of the device's table, or LocalGroups::mark
  uint32_t local;    // rows that have a slot of the block's table

  // Adds the accumulators to a cell.
  __device__ __forceinline__ void update(Instruction i, const Machine<R, WIDE>& m) {
    const BlockState& b = block_state();
    const uint32_t rows = i.flags() & flag_rows ? m.active : m.active & ~m.null, here = rows & local, there = rows & ~local;
    if (Launch::no_keys() && b.local.groups)
      add_to_one(i, m, here);
    else if (here)
      add_to_block(i, m, here);
    if (there) add_to_device(i, m, there);
  }

  // The rows have no slots of the block's table.
  __device__ __forceinline__ void add_to_device(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    const BlockState& b = block_state();
    unsigned long long* first = words_at(b.groups.cells) + i.index();
    const uint32_t stride = (uint32_t)b.groups.stride;
    auto each = [&](auto add) {
#pragma unroll
      for (int j = 0; j < R; j++)
        if (rows >> j & 1) add(first + (uint64_t)slot[j] * stride, j);
    };
    switch (i.sub()) {
      case GJ_COUNT: return each([&](unsigned long long* cell, int) { add_word(cell, 1); });
      case GJ_SEEN: return each([&](unsigned long long* cell, int) { see(cell); });
      case GJ_SUM: return each([&](unsigned long long* cell, int j) { add_narrow(cell, m.lo[j]); });
      case GJ_SUM_WIDE: return each([&](unsigned long long* cell, int j) { add_wide(cell, m.lo[j], m.high(j)); });
      case GJ_MIN: return each([&](unsigned long long* cell, int j) { take_least(cell, m.lo[j]); });
      default: return each([&](unsigned long long* cell, int j) { take_greatest(cell, m.lo[j]); });
    }
  }

  // The rows have cells in the block's table. There are no branches, so that atomic
  // operations of all rows are under way at the same time: the other rows add 0 to
  // cells of the first group.
  __device__ __forceinline__ void add_to_block(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    const LocalGroups& l = block_state().local;
    const uint32_t other = l.mark(0);
    uint32_t at[R];
#pragma unroll
    for (int j = 0; j < R; j++) at[j] = (rows >> j & 1 ? slot[j] : other) & ~local_group;
    uint32_t* cell = l.cell(i.extra(), 0);
    const uint32_t apart = l.words_apart();
    switch (i.sub()) {
      case GJ_COUNT:
#pragma unroll
        for (int j = 0; j < R; j++) atomicAdd(cell + at[j], rows >> j & 1);
        break;
      case GJ_SEEN:
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1) *reinterpret_cast<volatile uint32_t*>(cell + at[j]) = 1;
        break;
      case GJ_SUM: {
        int64_t rest[R];
        bool more = false;
        uint32_t old[R];
#pragma unroll
        for (int j = 0; j < R; j++) old[j] = atomicAdd(cell + at[j], rows >> j & 1 ? (uint32_t)m.lo[j] : 0);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const uint32_t low = rows >> j & 1 ? (uint32_t)m.lo[j] : 0;
          rest[j] = (rows >> j & 1 ? m.lo[j] >> 32 : 0) + (old[j] + low < low);
          more |= rest[j] != 0;
        }
        if (!more) break;
#pragma unroll
        for (int j = 0; j < R; j++) old[j] = atomicAdd(cell + apart + at[j], (uint32_t)rest[j]);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const int32_t top = (int32_t)(rest[j] >> 32) + (old[j] + (uint32_t)rest[j] < (uint32_t)rest[j]);
          if (top) atomicAdd(cell + 2 * apart + at[j], (uint32_t)top);
        }
        break;
      }
      case GJ_SUM_WIDE:
        if constexpr (WIDE)
#pragma unroll
          for (int j = 0; j < R; j++)
            if (rows >> j & 1) add_local<5>(cell + at[j], apart, wide_of(m.lo[j], m.high(j)));
        break;
      default: {
        const bool least = i.sub() == GJ_MIN;
        uint32_t better = 0;
        const volatile long long* extreme = l.wide_cell(i.extra(), 0);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const int64_t there = extreme[at[j]];
          better |= (uint32_t)(least ? m.lo[j] < there : m.lo[j] > there) << j;
        }
        better &= rows;
        if (!better) break;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (better >> j & 1) replace_extreme(l.wide_cell(i.extra(), at[j]), m.lo[j], least);
      }
    }
  }

  // All rows are of one group: a thread adds its rows up first.
  __device__ __forceinline__ void add_to_one(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    if (!rows) return;
    const LocalGroups& l = block_state().local;
    const uint32_t at = l.mark(0) & ~local_group;
    uint32_t* cell = l.cell(i.extra(), at);
    switch (i.sub()) {
      case GJ_COUNT: atomicAdd(cell, (uint32_t)__popc(rows)); break;
      case GJ_SEEN: *reinterpret_cast<volatile uint32_t*>(cell) = 1; break;
      case GJ_SUM: {
        Wide sum = 0;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1) sum += m.lo[j];
        add_local<3>(cell, l.words_apart(), sum);
        break;
      }
      case GJ_SUM_WIDE:
        if constexpr (WIDE)
#pragma unroll
          for (int j = 0; j < R; j++)
            if (rows >> j & 1) add_local<5>(cell, l.words_apart(), wide_of(m.lo[j], m.high(j)));
        break;
      default: {
        const bool least = i.sub() == GJ_MIN;
        int64_t v = least ? INT64_MAX : INT64_MIN;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1 && (least ? m.lo[j] < v : m.lo[j] > v)) v = m.lo[j];
        take_extreme(l.wide_cell(i.extra(), at), v, least);
      }
    }
  }
};

}  // namespace gj
