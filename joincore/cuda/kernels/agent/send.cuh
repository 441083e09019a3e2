// A first pass that stores its rows straight into the memory of the devices that join
// them, its own among them (MG-Join, with stores in place of packets). The receivers'
// histograms give each sender the exact rows that it may write, so that no device waits
// for another one, and the second pass reads a buffer like that of a single device.
//
// Bound: the links. A run of 128 bytes or more uses them fully.
#pragma once
#include "agent/offsets.cuh"
#include "agent/scatter.cuh"
#include "layout/send.h"

namespace gj {

// The tables of a gj_send that every row is looked up in. In shared memory.
template <int FAN>
struct SendPlaces {
  uint64_t base[GJ_MEMBERS], capacity[GJ_MEMBERS];
  uint32_t to[FAN], full[FAN], front[GJ_MEMBERS][FAN];
};

// A target (agent/scatter.cuh) in the buffers of one or several devices.
template <int FAN>
struct SendTarget {
  const gj_send* send;
  SendPlaces<FAN>* places;
  uint32_t *cursor, *tail;
  int shift;
  uint32_t mask;

  __device__ SendTarget(const gj_join* join, const gj_send* s, SendPlaces<FAN>* p)
      : send(s),
        places(p),
        cursor(reinterpret_cast<uint32_t*>(s->cursor)),
        tail(reinterpret_cast<uint32_t*>(s->tail)),
        shift((32 - (int)join->bits_first) & 31),
        mask((1u << join->bits_first) - 1) {}

  __device__ __forceinline__ void enter(uint32_t) const {
    const uint32_t p = threadIdx.x, members = (uint32_t)send->members;
    places->to[p] = reinterpret_cast<const uint32_t*>(send->to)[p];
    places->full[p] = reinterpret_cast<const uint32_t*>(send->full)[p];
    for (uint32_t m = 0; m < members; m++) places->front[m][p] = reinterpret_cast<const uint32_t*>(send->front)[m * (mask + 1) + p];
    for (uint32_t m = p; m < members; m += mask + 1) places->base[m] = send->base[m], places->capacity[m] = send->capacity[m];
  }

  template <int W>
  __device__ __forceinline__ void put(uint32_t partition, uint32_t row, const Row<W>& r) const {
    const bool front = row < places->full[partition];
    for (uint32_t to = places->to[partition]; to; to &= to - 1) {
      const uint32_t m = __ffs(to) - 1;
      const uint32_t before = front ? places->front[m][partition] : __ldg(reinterpret_cast<const uint32_t*>(send->rest) + m * (mask + 1) + partition);
      Lanes<W>::store(reinterpret_cast<char*>(places->base[m]), places->capacity[m], (uint32_t)(row + before), r, Write());
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
