// The first partition pass of a side whose columns are described by a list of values
// (gj_packed): payload that is packed into lanes, and payload of any widths that is
// carried; not stable.
//
// A block copies a tile's columns to shared memory as they are, asynchronously, while it
// works on the tile before. It ranks the keys within their partitions and reserves space
// for each partition's run, as agent/scatter.cuh does for whole rows. That gives the
// order of the tile's rows, in which each lane is then written: neighbouring threads
// fetch neighbouring parts of a lane from the columns. Values never pass through
// registers on their way in, so that any number of columns of any widths costs what its
// bytes cost.
//
// Columns of 1 and 2 bytes are first turned into columns of words.
//
// Where keys and lanes go is the target's business: to the device's own buffers here, or
// to those of several devices (agent/send_packed.cuh). Keys are written in a lane of their
// own. Of packed payload a second pass adds each row's position (PlaceSource); if there is
// no second pass, keys are written with their positions.
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

// Dynamic shared memory: keys and one lane's columns of two tiles or of two lanes, then
// the order of the tile's rows. A tile has as many rows as fit, at most N.
template <int KW, int N, int BYTES>
struct PackedLayout {
  static constexpr uint32_t bytes = BYTES;
  // Rows of tiles whose widest lane has `lane_bytes`: a multiple of 32, so that each
  // column begins at a multiple of 16 bytes.
  __device__ static __forceinline__ uint32_t rows(uint32_t lane_bytes) {
    const uint32_t most = min((uint32_t)N, bytes / (2 * (4 * KW + lane_bytes) + 4));
    return most / 32 * 32;
  }
};

// A lane of the list of values.
struct PackedLane {
  uint64_t to;                    // its array, or as the target knows it
  uint32_t width;                 // bytes of a row's lane
  uint32_t value, values;         // its first value, and their number
  uint32_t word;                  // its first word
  uint32_t narrowest;             // bytes of its narrowest value
};

// Where a word of a lane is in shared memory, which begins with `rows` values of each
// column: the first row's word, and the bytes from one row to the next.
__device__ __forceinline__ uint32_t word_code(uint32_t at, uint32_t stride) { return at << 8 | stride; }
__device__ __forceinline__ uint32_t word_at(uint32_t code, uint32_t row) { return (code >> 8) + row * (code & 0xff); }

// Starts to copy `bytes` bytes of a column; `to` is a multiple of 16. Called by
// `threads` threads, of which this is number `thread`.
__device__ __forceinline__ void copy_column(const char* from, char* to, uint32_t bytes, uint32_t thread, uint32_t threads) {
  const uint64_t at = reinterpret_cast<uint64_t>(from);
  uint32_t whole = 0;
  if (at % 16 == 0) {
    whole = bytes / 16 * 16;
#pragma unroll 4
    for (uint32_t i = thread * 16; i < whole; i += threads * 16) copy_bytes_async<16>(from + i, to + i);
  } else if (at % 4 == 0) {
    whole = bytes / 4 * 4;
    for (uint32_t i = thread * 4; i < whole; i += threads * 4) copy_bytes_async<4>(from + i, to + i);
  }
  for (uint32_t i = whole + thread; i < bytes; i += threads) to[i] = from[i];
}

// The order of a tile's rows. An entry has a row of the tile, and its partition. The
// entry's slot, added to first[partition], is the row's number in the target.
struct Placed {
  uint32_t row, partition, number;
};
struct Order {
  const uint32_t *entry, *first;
  __device__ static __forceinline__ uint32_t pack(uint32_t row, uint32_t partition) { return row << 16 | partition; }
  __device__ __forceinline__ Placed operator[](uint32_t slot) const {
    const uint32_t e = entry[slot], p = e & 0xffff;
    return {e >> 16, p, first[p] + slot};
  }
};

// Turns the columns of the values in one word of the lane into a column of words, in
// place. The columns have n <= 4 * T rows, and space for `rows`.
template <int T>
__device__ __forceinline__ void widen(const gj_packed* value, uint32_t values, char* stage, uint32_t rows, uint32_t n) {
  const uint32_t word = (uint32_t)value->offset / 4, t = threadIdx.x;
  uint32_t row[4] = {0, 0, 0, 0};  // rows 4 * t and on
  if (4 * t < n)
    for (uint32_t k = 0; k < values; k++) {
      const uint32_t* const x = reinterpret_cast<const uint32_t*>(stage + rows * (uint32_t)value[k].offset);
      const uint32_t byte = (uint32_t)value[k].offset % 4;
      if (value[k].bytes == 1) {
        const uint32_t four = x[t], keep = 0x3210 & ~(0xf << 4 * byte);
#pragma unroll
        for (uint32_t r = 0; r < 4; r++) row[r] = __byte_perm(row[r], four, keep | (4 + r) << 4 * byte);
      } else {
        const uint32_t low = byte ? 0x5410 : 0x3254, high = byte ? 0x7610 : 0x3276;
        const uint32_t a = x[2 * t], b = x[2 * t + 1];
        row[0] = __byte_perm(row[0], a, low), row[1] = __byte_perm(row[1], a, high);
        row[2] = __byte_perm(row[2], b, low), row[3] = __byte_perm(row[3], b, high);
      }
    }
  __syncthreads();
  if (4 * t < n) reinterpret_cast<uint4*>(stage + rows * 4 * word)[t] = make_uint4(row[0], row[1], row[2], row[3]);
}

// A lane of a tile's n rows in shared memory, and where its words are.
struct StagedLane {
  const char* stage;
  const uint32_t* code;
  Order order;
  uint32_t width, n, narrowest;
};

// Writes the lanes, of a multiple of V: each thread writes the same part of its rows. All
// threads fetch parts in the same steps, as the lane's narrowest value asks.
// at(partition, number) is where a row's lane begins, or 0 for none if At::partial.
template <int T, class V, class At>
__device__ __forceinline__ void write_lanes(const StagedLane& lane, At begin) {
  const char* const stage = lane.stage;
  const uint32_t *const code = lane.code, width = lane.width, n = lane.n;
  constexpr uint32_t W = sizeof(V) / 4;
  const uint32_t parts = width / (uint32_t)sizeof(V), slots = T / parts, part = threadIdx.x % parts, first = threadIdx.x / parts;
  if (first >= slots) return;
  uint32_t c[W];
#pragma unroll
  for (uint32_t q = 0; q < W; q++) c[q] = code[part * W + q];
  auto each = [&](auto fetch) {
#pragma unroll 4
    for (uint32_t slot = first; slot < n; slot += slots) {
      const Placed p = lane.order[slot];
      const uint64_t to = begin(p.partition, p.number);
      if (!At::partial || to) Write()(reinterpret_cast<V*>(to + part * sizeof(V)), fetch(p.row));
    }
  };
  // U at word q of a row.
  auto at = [&](auto type, uint32_t q, uint32_t row) { return *reinterpret_cast<const decltype(type)*>(stage + word_at(c[q], row)); };
  if constexpr (W == 4) {
    if (lane.narrowest == 16)
      each([&](uint32_t row) { return at(uint4(), 0, row); });
    else if (lane.narrowest == 8)
      each([&](uint32_t row) {
        const uint2 a = at(uint2(), 0, row), b = at(uint2(), 2, row);
        return make_uint4(a.x, a.y, b.x, b.y);
      });
    else
      each([&](uint32_t row) { return make_uint4(at(0u, 0, row), at(0u, 1, row), at(0u, 2, row), at(0u, 3, row)); });
  } else if constexpr (W == 2) {
    if (lane.narrowest >= 8)
      each([&](uint32_t row) { return at(uint2(), 0, row); });
    else
      each([&](uint32_t row) { return make_uint2(at(0u, 0, row), at(0u, 1, row)); });
  } else {
    each([&](uint32_t row) { return at(0u, 0, row); });
  }
}

template <int T, class At>
__device__ __forceinline__ void write_lanes(const StagedLane& lane, At begin) {
  if (lane.width % 16 == 0)
    write_lanes<T, uint4>(lane, begin);
  else if (lane.width % 8 == 0)
    write_lanes<T, uint2>(lane, begin);
  else
    write_lanes<T, uint32_t>(lane, begin);
}

// Target: the device's own lanes and row buffer.
struct PackedTarget : Target {
  bool positioned;  // keys are written with positions
  __device__ PackedTarget(const gj_join* join, const gj_side* side) : Target(first_target(join, side)), positioned(!join->bits_second && side->positions) {}

  // Whether the first lane also has the key.
  __device__ __forceinline__ bool has_key(const PackedLane& first) const { return first.to == reinterpret_cast<uint64_t>(rows); }

  // Writes the key of row `number` of a partition.
  template <int KW>
  __device__ __forceinline__ void put_key(uint32_t partition, uint32_t number, const Row<KW>& key) const {
    if (!positioned) return Lanes<KW>::store(rows, capacity, number, key, Write());
    Row<KW + 1> placed;
#pragma unroll
    for (int q = 0; q < KW; q++) placed.word[q] = key.word[q];
    placed.word[KW] = number;
    Lanes<KW + 1>::store(rows, capacity, number, placed, Write());
  }

  // Prepares for a lane. All threads; a barrier follows before put_lanes.
  __device__ __forceinline__ void enter_lane(const PackedLane& lane) const {}

  // Writes a tile's lanes.
  template <int T>
  __device__ __forceinline__ void put_lanes(const PackedLane& lane, const StagedLane& staged) const {
    write_lanes<T>(staged, LaneAt{lane.to, lane.width});
  }

 private:
  struct LaneAt {
    static constexpr bool partial = false;
    uint64_t to;
    uint32_t width;
    __device__ __forceinline__ uint64_t operator()(uint32_t, uint32_t number) const { return to + (uint64_t)number * width; }
  };
};

// KW key words; T threads; up to IPT rows per thread; at most FAN partitions; BYTES of
// dynamic shared memory.
template <int KW, int T, int IPT, int FAN, int BYTES, class To>
__device__ __forceinline__ void scatter_packed(const gj_side* side, const To& target) {
  constexpr int most = T * IPT, most_lanes = GJ_MAX_PACKED * 16 / GJ_LANE_BYTES + 1, most_words = GJ_MAX_PACKED * 4 + 16;
  static_assert(T >= FAN && T > GJ_MAX_PACKED && IPT <= 4 && BYTES >= 32 * (2 * (4 * KW + GJ_LANE_BYTES) + 8));
  using Layout = PackedLayout<KW, most, BYTES>;
  extern __shared__ uint4 shared[];
  __shared__ uint32_t count[FAN], offset[FAN], target_of[FAN], sums[32];
  __shared__ uint32_t hot_next, lane_count, widest_lane;
  __shared__ gj_packed value[GJ_MAX_PACKED + 1];
  __shared__ PackedLane lane[most_lanes];
  __shared__ uint32_t code[most_words];

  const uint32_t t = threadIdx.x;
  if (t <= GJ_MAX_PACKED) value[t].bytes = 0;
  if (t < FAN) count[t] = 0;
  __syncthreads();
  if (t < side->packed_count) value[t] = reinterpret_cast<const gj_packed*>(side->packed)[t];
  __syncthreads();
  if (t == 0) {
    uint32_t lanes = 0, words = 0, widest = 0;
    for (uint32_t v = 0; value[v].bytes; words += lane[lanes++].width / 4) {
      const uint32_t from = v, width = (uint32_t)value[v].lane_bytes;
      uint32_t narrowest = GJ_LANE_BYTES;
      for (; value[v].bytes && value[v].lane == value[from].lane; v++) narrowest = min(narrowest, (uint32_t)value[v].bytes);
      lane[lanes] = {value[from].lane, width, from, v - from, words, narrowest};
      widest = max(widest, width);
    }
    if (!lanes) lane[lanes++] = {};
    lane_count = lanes, widest_lane = widest, hot_next = ~0u;
  }
  __syncthreads();
  const uint32_t N = Layout::rows(widest_lane), lanes = lane_count;
  for (uint32_t l = 0; l < lanes; l++)
    if (t < lane[l].width / 4) code[lane[l].word + t] = word_code(N * 4 * t, 4);
  __syncthreads();
  for (uint32_t l = 0; l < lanes; l++)
    if (t < lane[l].values) {
      const gj_packed& v = value[lane[l].value + t];
      const uint32_t bytes = (uint32_t)v.bytes, at = (uint32_t)v.offset;
      for (uint32_t q = 0; q < bytes / 4; q++) code[lane[l].word + at / 4 + q] = word_code(N * at + 4 * q, bytes);
      // What follows the last value is anything that can be read in the same steps.
      if (t == lane[l].values - 1 && bytes >= 8)
        for (uint32_t q = (at + bytes) / 4; q < lane[l].width / 4; q++) code[lane[l].word + q] = word_code(N * at + 4 * (q % 2), bytes);
    }
  char* const keys = reinterpret_cast<char*>(shared);  // of two tiles
  char* const stages = keys + 2 * N * 4 * KW;           // of two lanes
  uint32_t* const entry = reinterpret_cast<uint32_t*>(stages + 2 * N * widest_lane);
  const Order order{entry, target_of};

  const bool key_apart = !target.has_key(lane[0]);
  const uint32_t rows = (uint32_t)side->rows;
  // Starts to copy a lane's columns, with the keys of its tile if it is the first lane.
  auto fetch = [&](uint64_t first, uint32_t l, uint32_t step, uint32_t tile) {
    if (first < rows) {
      const uint32_t n = (uint32_t)min((uint64_t)N, rows - first);
      if (l == 0) copy_column(reinterpret_cast<const char*>(side->key) + first * 4 * KW, keys + (tile & 1) * N * 4 * KW, n * 4 * KW, t, T);
      char* const stage = stages + (step & 1) * N * widest_lane;
      // As many warps for each column as there are.
      const uint32_t values = lane[l].values, warps = max(1u, T / 32 / max(1u, values)), warp = t / 32;
#pragma unroll 1
      for (uint32_t k = warp / warps; k < values; k += T / 32 / warps) {
        const gj_packed& v = value[lane[l].value + k];
        copy_column(reinterpret_cast<const char*>(v.from) + first * v.bytes, stage + N * (uint32_t)v.offset, n * (uint32_t)v.bytes, t - warp / warps * warps * 32,
                    warps * 32);
      }
    }
    end_copies();
  };

  uint32_t step = 0, tile = 0;
  fetch((uint64_t)blockIdx.x * N, 0, 0, 0);
#pragma unroll 1
  for (uint64_t first = (uint64_t)blockIdx.x * N; first < rows; first += (uint64_t)gridDim.x * N, tile++) {
    const uint32_t n = (uint32_t)min((uint64_t)N, rows - first);
    const char* const key = keys + (tile & 1) * N * 4 * KW;
#pragma unroll 1
    for (uint32_t l = 0; l < lanes; l++, step++) {
      __syncthreads();  // the lane before is written
      if (l + 1 < lanes)
        fetch(first, l + 1, step + 1, tile);
      else
        fetch(first + (uint64_t)gridDim.x * N, 0, step + 1, tile + 1);
      await_copies<1>();
      const uint32_t hot = hot_next;
      __syncthreads();
      char* const stage = stages + (step & 1) * N * widest_lane;
      uint32_t claimed = 0, begin = 0;
      if (l == 0) {
        uint32_t slot[IPT];  // partition and rank
#pragma unroll
        for (int j = 0; j < IPT; j++) {
          const uint32_t i = t + j * T;
          Row<KW> k;
          clear(k);
          if (i < n) Lanes<KW>::load(key, N, i, k, Shared());
          const uint32_t p = hash_words(k.word).part >> target.shift & target.mask;
          slot[j] = p << 16 | rank_in_partition(count, hot, p, i < n);
        }
        __syncthreads();
        uint32_t mine = 0, total;
        if (t <= target.mask) {
          mine = count[t];
          count[t] = 0;
          if (mine) claimed = atomicAdd(&target.cursor[t], mine);  // used only when the order is known
        }
        if (t == 0) hot_next = ~0u;
        begin = block_exclusive<T>(mine, sums, total);
        if (t <= target.mask) {
          offset[t] = begin;
          if (mine > N / 8) atomicExch(&hot_next, t);  // any of several will do
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < IPT; j++) {
          const uint32_t i = t + j * T, p = slot[j] >> 16;
          if (i < n) entry[offset[p] + (slot[j] & 0xffff)] = Order::pack(i, p);
        }
      }
      for (uint32_t k = 0; k < lane[l].values;) {
        const gj_packed* const v = value + lane[l].value + k;
        uint32_t same = 1;
        while (k + same < lane[l].values && v[same].offset / 4 == v->offset / 4) same++;
        if (v->bytes < 4) widen<T>(v, same, stage, N, n);
        k += same;
      }
      if (l == 0 && t <= target.mask) target_of[t] = claimed - begin;
      target.enter_lane(lane[l]);
      __syncthreads();
      if (l == 0 && key_apart) {
#pragma unroll 4
        for (uint32_t i = t; i < n; i += T) {
          const Placed p = order[i];
          Row<KW> k;
          Lanes<KW>::load(key, N, p.row, k, Shared());
          target.put_key(p.partition, p.number, k);
        }
      }
      if (lane[l].width) target.template put_lanes<T>(lane[l], StagedLane{stage, code + lane[l].word, order, lane[l].width, n, lane[l].narrowest});
    }
  }
  await_copies<0>();
}

}  // namespace gj
