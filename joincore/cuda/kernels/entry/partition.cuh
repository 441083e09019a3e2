// Keys with row ids, as input of the partition kernels.
#pragma once
#include "agent/offsets.cuh"
#include "agent/scatter.cuh"
#include "layout/general.h"

namespace gj {

// The first pass reads keys and the selected row numbers, or counts them itself. A
// row id is the row's number plus its device's origin.
template <int KW>
struct KeyedRows {
  static constexpr bool selective = false;  // every row is moved
  static constexpr int together = 1;
  const gj_side* side;
  const char* key;
  const uint32_t* chosen;
  uint32_t origin;
  __device__ explicit KeyedRows(const gj_side* s)
      : side(s), key(reinterpret_cast<const char*>(s->key)), chosen(reinterpret_cast<const uint32_t*>(s->column[0])), origin((uint32_t)s->column[1]) {}
  __device__ __forceinline__ void load(uint64_t i, Row<KW + 1>& r) const {
    if constexpr (KW == 1) {
      r.word[0] = __ldcs(reinterpret_cast<const uint32_t*>(key) + i);
    } else {
      const uint2 k = __ldcs(reinterpret_cast<const uint2*>(key) + i);
      r.word[0] = k.x, r.word[1] = k.y;
    }
    r.word[KW] = origin + (chosen ? __ldcs(chosen + i) : (uint32_t)i);
  }
  __device__ __forceinline__ uint32_t parents() const { return 1; }
  __device__ __forceinline__ uint32_t start(uint32_t) const { return 0; }
  __device__ __forceinline__ uint32_t rows(uint32_t) const { return (uint32_t)side->rows; }
};

// Writes the descriptor that the partition kernels read, because row counts are
// known only on the device. Without radix bits the rows already form one
// partition. One warp.
__device__ __forceinline__ void arrange(const gj_partition* p, gj_join* join) {
  for (uint32_t i = threadIdx.x; i < sizeof *join / 8; i += 32) reinterpret_cast<uint64_t*>(join)[i] = 0;
  __syncwarp();
  if (threadIdx.x == 0) {
    join->bits_first = p->bits_first, join->bits_second = p->bits_second;
    join->chunk_rows = p->chunk_rows, join->range_rows = p->range_rows;
    join->extra = p->extra, join->counters = p->counters;
  }
  if (threadIdx.x > 1) return;
  const gj_keyed& from = p->side[threadIdx.x];
  gj_side& to = join->side[threadIdx.x];
  to.rows = from.count ? *reinterpret_cast<const uint64_t*>(from.count) : 0;
  to.key = from.key, to.column[0] = from.chosen, to.column[1] = from.origin;
  to.first = from.first, to.first_capacity = from.first_capacity;
  to.final = from.final, to.final_capacity = from.final_capacity;
  to.count = from.counts, to.start = from.start, to.cursor = from.cursor, to.tail = from.tail;
  to.parent_count = from.parent_count, to.parent_start = from.parent_start;
  to.parent_cursor = from.parent_cursor, to.parent_tail = from.parent_tail;
  if (from.count && p->bits_first == 0) *reinterpret_cast<uint32_t*>(from.counts) = (uint32_t)to.rows;
}

}  // namespace gj
