// Gathers a packed payload for the rows of a result, which hold each row's position in
// the lanes.
//
// A warp takes 32 * R rows. It brings their lanes together in shared memory, where
// neighbouring threads read neighbouring parts of a lane, so that each sector is read
// once. Then each thread takes its rows' values, and the warp writes column by column.
// The result is in the order of partitions, so concurrent warps read lanes of few
// partitions of the first pass.
//
// Positions may be in the memory of a result column of 4 bytes: a warp has read its
// rows' positions before it writes these rows.
//
// Bound: reads each lane and position and writes each value once.
#pragma once
#include <type_traits>

#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

// Shared memory of a warp: its rows' positions and lanes. A lane takes an odd number of
// words, so that threads read a value of their rows from different banks.
template <int R>
struct GatherLayout {
  static constexpr int rows = 32 * R, lanes = rows * 4, warp_bytes = lanes + rows * (GJ_LANE_BYTES / 4 + 1) * 4;
  __device__ static __forceinline__ uint32_t words(uint32_t lane_bytes) { return lane_bytes / 4 | 1; }
};

// The number of rows of the result; 0 if there are more than `most`, so that the match
// runs again.
__device__ __forceinline__ uint64_t result_rows(const gj_join* join, uint64_t most) {
  const uint64_t rows = reinterpret_cast<const uint64_t*>(join->counters)[GJ_OUTPUT_ROWS];
  return rows > most ? 0 : rows;
}

// Copies the positions, which the gather reads in place of those that it would overwrite.
__device__ __forceinline__ void copy_positions(const gj_join* join, const gj_side* side, uint64_t most, uint64_t from) {
  const uint64_t rows = result_rows(join, most);
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += gridDim.x * (uint64_t)blockDim.x)
    __stcg(reinterpret_cast<uint32_t*>(side->positions) + i, __ldcs(reinterpret_cast<const uint32_t*>(from) + i));
}

// Brings the lanes of n rows together. V divides a lane of `width` bytes.
template <class V>
__device__ __forceinline__ void gather_lanes(uint64_t lanes, uint32_t width, const uint32_t* position, uint32_t n, uint32_t* to, uint32_t words) {
  constexpr uint32_t W = sizeof(V) / 4, U = 4;  // parts in flight
  const uint32_t parts = width / (uint32_t)sizeof(V), reciprocal = ~0u / parts + 1, all = n * parts;
#pragma unroll 1
  for (uint32_t i = threadIdx.x & 31; i < all; i += 32 * U) {
    V v[U];
    uint32_t at[U];
#pragma unroll
    for (uint32_t u = 0; u < U; u++) {
      const uint32_t k = i + 32 * u, row = parts == 1 ? k : __umulhi(k, reciprocal), part = k - row * parts;
      at[u] = row * words + part * W;
      if (k < all) v[u] = __ldg(reinterpret_cast<const V*>(lanes + (uint64_t)position[row] * width) + part);
    }
#pragma unroll
    for (uint32_t u = 0; u < U; u++) {
      if (i + 32 * u >= all) break;
      if constexpr (W == 4)
        to[at[u]] = v[u].x, to[at[u] + 1] = v[u].y, to[at[u] + 2] = v[u].z, to[at[u] + 3] = v[u].w;
      else if constexpr (W == 2)
        to[at[u]] = v[u].x, to[at[u] + 1] = v[u].y;
      else
        to[at[u]] = v[u];
    }
  }
}

// Whether C values of 4 / C bytes, v's first, fill a word.
template <int C>
__device__ __forceinline__ bool fill_word(const gj_packed* v) {
  if (v->offset % 4) return false;
  for (int c = 0; c < C; c++)
    if (v[c].bytes != 4 / C || v[c].lane != v->lane) return false;
  return true;
}

// T threads; R rows per thread.
template <int T, int R>
__device__ __forceinline__ void gather_packed(const gj_join* join, const gj_side* side, uint64_t most) {
  using Layout = GatherLayout<R>;
  extern __shared__ uint4 shared[];
  const uint32_t lane = threadIdx.x & 31;
  char* const mine = reinterpret_cast<char*>(shared) + threadIdx.x / 32 * Layout::warp_bytes;
  uint32_t* const position = reinterpret_cast<uint32_t*>(mine);
  uint32_t* const lanes = reinterpret_cast<uint32_t*>(mine + Layout::lanes);
  const uint64_t rows = result_rows(join, most);
  const gj_packed* const packed = reinterpret_cast<const gj_packed*>(side->packed);
  const uint64_t step = (uint64_t)gridDim.x * (T / 32) * Layout::rows;
#pragma unroll 1
  for (uint64_t first = ((uint64_t)blockIdx.x * (T / 32) + threadIdx.x / 32) * Layout::rows; first < rows; first += step) {
    const uint32_t n = (uint32_t)min((uint64_t)Layout::rows, rows - first);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < R; r++)
      if (r * 32 + lane < n) position[r * 32 + lane] = __ldcs(reinterpret_cast<const uint32_t*>(side->positions) + first + r * 32 + lane);
#pragma unroll 1
    for (const gj_packed* v = packed; v->bytes;) {
      const uint64_t here = v->lane;
      const uint32_t width = (uint32_t)v->lane_bytes, words = Layout::words(width);
      __syncwarp();  // positions are there, and what was gathered before is written
      if (width % 16 == 0)
        gather_lanes<uint4>(here, width, position, n, lanes, words);
      else if (width % 8 == 0)
        gather_lanes<uint2>(here, width, position, n, lanes, words);
      else
        gather_lanes<uint32_t>(here, width, position, n, lanes, words);
      __syncwarp();
#pragma unroll 1
      while (v->bytes && v->lane == here) {
        const gj_packed value = *v++;
        const uint32_t* const from = lanes + lane * words + value.offset / 4;
        // act(word, row) for the thread's rows.
        auto each = [&](auto act) {
#pragma unroll
          for (int r = 0; r < R; r++)
            if (r * 32 + lane < n) act(from + r * 32 * words, first + r * 32 + lane);
        };
        auto narrow = [&](auto values) {
          constexpr int C = decltype(values)::value;
          const uint64_t column = v[(int)(lane % C) - 1].to;
#pragma unroll
          for (int r = 0; r < R; r++) write_narrow<C>(column, from[r * 32 * words], first + r * 32);
          v += C - 1;
        };
        const uint32_t shift = 8 * ((uint32_t)value.offset & 3);
        switch (value.bytes) {
          case 4: each([&](const uint32_t* w, uint64_t row) { __stcs(reinterpret_cast<uint32_t*>(value.to) + row, w[0]); }); break;
          case 8: each([&](const uint32_t* w, uint64_t row) { __stcs(reinterpret_cast<uint2*>(value.to) + row, make_uint2(w[0], w[1])); }); break;
          case 16: each([&](const uint32_t* w, uint64_t row) { __stcs(reinterpret_cast<uint4*>(value.to) + row, make_uint4(w[0], w[1], w[2], w[3])); }); break;
          case 2:
            if (n == Layout::rows && fill_word<2>(v - 1))
              narrow(std::integral_constant<int, 2>());
            else
              each([&](const uint32_t* w, uint64_t row) { __stcs(reinterpret_cast<uint16_t*>(value.to) + row, (uint16_t)(w[0] >> shift)); });
            break;
          default:
            if (n == Layout::rows && fill_word<4>(v - 1))
              narrow(std::integral_constant<int, 4>());
            else
              each([&](const uint32_t* w, uint64_t row) { __stcs(reinterpret_cast<uint8_t*>(value.to) + row, (uint8_t)(w[0] >> shift)); });
        }
      }
    }
  }
}

}  // namespace gj
