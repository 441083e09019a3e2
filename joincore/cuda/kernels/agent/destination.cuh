// Writes partitions to any address: one buffer, packets, or another device's
// memory. A table gives, for each partition and lane of a row (layout/row.cuh),
// the address of the first row and the capacity in rows.
//
// Rows are still numbered through all partitions, as agent/offsets.cuh numbers
// them; the table maps the first row of partition p to its address. The histogram
// shows before a pass whether every partition fits: a pass never overruns its
// destinations, and writes nothing when one of them is too small.
#pragma once
#include "agent/offsets.cuh"
#include "agent/scatter.cuh"
#include "layout/general.h"

namespace gj {

// The lanes of a row of W words, in order, and the bytes of a row in each.
template <int W>
struct LaneList {
  using L = Lanes<W>;
  static constexpr int count = L::n4 + L::n8 + L::n16;
  __host__ __device__ static constexpr int bytes(int lane) { return L::n4 && lane == 0 ? 4 : L::n8 && lane == L::n4 ? 8 : 16; }
  // The bytes of a row in the lanes before this one.
  __host__ __device__ static constexpr int before(int lane) { return lane ? before(lane - 1) + bytes(lane - 1) : 0; }
};

// The address that row number 0 would have in each partition of a tile's parent,
// by lane. In shared memory.
template <int W, int FAN>
struct Places {
  char* lane[LaneList<W>::count][FAN];
};

// A target (agent/scatter.cuh) that writes by a table: by partition, then lane.
template <int W, int FAN>
struct TableTarget {
  const gj_destination* table;
  const uint32_t* start;  // the first row's number, by partition
  Places<W, FAN>* places;
  uint32_t *cursor, *tail;
  int shift;
  uint32_t mask;

  __device__ __forceinline__ void enter(uint32_t first) const {
    using List = LaneList<W>;
    const uint32_t p = first + threadIdx.x;
#pragma unroll
    for (int l = 0; l < List::count; l++)
      places->lane[l][threadIdx.x] = reinterpret_cast<char*>(table[(uint64_t)p * List::count + l].at - (uint64_t)start[p] * List::bytes(l));
  }

  template <int V>
  __device__ __forceinline__ void put(uint32_t partition, uint32_t row, const Row<V>& r) const {
    static_assert(V == W, "the places are those of the row's lanes");
    using L = Lanes<W>;
    const Write write;
    if constexpr (L::n4) write(reinterpret_cast<uint32_t*>(places->lane[0][partition]) + row, r.word[0]);
    if constexpr (L::n8) write(reinterpret_cast<uint2*>(places->lane[L::n4][partition]) + row, make_uint2(r.word[L::word8], r.word[L::word8 + 1]));
#pragma unroll
    for (int l = 0; l < L::n16; l++) {
      constexpr int w = L::word16;
      write(reinterpret_cast<uint4*>(places->lane[L::n4 + L::n8 + l][partition]) + row,
            make_uint4(r.word[w + 4 * l], r.word[w + 4 * l + 1], r.word[w + 4 * l + 2], r.word[w + 4 * l + 3]));
    }
  }
};

// With two passes the first writes to parents; the last pass writes to partitions.
template <int W, int FAN>
__device__ __forceinline__ TableTarget<W, FAN> first_table(const gj_join* join, const gj_side* s, const gj_destination* table, Places<W, FAN>* places) {
  const Target t = first_target(join, s);
  const uint64_t start = join->bits_second ? s->parent_start : s->start;
  return {table, reinterpret_cast<const uint32_t*>(start), places, t.cursor, t.tail, t.shift, t.mask};
}
template <int W, int FAN>
__device__ __forceinline__ TableTarget<W, FAN> second_table(const gj_join* join, const gj_side* s, const gj_destination* table, Places<W, FAN>* places) {
  const Target t = second_target(join, s);
  return {table, reinterpret_cast<const uint32_t*>(s->start), places, t.cursor, t.tail, t.shift, t.mask};
}

// Fills the table for partitions that lie in one row buffer, by row number.
template <int W>
__device__ __forceinline__ void buffer_destinations(uint64_t buffer, uint64_t capacity, const uint32_t* start, const uint32_t* count, uint32_t partitions,
                                                    gj_destination* table) {
  using List = LaneList<W>;
  for (uint32_t p = blockIdx.x * blockDim.x + threadIdx.x; p < partitions; p += gridDim.x * blockDim.x)
#pragma unroll
    for (int l = 0; l < List::count; l++)
      table[(uint64_t)p * List::count + l] = {buffer + capacity * List::before(l) + (uint64_t)start[p] * List::bytes(l), count[p]};
}

// The tables for a side's own buffers: of parents if there are two passes, and of
// partitions unless the caller supplies their destinations (partitions = 0).
template <int W>
__device__ __forceinline__ void own_destinations(const gj_join* join, const gj_side* s, gj_destination* parents, gj_destination* partitions) {
  if (join->bits_second)
    buffer_destinations<W>(s->first, s->first_capacity, reinterpret_cast<const uint32_t*>(s->parent_start),
                           reinterpret_cast<const uint32_t*>(s->parent_count), 1u << join->bits_first, parents);
  if (partitions)
    buffer_destinations<W>(s->final, s->final_capacity, reinterpret_cast<const uint32_t*>(s->start), reinterpret_cast<const uint32_t*>(s->count),
                           1u << (join->bits_first + join->bits_second), partitions);
}

// Sets *lacking to partition << 32 | missing rows of the first partition that does
// not fit one of its destinations. *lacking is all ones before, and stays so if
// all fit.
__device__ __forceinline__ void find_lacking(const gj_join* join, const gj_side* s, const gj_destination* table, uint32_t lanes, uint64_t* lacking) {
  const uint32_t* count = reinterpret_cast<const uint32_t*>(s->count);
  const uint32_t partitions = 1u << (join->bits_first + join->bits_second);
  for (uint32_t p = blockIdx.x * blockDim.x + threadIdx.x; p < partitions; p += gridDim.x * blockDim.x) {
    uint64_t capacity = count[p];
    for (uint32_t l = 0; l < lanes; l++) capacity = min(capacity, table[(uint64_t)p * lanes + l].rows);
    if (capacity < count[p]) atomicMin(reinterpret_cast<unsigned long long*>(lacking), (unsigned long long)((uint64_t)p << 32 | (count[p] - capacity)));
  }
}

constexpr uint64_t nothing_lacks = ~0ull;

}  // namespace gj
