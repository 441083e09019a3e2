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
// A target says where keys and lanes are written: in buffers of this device
// (PackedTarget) or of several (agent/send_packed.cuh).
//
// Bound: reads and writes each value once.
#pragma once
#include <type_traits>

#include "agent/scatter.cuh"
#include "block/hash.cuh"
#include "block/rank.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

// Dynamic shared memory: the tile's lanes ordered by partition, where each goes, the
// slot of each row of the tile, which registers could not hold, and NOTED bytes a slot
// for the target. A tile has as many rows as fit, at most N. A staged lane has an odd number of words, so that the values
// of a column, which go to slots all over the tile, spread over all banks.
template <int N, int BYTES, int NOTED>
struct PackedLayout {
  static constexpr uint32_t bytes = BYTES;
  __device__ static __forceinline__ uint32_t words(uint32_t lane_bytes) { return lane_bytes / 4 | 1; }
  // Large tiles are whole rounds of reads (stage_columns).
  __device__ static __forceinline__ uint32_t rows(uint32_t lane_bytes) {
    const uint32_t most = min((uint32_t)N, bytes / (4 * words(lane_bytes) + 6 + NOTED));
    return most > N / 2 ? most / (N / 8) * (N / 8) : most / 32 * 32;
  }
};

template <int N>
using Number = std::integral_constant<int, N>;

// Puts C columns of values V of the tile's n rows into the stage, whose lanes have
// `words` words.
template <int T, int IPT, int C, class V>
__device__ __forceinline__ void stage_columns(const gj_packed* from, uint64_t first, uint32_t n, const uint16_t* slot_of, char* stage, uint32_t words) {
  constexpr int words_of = sizeof(V) > 4 ? sizeof(V) / 4 : 1, in_flight = 16 / (C * words_of), U = in_flight < IPT ? in_flight : IPT;  // rows
  static_assert(IPT % U == 0);
  const V* column[C];
  uint32_t at[C];
#pragma unroll
  for (int c = 0; c < C; c++) column[c] = reinterpret_cast<const V*>(from[c].from) + first, at[c] = (uint32_t)from[c].offset;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < n; i += U * T) {
    V value[C][U];
#pragma unroll
    for (int c = 0; c < C; c++)
#pragma unroll
      for (int j = 0; j < U; j++)
        if (i + j * T < n) value[c][j] = __ldcs(column[c] + i + j * T);
#pragma unroll
    for (int j = 0; j < U; j++) {
      if (i + j * T >= n) break;
      char* const row = stage + slot_of[i + j * T] * words * 4;
#pragma unroll
      for (int c = 0; c < C; c++) {
        // An odd number of words leaves wide values at any multiple of 4.
        uint32_t* const word = reinterpret_cast<uint32_t*>(row + at[c]);
        const V& x = value[c][j];
        if constexpr (sizeof(V) == 16)
          word[0] = x.x, word[1] = x.y, word[2] = x.z, word[3] = x.w;
        else if constexpr (sizeof(V) == 8)
          word[0] = x.x, word[1] = x.y;
        else
          *reinterpret_cast<V*>(row + at[c]) = x;
      }
    }
  }
}

// Turns rows of bytes, or of halves, into columns: byte c of x[r] becomes byte r of
// x[c].
__device__ __forceinline__ void transpose(uint32_t (&x)[4]) {
  const uint32_t low = __byte_perm(x[0], x[1], 0x5140), high = __byte_perm(x[0], x[1], 0x7362);
  const uint32_t low2 = __byte_perm(x[2], x[3], 0x5140), high2 = __byte_perm(x[2], x[3], 0x7362);
  x[0] = __byte_perm(low, low2, 0x5410), x[1] = __byte_perm(low, low2, 0x7632);
  x[2] = __byte_perm(high, high2, 0x5410), x[3] = __byte_perm(high, high2, 0x7632);
}
__device__ __forceinline__ void transpose(uint32_t (&x)[2]) {
  const uint32_t low = __byte_perm(x[0], x[1], 0x5410);
  x[1] = __byte_perm(x[0], x[1], 0x7632);
  x[0] = low;
}

// Whether the next columns, C of 4 / C bytes, fill one word of the lane, and can be
// read in words.
template <int C>
__device__ __forceinline__ bool read_words(const gj_packed* from) {
  uint64_t unaligned = from[0].offset;
#pragma unroll
  for (int c = 0; c < C; c++) unaligned |= from[c].from;
  return unaligned % 4 == 0;
}

// The same as stage_columns for C columns of 4 / C bytes that fill one word: a thread
// takes C neighbouring rows.
template <int T, int C>
__device__ __forceinline__ void stage_narrow(const gj_packed* from, uint64_t first, uint32_t n, const uint16_t* slot_of, char* stage, uint32_t words) {
  constexpr int U = 16 / C;  // groups of rows in flight
  const uint32_t* column[C];
#pragma unroll
  for (int c = 0; c < C; c++) column[c] = reinterpret_cast<const uint32_t*>(from[c].from + first * (4 / C));
  char* const at = stage + from[0].offset;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i * C < n; i += U * T) {
    uint32_t value[U][C];
#pragma unroll
    for (int j = 0; j < U; j++)
#pragma unroll
      for (int c = 0; c < C; c++)
        if ((i + j * T) * C < n) value[j][c] = __ldcs(column[c] + i + j * T);
#pragma unroll
    for (int j = 0; j < U; j++) {
      const uint32_t row = (i + j * T) * C;
      if (row >= n) break;
      transpose(value[j]);
#pragma unroll
      for (int c = 0; c < C; c++)
        if (row + c < n) *reinterpret_cast<uint32_t*>(at + slot_of[row + c] * words * 4) = value[j][c];
    }
  }
}

// Writes the tile's n staged lanes of `width` bytes, a multiple of V, each to at(its
// slot), nowhere if that is 0: neighbouring threads write neighbouring parts of a lane.
template <int T, class V, class At>
__device__ __forceinline__ void write_lanes(const char* stage, uint32_t words, const At& at, uint32_t width, uint32_t n) {
  constexpr uint32_t W = sizeof(V) / 4;
  const uint32_t parts = width / (uint32_t)sizeof(V), reciprocal = ~0u / parts + 1;  // exact for slots of 16 bits
#pragma unroll 4
  for (uint32_t i = threadIdx.x; i < n * parts; i += T) {
    const uint32_t slot = parts == 1 ? i : __umulhi(i, reciprocal), part = i - slot * parts;
    const uint32_t* const from = reinterpret_cast<const uint32_t*>(stage) + slot * words + part * W;
    V v;
    if constexpr (W == 4)
      v = {from[0], from[1], from[2], from[3]};
    else if constexpr (W == 2)
      v = {from[0], from[1]};
    else
      v = from[0];
    const uint64_t lane = at(slot);
    if (!At::partial || lane) Write()(reinterpret_cast<V*>(lane) + part, v);
  }
}
template <int T, class At>
__device__ __forceinline__ void write_lanes(const char* stage, uint32_t words, const At& at, uint32_t width, uint32_t n) {
  if (width % 16 == 0)
    write_lanes<T, uint4>(stage, words, at, width, n);
  else if (width % 8 == 0)
    write_lanes<T, uint2>(stage, words, at, width, n);
  else
    write_lanes<T, uint32_t>(stage, words, at, width, n);
}

// Where slots' lanes begin in one array, by the rows' numbers.
struct LaneAt {
  static constexpr bool partial = false;
  const uint32_t* row_of;
  uint64_t lanes;
  uint32_t width;
  __device__ __forceinline__ uint64_t operator()(uint32_t slot) const { return lanes + (uint64_t)row_of[slot] * width; }
};

// The target in this device's buffers. All targets have these members.
struct PackedTarget : Target {
  static constexpr int noted = 0;  // bytes a slot
  bool alone;                      // keys are written without positions
  __device__ PackedTarget(const gj_join* join, const gj_side* side) : Target(first_target(join, side)), alone(join->bits_second != 0) {}

  // Notes the partition of a slot; memory is that of the notes.
  __device__ __forceinline__ void note(char* memory, uint32_t slot, uint32_t partition) const {}

  // Writes a slot's key; row is its number.
  template <int KW>
  __device__ __forceinline__ void put_key(const char* memory, uint32_t slot, uint32_t row, const Row<KW>& key) const {
    if (alone) return Lanes<KW>::store(rows, capacity, row, key, Write());
    Row<KW + 1> placed;
#pragma unroll
    for (int q = 0; q < KW; q++) placed.word[q] = key.word[q];
    placed.word[KW] = row;
    Lanes<KW + 1>::store(rows, capacity, row, placed, Write());
  }

  // Prepares for the lane of v. All threads; a barrier follows before put_lanes.
  __device__ __forceinline__ void enter_lane(const gj_packed* v) const {}

  // Writes a tile's staged lanes.
  template <int T>
  __device__ __forceinline__ void put_lanes(const char* memory, const char* stage, uint32_t words, const uint32_t* row_of, const gj_packed& v, uint32_t n) const {
    write_lanes<T>(stage, words, LaneAt{row_of, v.lane, (uint32_t)v.lane_bytes}, (uint32_t)v.lane_bytes, n);
  }
};

// KW key words; T threads; up to IPT rows per thread; at most FAN partitions; BYTES of
// shared memory for a tile.
template <int KW, int T, int IPT, int FAN, int BYTES, class To>
__device__ __forceinline__ void scatter_packed(const gj_side* side, const To& target) {
  constexpr int most = T * IPT;
  static_assert(T >= FAN && most <= 1 << 16 && BYTES >= 32 * (4 * (GJ_LANE_BYTES / 4 + 1) + 6 + To::noted));
  using Layout = PackedLayout<most, BYTES, To::noted>;
  extern __shared__ uint4 shared[];
  __shared__ uint32_t count[FAN], offset[FAN], target_of[FAN], sums[32];
  __shared__ uint32_t hot_next;

  const ColumnSource<KW, Payload<PayloadKind::column, 0>> keys(side);
  const uint32_t rows = (uint32_t)side->rows;
  const gj_packed* const packed = reinterpret_cast<const gj_packed*>(side->packed);
  const uint32_t widest = max((uint32_t)packed->lane_bytes, KW * 4u), N = Layout::rows(widest);
  char* const stage = reinterpret_cast<char*>(shared);
  uint32_t* const row_of = reinterpret_cast<uint32_t*>(stage + 4 * Layout::words(widest) * N);
  uint16_t* const slot_of = reinterpret_cast<uint16_t*>(row_of + N);
  char* const noted = reinterpret_cast<char*>(slot_of + N);
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
      if (threadIdx.x + j * T < n) keys.load(first + threadIdx.x + j * T, key[j]);
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
        target.note(noted, slot[j], p);
        slot_of[threadIdx.x + j * T] = (uint16_t)slot[j];
        Lanes<KW>::store(stage, N, slot[j], key[j], Shared());
      }
    }
    __syncthreads();
#pragma unroll 2
    for (uint32_t i = threadIdx.x; i < n; i += T) {
      Row<KW> k;
      Lanes<KW>::load(stage, N, i, k, Shared());
      target.put_key(noted, i, row_of[i], k);
    }
#pragma unroll 1
    for (const gj_packed* v = packed; v->bytes;) {
      const gj_packed* const here = v;
      const uint64_t lanes = v->lane;
      const uint32_t words = Layout::words((uint32_t)v->lane_bytes);
      __syncthreads();  // what was staged before is written
      target.enter_lane(v);
#pragma unroll 1
      while (v->bytes && v->lane == lanes) {
        // Several columns of one width at a time, for more reads in flight.
        auto follow = [&](auto more) {
          bool same = true;
#pragma unroll
          for (int c = 1; c <= decltype(more)::value; c++) same = same & (v[c].bytes == v->bytes) & (v[c].lane == lanes);
          return same;
        };
        auto move = [&](auto type, auto columns) {
          stage_columns<T, IPT, decltype(columns)::value, decltype(type)>(v, first, n, slot_of, stage, words);
          v += decltype(columns)::value;
        };
        switch (v->bytes) {
          case 1:
            if (follow(Number<3>()) && read_words<4>(v))
              stage_narrow<T, 4>(v, first, n, slot_of, stage, words), v += 4;
            else
              move(uint8_t(), Number<1>());
            break;
          case 2:
            if (follow(Number<1>()) && read_words<2>(v))
              stage_narrow<T, 2>(v, first, n, slot_of, stage, words), v += 2;
            else
              move(uint16_t(), Number<1>());
            break;
          case 4: follow(Number<3>()) ? move(uint32_t(), Number<4>()) : move(uint32_t(), Number<1>()); break;
          case 8: follow(Number<1>()) ? move(uint2(), Number<2>()) : move(uint2(), Number<1>()); break;
          default: move(uint4(), Number<1>());
        }
      }
      __syncthreads();
      target.template put_lanes<T>(noted, stage, words, row_of, *here, n);
    }
  }
}

}  // namespace gj
