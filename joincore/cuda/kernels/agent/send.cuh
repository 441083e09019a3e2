// A first pass that stores its rows straight into the memory of the devices that join
// them, its own among them (MG-Join, with stores in place of packets). The receivers'
// histograms give each sender the exact rows that it may write, so that no device waits
// for another one, and the second pass reads a buffer like that of a single device.
//
// Bound: the links. A run of 128 bytes or more uses them fully.
#pragma once
#include "agent/destination.cuh"
#include "agent/scatter.cuh"
#include "layout/send.h"

namespace gj {

// Source: rows of an input's columns. Row ids count from the first row of all devices.
template <int KW, class P>
struct SentSource : ColumnSource<KW, P> {
  const uint32_t first;
  __device__ SentSource(const gj_side* side, const gj_send* send) : ColumnSource<KW, P>(side), first((uint32_t)send->first_row) {}
  __device__ __forceinline__ void load(uint64_t row, Row<KW + P::words>& r) const {
    ColumnSource<KW, P>::load(row, r);
    if constexpr (P::kind == PayloadKind::row_id) r.word[KW] += first;
  }
};

// What every row of a partition is looked up in: where the first receiver's row number 0
// would be, by lane of a row. In shared memory.
template <int W, int FAN>
struct SendPlaces {
  char* lane[LaneList<W>::count][FAN];
  uint32_t full[FAN];  // 0 if there is no receiver
  uint32_t more[FAN];  // further receivers, a bit for each
};

// A target (agent/scatter.cuh) in the buffers of one or several devices.
template <int W, int FAN>
struct SendTarget {
  const gj_send* send;
  const SendPlaces<W, FAN>* places;
  uint32_t *cursor, *tail;
  int shift;
  uint32_t mask;

  // All threads, before a barrier.
  __device__ SendTarget(const gj_join* join, const gj_send* s, SendPlaces<W, FAN>* to)
      : send(s),
        places(to),
        cursor(reinterpret_cast<uint32_t*>(s->cursor)),
        tail(reinterpret_cast<uint32_t*>(s->tail)),
        shift((32 - (int)join->bits_first) & 31),
        mask((1u << join->bits_first) - 1) {
    using List = LaneList<W>;
    const uint32_t p = threadIdx.x;
    if (p > mask) return;
    const uint32_t set = receivers(p);
    to->full[p] = set ? whole(p) : 0, to->more[p] = set & (set - 1);
    if (!set) return;
    const uint32_t m = __ffs(set) - 1;
    const uint64_t front = reinterpret_cast<const uint32_t*>(s->front)[m * (mask + 1) + p];
#pragma unroll
    for (int l = 0; l < List::count; l++)
      to->lane[l][p] = reinterpret_cast<char*>(s->base[m] + s->capacity[m] * List::before(l) + front * List::bytes(l));
  }

  __device__ __forceinline__ void enter(uint32_t) const {}

  template <int V>
  __device__ __forceinline__ void put(uint32_t partition, uint32_t row, const Row<V>& r) const {
    static_assert(V == W, "the places are those of the row's lanes");
    using L = Lanes<W>;
    if (row >= places->full[partition]) return put_each(receivers(partition), row < whole(partition) ? send->front : send->rest, partition, row, r);
    const Write write;
    if constexpr (L::n4) write(reinterpret_cast<uint32_t*>(places->lane[0][partition]) + row, r.word[0]);
    if constexpr (L::n8) write(reinterpret_cast<uint2*>(places->lane[L::n4][partition]) + row, make_uint2(r.word[L::word8], r.word[L::word8 + 1]));
#pragma unroll
    for (int l = 0; l < L::n16; l++) {
      constexpr int w = L::word16;
      write(reinterpret_cast<uint4*>(places->lane[L::n4 + L::n8 + l][partition]) + row,
            make_uint4(r.word[w + 4 * l], r.word[w + 4 * l + 1], r.word[w + 4 * l + 2], r.word[w + 4 * l + 3]));
    }
    if (places->more[partition]) put_each(places->more[partition], send->front, partition, row, r);
  }

 private:
  __device__ __forceinline__ uint32_t receivers(uint32_t p) const { return __ldg(reinterpret_cast<const uint32_t*>(send->to) + p); }
  __device__ __forceinline__ uint32_t whole(uint32_t p) const { return __ldg(reinterpret_cast<const uint32_t*>(send->full) + p); }

  // Writes a row to each of a set of receivers; before is what their row numbers have more.
  __device__ __forceinline__ void put_each(uint32_t set, uint64_t before, uint32_t partition, uint32_t row, const Row<W>& r) const {
    for (; set; set &= set - 1) {
      const uint32_t m = __ffs(set) - 1, add = __ldg(reinterpret_cast<const uint32_t*>(before) + m * (mask + 1) + partition);
      Lanes<W>::store(reinterpret_cast<char*>(send->base[m]), send->capacity[m], (uint32_t)(row + add), r, Write());
    }
  }
};

// Sums a histogram over the partitions of each parent. A warp takes a parent.
template <int T>
__device__ __forceinline__ void fold_counts(const uint32_t* count, uint32_t bits_first, uint32_t bits_second, uint32_t* parent) {
  const uint32_t parents = 1u << bits_first, fan = 1u << bits_second;
  for (uint32_t p = (blockIdx.x * T + threadIdx.x) / 32; p < parents; p += gridDim.x * (T / 32)) {
    uint32_t rows = 0;
    for (uint32_t c = threadIdx.x & 31; c < fan; c += 32) rows += __ldcg(count + (uint64_t)p * fan + c);
    for (int d = 16; d; d /= 2) rows += __shfl_xor_sync(~0u, rows, d);
    if ((threadIdx.x & 31) == 0) parent[p] = rows;
  }
}

// Adds up the senders' histograms of the rows that this device gets: from[parent] has a
// bit for each member that sends rows of the parent. counts are the addresses of the
// members' histograms, in any device's memory.
template <int T>
__device__ __forceinline__ void merge_counts(const uint64_t* counts, const uint32_t* from, uint32_t bits_first, uint32_t bits_second, uint32_t* merged) {
  const uint32_t partitions = 1u << (bits_first + bits_second);
  for (uint32_t i = blockIdx.x * T + threadIdx.x; i < partitions; i += gridDim.x * T) {
    uint32_t rows = 0;
    for (uint32_t s = from[i >> bits_second]; s; s &= s - 1) rows += reinterpret_cast<const uint32_t*>(counts[__ffs(s) - 1])[i];
    merged[i] = rows;
  }
}

}  // namespace gj
