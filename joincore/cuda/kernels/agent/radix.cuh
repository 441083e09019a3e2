// One pass of a stable radix sort of columns by a digit of the keys' hashes,
// for both sides of a join in one launch (Adinets, Merrill: Onesweep).
//
// A block takes a tile, ranks its keys once, publishes the tile's digit counts,
// and moves the tile column by column: through shared memory into digit order,
// then to where the look-back places each digit's run. A pass thus reads and
// writes every value once, and one ranking serves any number of columns of any
// width (GFTR transforms column by column; here the key is not sorted again for
// each).
//
// Ranks within a warp come from votes, so a hot digit costs no more than others.
// While one column is written the next is loaded into registers.
//
// Bound: reads and writes each value once. Measured on an H200, 2^27 + 2^28 rows
// and 512 digit values: 3.5 ms for two columns of 4 bytes, 4.5 for three (1.8 and
// 2.7 at 3.6 TB/s). Runs average 32 values and end inside sectors; these partial
// sectors cost more than the votes.
#pragma once
#include "block/hash.cuh"
#include "block/lookback.cuh"
#include "block/scan.cuh"
#include "block/tile.cuh"
#include "layout/sort.h"

#include <type_traits>

namespace gj {

// Dynamic shared memory: a column of the tile in digit order, the digit of each
// slot, digit counts per warp. N rows of at most VB bytes, T threads.
template <int T, int N, int VB>
struct RadixLayout {
  static constexpr int stage = 0, digit = N * VB, counter = digit + N * 2, bytes = counter + T / 32 * GJ_SORT_FAN * 2;
};

// KW key words, T threads, IPT rows per thread, values staged in parts of at most
// VB bytes (a 16-byte value takes two).
template <int KW, int T, int IPT, int VB>
__device__ __forceinline__ void radix_pass(const gj_sort* sort, const uint32_t pass) {
  constexpr int N = T * IPT, FAN = GJ_SORT_FAN, WARPS = T / 32;
  using Layout = RadixLayout<T, N, VB>;
  static_assert(T == FAN && IPT % 2 == 0 && N <= 1 << 16 && VB >= 4 * KW, "a thread is a digit's, a slot has 16 bits");
  extern __shared__ uint4 shared[];
  char* stage = reinterpret_cast<char*>(shared) + Layout::stage;
  uint16_t* digit_of = reinterpret_cast<uint16_t*>(reinterpret_cast<char*>(shared) + Layout::digit);
  uint16_t* counters = reinterpret_cast<uint16_t*>(reinterpret_cast<char*>(shared) + Layout::counter);
  __shared__ uint32_t base[2][FAN], target[FAN], sums[32], ticket;
  const uint32_t t = threadIdx.x, lane = t & 31, warp = t / 32;
  const uint32_t shift = (uint32_t)sort->shift[pass], mask = (uint32_t)sort->mask[pass];
  uint64_t* status = reinterpret_cast<uint64_t*>(sort->status);
  uint32_t* tickets = reinterpret_cast<uint32_t*>(sort->tickets) + pass;

  for (int s = 0; s < 2; s++) {
    uint32_t total;
    base[s][t] = block_exclusive<T>(reinterpret_cast<const uint32_t*>(sort->histogram)[(s * sort->passes + pass) * FAN + t], sums, total);
    __syncthreads();
  }
  const uint32_t tiles_build = (uint32_t)((sort->side[0].rows + N - 1) / N), tiles = tiles_build + (uint32_t)((sort->side[1].rows + N - 1) / N);

  uint32_t tile = 0, rows = 0, warp_rows = 0;  // rows of the tile; rows of the warp from this lane's first on
  uint64_t first = 0;                          // this lane's first row
  const gj_sort_side* side = nullptr;
  auto draw = [&]() {
    tile = ticket;
    const bool probe = tile >= tiles_build;
    side = &sort->side[probe];
    const uint64_t start = (uint64_t)(probe ? tile - tiles_build : tile) * N;
    const uint32_t mine = warp * 32 * IPT + lane;
    rows = tile < tiles ? (uint32_t)min((uint64_t)N, side->rows - start) : 0;
    warp_rows = rows > mine ? rows - mine : 0;
    first = start + mine;
  };

  if (t == 0) ticket = atomicAdd(tickets, 1);
  __syncthreads();
  draw();
  TileColumn<IPT, VB> v;
  if (tile < tiles) v.load(side->column[0], pass, 0, first, warp_rows);
  while (tile < tiles) {
    // Slots beyond the tile's rows get the last digit and rank behind its rows.
    auto digit = [&](int j) {
      uint32_t key[KW];
#pragma unroll
      for (int q = 0; q < KW; q++) {
        key[q] = v.word[j * VB / 4 + q];
        keep(key[q]);
      }
      return (hash_words(key).part >> shift & mask) | (j * 32 < (int)warp_rows ? 0 : FAN - 1);
    };
    uint32_t slot[IPT / 2];  // pairs of 16-bit ranks, later slots
    uint16_t* counter = counters + warp * FAN;
#pragma unroll
    for (int i = 0; i < FAN * 2 / 512; i++) reinterpret_cast<uint4*>(counter)[i * 32 + lane] = make_uint4(0, 0, 0, 0);
    __syncwarp();
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t d = digit(j), same = lanes_with(d), before = counter[d];
      __syncwarp();
      if (same >> lane == 1) counter[d] = (uint16_t)(before + __popc(same));
      __syncwarp();
      const uint32_t rank = before + __popc(same & ((1u << lane) - 1));
      slot[j / 2] = j % 2 ? slot[j / 2] | rank << 16 : rank;
      if (j % 2) keep(slot[j / 2]);
    }
    __syncthreads();

    // One digit per thread: the tile's count, its first slot, and each warp's first slot.
    uint32_t count = 0, all;
#pragma unroll
    for (int w = 0; w < WARPS; w++) count += counters[w * FAN + t];
    const bool probe = tile >= tiles_build;
    const uint32_t first_tile = probe ? tiles_build : 0, real = count - (t == FAN - 1 ? N - rows : 0);
    uint64_t* mine = status + (uint64_t)tile * FAN + t;
    if (tile == first_tile)
      Status::store(mine, Status::upto(pass, base[probe][t] + real));
    else
      Status::store(mine, Status::own(pass, real));
    const uint32_t begin = block_exclusive<T>(count, sums, all);
    if (t == 0) ticket = atomicAdd(tickets, 1);
    uint32_t run = begin;
#pragma unroll
    for (int w = 0; w < WARPS; w++) {
      const uint32_t c = counters[w * FAN + t];
      counters[w * FAN + t] = (uint16_t)run;
      run += c;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t d = digit(j), at = counter[d] + (j % 2 ? slot[j / 2] >> 16 : slot[j / 2] & 0xffff);
      slot[j / 2] = j % 2 ? (slot[j / 2] & 0xffff) | at << 16 : (slot[j / 2] & 0xffff0000) | at;
      if (j % 2) keep(slot[j / 2]);
      digit_of[at] = (uint16_t)d;
    }
    const gj_sort_side* here = side;
    const uint32_t n = rows, here_tile = tile;
    v.stage(stage, slot, KW == 2);

    const uint32_t columns = (uint32_t)here->columns;
    for (uint32_t c = 0, part = 0; c < columns;) {
      const uint32_t bytes = (uint32_t)here->column[c].bytes, this_part = part;
      const uint64_t to = here->column[c].at[pass + 1];
      const bool key = c == 0;
      part = bytes == 16 && part == 0;
      c += !part;
      if (c < columns) {
        v.load(here->column[c], pass, part, first, warp_rows);
      } else {
        draw();
        if (tile < tiles) v.load(side->column[0], pass, 0, first, warp_rows);
      }
      if (key) {
        uint64_t before = base[probe][t];
        if (here_tile != first_tile) {
          before = look_back(status + t, here_tile, first_tile, FAN, pass);
          Status::store(mine, Status::upto(pass, before + real));
        }
        target[t] = (uint32_t)before - begin;
      }
      __syncthreads();
      auto write = [&](auto* out, const auto* in, uint32_t stride) {
        constexpr int G = 4;  // values in flight per thread
        using V = std::remove_pointer_t<decltype(out)>;
        uint32_t i = t;
        for (; i + (G - 1) * T < n; i += G * T) {
          V value[G];
          uint32_t row[G];
#pragma unroll
          for (int g = 0; g < G; g++) row[g] = target[digit_of[i + g * T]] + i + g * T, value[g] = (V)in[i + g * T];
#pragma unroll
          for (int g = 0; g < G; g++) __stcg(out + (uint64_t)row[g] * stride, value[g]);
        }
        for (; i < n; i += T) __stcg(out + (uint64_t)(target[digit_of[i]] + i) * stride, (V)in[i]);
      };
      const uint32_t* words = reinterpret_cast<const uint32_t*>(stage);
      const uint2* pairs = reinterpret_cast<const uint2*>(stage);
      switch (bytes) {
        case 1: write(reinterpret_cast<uint8_t*>(to), words, 1); break;
        case 2: write(reinterpret_cast<uint16_t*>(to), words, 1); break;
        case 4: write(reinterpret_cast<uint32_t*>(to), words, 1); break;
        case 8:
          if constexpr (VB == 8) write(reinterpret_cast<uint2*>(to), pairs, 1);
          break;
        default:
          if constexpr (VB == 8) write(reinterpret_cast<uint2*>(to) + this_part, pairs, 2);
      }
      __syncthreads();
      // Unpacking a slot again is cheaper than registers for all addresses.
#pragma unroll
      for (int i = 0; i < IPT / 2; i++) keep(slot[i]);
      if (c < columns) v.stage(stage, slot, VB == 8 && here->column[c].bytes >= 8);
    }
  }
}

}  // namespace gj
