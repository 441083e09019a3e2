// The target of a packed payload's first pass (agent/scatter_packed.cuh) in the buffers
// of one or several devices. A row has the same number in a receiver's lanes as its key
// has in the receiver's row buffer, so that the receiver's second pass adds positions as
// if its own first pass had packed the rows.
//
// Bound: the links, as for whole rows.
#pragma once
#include "agent/scatter_packed.cuh"
#include "layout/send.h"

namespace gj {

// What every row of a partition is looked up in. In shared memory.
template <int FAN>
struct PackedPlaces {
  uint64_t base[GJ_MEMBERS], capacity[GJ_MEMBERS];  // the members' row buffers
  uint64_t lanes[GJ_MEMBERS];                       // the lane that is written, of each member
  uint32_t front[FAN];                              // the number of the partition's first row at its first receiver
  uint32_t more[FAN];                               // further receivers, a bit for each
  uint8_t first[FAN];                               // the first receiver, or nowhere
  uint32_t several;                                 // all bits of `more`
};

constexpr uint8_t nowhere = 0xff;

template <int FAN>
struct SendPackedTarget {
  using Places = PackedPlaces<FAN>;
  const gj_send* send;
  Places* places;
  uint32_t* cursor;
  int shift;
  uint32_t mask;

  // All threads, before a barrier.
  __device__ SendPackedTarget(const gj_join* join, const gj_send* s, Places* to)
      : send(s), places(to), cursor(reinterpret_cast<uint32_t*>(s->cursor)), shift((32 - (int)join->bits_first) & 31), mask((1u << join->bits_first) - 1) {
    const uint32_t t = threadIdx.x;
    if (t == 0) to->several = 0;
    if (t < GJ_MEMBERS) to->base[t] = s->base[t], to->capacity[t] = s->capacity[t];
    __syncthreads();
    if (t > mask) return;
    const uint32_t set = reinterpret_cast<const uint32_t*>(s->to)[t], m = __ffs(set) - 1;
    to->first[t] = set ? (uint8_t)m : nowhere;
    to->front[t] = set ? front(m, t) : 0;
    to->more[t] = set & (set - 1);
    if (set & (set - 1)) atomicOr(&to->several, set & (set - 1));
  }

  // Lanes have only payload.
  __device__ __forceinline__ bool has_key(const PackedLane&) const { return false; }

  template <int KW>
  __device__ __forceinline__ void put_key(uint32_t p, uint32_t row, const Row<KW>& key) const {
    const uint32_t m = places->first[p];
    if (m == nowhere) return;
    store(m, row + places->front[p], key);
    for (uint32_t set = places->more[p]; set; set &= set - 1) {
      const uint32_t other = __ffs(set) - 1;
      store(other, row + front(other, p), key);
    }
  }

  __device__ __forceinline__ void enter_lane(const PackedLane& lane) const {
    if (threadIdx.x < GJ_MEMBERS) places->lanes[threadIdx.x] = send->lanes[threadIdx.x] + places->capacity[threadIdx.x] * lane.to;
  }

  template <int T>
  __device__ __forceinline__ void put_lanes(const PackedLane& lane, const StagedLane& staged) const {
    write_lanes<T>(staged, First{places, lane.width});
    for (uint32_t set = places->several; set; set &= set - 1) write_lanes<T>(staged, Further{this, lane.width, (uint32_t)__ffs(set) - 1});
  }

 private:
  // Where rows' lanes begin at their first receivers.
  struct First {
    static constexpr bool partial = true;
    const Places* places;
    uint32_t width;
    __device__ __forceinline__ uint64_t operator()(uint32_t p, uint32_t row) const {
      const uint32_t m = places->first[p];
      return m == nowhere ? 0 : places->lanes[m] + (uint64_t)(uint32_t)(row + places->front[p]) * width;
    }
  };
  // The same at a further receiver, of some partitions.
  struct Further {
    static constexpr bool partial = true;
    const SendPackedTarget* target;
    uint32_t width, member;
    __device__ __forceinline__ uint64_t operator()(uint32_t p, uint32_t row) const {
      if (!(target->places->more[p] >> member & 1)) return 0;
      return target->places->lanes[member] + (uint64_t)(uint32_t)(row + target->front(member, p)) * width;
    }
  };

  __device__ __forceinline__ uint32_t front(uint32_t member, uint32_t partition) const {
    return __ldg(reinterpret_cast<const uint32_t*>(send->front) + member * (mask + 1) + partition);
  }
  template <int KW>
  __device__ __forceinline__ void store(uint32_t member, uint32_t row, const Row<KW>& key) const {
    Lanes<KW>::store(reinterpret_cast<char*>(places->base[member]), places->capacity[member], row, key, Write());
  }
};

}  // namespace gj
