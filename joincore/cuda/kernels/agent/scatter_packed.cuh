// The first partition pass of a side whose payload is packed into lanes; not stable.
//
// A block ranks the keys of a tile within their partitions and reserves space for
// each partition's run, as agent/scatter.cuh does for whole rows. It then moves one
// lane at a time: the lane's values are read column by column, put together in shared
// memory in the order of partitions, and written in runs. So the work of a pass grows
// by the same amount with each column, however many there are.
//
// If a second pass follows, keys are written alone, and that pass adds each row's
// position (PlaceSource); otherwise keys are written with their positions.
//
// Bound: reads and writes each value once.
#pragma once
#include "agent/scatter.cuh"
#include "block/hash.cuh"
#include "block/rank.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

// Dynamic shared memory: the tile's lanes ordered by partition, where each goes, and
// the slot of each row of the tile, which registers could not hold.
template <int N>
struct PackedLayout {
  static constexpr int row_of = N * GJ_LANE_BYTES, slot_of = row_of + N * 4, bytes = slot_of + N * 2;
};

// KW key words; T threads; IPT rows per thread; at most FAN partitions.
template <int KW, int T, int IPT, int FAN>
__device__ __forceinline__ void scatter_packed(const gj_join* join, const gj_side* side) {
  constexpr int N = T * IPT;
  static_assert(T >= FAN && N <= 1 << 16 && N % 2 == 0);
  extern __shared__ uint4 shared[];
  char* const stage = reinterpret_cast<char*>(shared);
  uint32_t* const row_of = reinterpret_cast<uint32_t*>(stage + PackedLayout<N>::row_of);
  uint16_t* const slot_of = reinterpret_cast<uint16_t*>(stage + PackedLayout<N>::slot_of);
  __shared__ uint32_t count[FAN], offset[FAN], target_of[FAN], sums[32];
  __shared__ uint32_t hot_next;

  const Target target = first_target(join, side);
  const bool alone = join->bits_second != 0;
  const ColumnSource<KW, Payload<PayloadKind::column, 0>> source(side);
  const uint32_t rows = (uint32_t)side->rows;
  const gj_field* const from = reinterpret_cast<const gj_field*>(side->packed);
  const gj_field* const to = reinterpret_cast<const gj_field*>(side->fields);
  const uint32_t values = (uint32_t)side->field_count;
  if (threadIdx.x < FAN) count[threadIdx.x] = 0;
  if (threadIdx.x == 0) hot_next = ~0u;
  __syncthreads();

  for (uint64_t first = (uint64_t)blockIdx.x * N; first < rows; first += (uint64_t)gridDim.x * N) {
    const uint32_t n = min((uint64_t)N, rows - first), hot = hot_next;
    Row<KW> key[IPT];
    uint32_t slot[IPT];  // first partition and rank, later the slot in the tile
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      clear(key[j]);
      if (threadIdx.x + j * T < n) source.load(first + threadIdx.x + j * T, key[j]);
    }
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const bool valid = threadIdx.x + j * T < n;
      const uint32_t p = hash_words(key[j].word).part >> target.shift & target.mask;
      slot[j] = p << 16 | rank_in_partition(count, hot, p, valid);
    }
    __syncthreads();
    uint32_t mine = 0, claimed = 0, total;
    if (threadIdx.x <= target.mask) {
      mine = count[threadIdx.x];
      count[threadIdx.x] = 0;
      if (mine) claimed = atomicAdd(&target.cursor[threadIdx.x], mine);
    }
    if (threadIdx.x == 0) hot_next = ~0u;
    const uint32_t begin = block_exclusive<T>(mine, sums, total);
    if (threadIdx.x <= target.mask) {
      offset[threadIdx.x] = begin;
      target_of[threadIdx.x] = claimed - begin;
      if (mine > N / 8) atomicExch(&hot_next, threadIdx.x);  // any of several will do
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t p = slot[j] >> 16;
      slot[j] = offset[p] + (slot[j] & 0xffff);
      if (threadIdx.x + j * T < n) {
        row_of[slot[j]] = target_of[p] + slot[j];
        slot_of[threadIdx.x + j * T] = (uint16_t)slot[j];
        Lanes<KW>::store(stage, N, slot[j], key[j], Shared());
      }
    }
    __syncthreads();
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < n; i += T) {
      Row<KW> k;
      Lanes<KW>::load(stage, N, i, k, Shared());
      const uint32_t row = row_of[i];
      if (alone) {
        Lanes<KW>::store(target.rows, target.capacity, row, k, Write());
      } else {
        Row<KW + 1> placed;
#pragma unroll
        for (int q = 0; q < KW; q++) placed.word[q] = k.word[q];
        placed.word[KW] = row;
        Lanes<KW + 1>::store(target.rows, target.capacity, row, placed, Write());
      }
    }
#pragma unroll 1
    for (uint32_t v = 0; v < values;) {
      const uint64_t lanes = to[v].from & ~(uint64_t)(GJ_LANE_BYTES - 1), width = to[v].from_stride;
      __syncthreads();  // what was staged before is written
#pragma unroll 1
      for (; v < values && (to[v].from & ~(uint64_t)(GJ_LANE_BYTES - 1)) == lanes; v++) {
        char* const at = stage + from[v].to;
        auto move = [&](auto type) {
          using V = decltype(type);
          const V* column = reinterpret_cast<const V*>(from[v].from) + first + threadIdx.x;
          constexpr int U = sizeof(V) > 4 ? 4 : IPT;  // values in flight
          static_assert(IPT % U == 0);
#pragma unroll
          for (int some = 0; some < IPT; some += U) {
            V value[U];
#pragma unroll
            for (int j = 0; j < U; j++)
              if (threadIdx.x + (some + j) * T < n) value[j] = __ldcs(column + (some + j) * T);
#pragma unroll
            for (int j = 0; j < U; j++)
              if (threadIdx.x + (some + j) * T < n) *reinterpret_cast<V*>(at + slot_of[threadIdx.x + (some + j) * T] * width) = value[j];
          }
        };
        switch (from[v].bytes) {
          case 1: move(uint8_t()); break;
          case 2: move(uint16_t()); break;
          case 4: move(uint32_t()); break;
          case 8: move(uint2()); break;
          default: move(uint4());
        }
      }
      __syncthreads();
      auto write = [&](auto type) {
        using V = decltype(type);
#pragma unroll 2
        for (uint32_t i = threadIdx.x; i < n; i += T) Write()(reinterpret_cast<V*>(lanes) + row_of[i], reinterpret_cast<const V*>(stage)[i]);
      };
      if (width == 16)
        write(uint4());
      else if (width == 8)
        write(uint2());
      else
        write(uint32_t());
    }
  }
}

}  // namespace gj
