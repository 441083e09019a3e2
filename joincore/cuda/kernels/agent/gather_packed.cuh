// Gathers a packed payload for the rows of a result, which hold each row's position in
// the lanes.
//
// A warp takes 32 * R rows. It copies their lanes to shared memory asynchronously, so that
// all of them are in flight at once; neighbouring threads copy neighbouring parts of a
// lane, so that each sector is read once. Meanwhile it reads its next rows' positions. Then
// each thread takes its rows' values, 16 bytes at a time, and the warp writes column by
// column. The result is in the order of partitions, so concurrent warps read lanes of few
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

// What a gather needs of a gj_packed, in shared memory.
struct alignas(16) GatheredValue {
  uint64_t to;
  uint32_t lane;         // its lane's number
  uint8_t at;            // byte of the lane
  uint8_t bytes;         // 0 behind the last value
  uint8_t fill;          // how many values from this one on fill a word, if all have 1 or all have 2 bytes; otherwise 0
  uint8_t width;         // bytes of the lane
};

// Shared memory: the values and the lanes' arrays, then for each warp its rows' positions
// and lanes.
template <int R, int WARPS>
struct GatherLayout {
  static constexpr int rows = 32 * R, arrays = (GJ_MAX_PACKED + 1) * (int)sizeof(GatheredValue), warps = arrays + GJ_MAX_PACKED * 8, positions = rows * 4,
                       warp_bytes = positions + rows * GJ_LANE_BYTES, bytes = warps + WARPS * warp_bytes;
};

// Where a byte of a row's lane is. Threads read the same 16 bytes of neighbouring rows from
// different banks.
__device__ __forceinline__ uint32_t lane_byte(uint32_t row, uint32_t byte) {
  static_assert(GJ_LANE_BYTES == 64);
  return row * GJ_LANE_BYTES + (byte ^ (row / 2 % 4 * 16));
}

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

// Starts to copy the lanes of n rows. V divides a lane of `width` bytes.
template <class V>
__device__ __forceinline__ void copy_lanes(uint64_t lanes, uint32_t width, const uint32_t* position, uint32_t n, char* to) {
  constexpr uint32_t B = sizeof(V);
  const uint32_t parts = width / B, reciprocal = ~0u / parts + 1, all = n * parts;
#pragma unroll 4
  for (uint32_t k = threadIdx.x & 31; k < all; k += 32) {
    const uint32_t row = parts == 1 ? k : __umulhi(k, reciprocal), part = k - row * parts;
    copy_bytes_async<B>(reinterpret_cast<const char*>(lanes) + (uint64_t)position[row] * width + part * B, to + lane_byte(row, part * B));
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

// Copies the list of values to shared memory, and the lanes' arrays. All T threads.
template <int T>
__device__ __forceinline__ void copy_values(const gj_side* side, GatheredValue* value, uint64_t* array) {
  static_assert(T > GJ_MAX_PACKED);
  const gj_packed* const packed = reinterpret_cast<const gj_packed*>(side->packed);
  const uint32_t k = threadIdx.x, n = (uint32_t)side->packed_count;
  if (k == n) value[k] = {};
  if (k < n) {
    const gj_packed* const v = packed + k;
    uint32_t lane = 0;
    for (uint32_t i = 1; i <= k; i++) lane += packed[i].lane != packed[i - 1].lane;
    const uint8_t fill = fill_word<4>(v) ? 4 : fill_word<2>(v) ? 2 : 0;
    value[k] = {v->to, lane, (uint8_t)v->offset, (uint8_t)v->bytes, fill, (uint8_t)v->lane_bytes};
    array[lane] = v->lane;
  }
  __syncthreads();
}

// T threads; R rows per thread.
template <int T, int R>
__device__ __forceinline__ void gather_packed(const gj_join* join, const gj_side* side, uint64_t most) {
  using Layout = GatherLayout<R, T / 32>;
  extern __shared__ uint4 shared[];
  GatheredValue* const value = reinterpret_cast<GatheredValue*>(shared);
  uint64_t* const array = reinterpret_cast<uint64_t*>(reinterpret_cast<char*>(shared) + Layout::arrays);
  copy_values<T>(side, value, array);
  const uint32_t lane = threadIdx.x & 31;
  char* const mine = reinterpret_cast<char*>(shared) + Layout::warps + threadIdx.x / 32 * Layout::warp_bytes;
  uint32_t* const position = reinterpret_cast<uint32_t*>(mine);
  char* const lanes = mine + Layout::positions;
  const uint64_t rows = result_rows(join, most), step = (uint64_t)gridDim.x * (T / 32) * Layout::rows;
  uint64_t first = ((uint64_t)blockIdx.x * (T / 32) + threadIdx.x / 32) * Layout::rows;
  uint32_t next[R];  // positions
  auto read = [&](uint64_t from) {
#pragma unroll
    for (int r = 0; r < R; r++)
      if (from + r * 32 + lane < rows) next[r] = __ldcs(reinterpret_cast<const uint32_t*>(side->positions) + from + r * 32 + lane);
  };
  read(first);
#pragma unroll 1
  for (; first < rows; first += step) {
    const uint32_t n = (uint32_t)min((uint64_t)Layout::rows, rows - first);
    __syncwarp();
#pragma unroll
    for (int r = 0; r < R; r++) position[r * 32 + lane] = next[r];
#pragma unroll 1
    for (const GatheredValue* v = value; v->bytes;) {
      const uint32_t here = v->lane, width = v->width;
      __syncwarp();  // positions are there, and what was copied before is written
      if (width % 16 == 0)
        copy_lanes<uint4>(array[here], width, position, n, lanes);
      else if (width % 8 == 0)
        copy_lanes<uint2>(array[here], width, position, n, lanes);
      else
        copy_lanes<uint32_t>(array[here], width, position, n, lanes);
      end_copies();
      if (here == 0) read(first + step);
      await_copies<0>();
      __syncwarp();
#pragma unroll 1
      while (v->bytes && v->lane == here) {
        const uint32_t begin = v->at / 16 * 16;
        uint4 w[R];  // of the thread's rows
#pragma unroll
        for (int r = 0; r < R; r++) w[r] = *reinterpret_cast<const uint4*>(lanes + lane_byte(r * 32 + lane, begin));
#pragma unroll 1
        while (v->bytes && v->lane == here && v->at < begin + 16) {
          const GatheredValue x = *v++;
          // act(16 bytes, row) for the thread's rows.
          auto each = [&](auto act) {
#pragma unroll
            for (int r = 0; r < R; r++)
              if (r * 32 + lane < n) act(w[r], first + r * 32 + lane);
          };
          const uint32_t q = x.at / 4 % 4, shift = 8 * (x.at % 4);
          auto word = [&](const uint4& u) { return q & 2 ? q & 1 ? u.w : u.z : q & 1 ? u.y : u.x; };
          if (x.bytes == 16) {
            each([&](const uint4& u, uint64_t row) { __stcs(reinterpret_cast<uint4*>(x.to) + row, u); });
          } else if (x.bytes == 8) {
            each([&](const uint4& u, uint64_t row) { __stcs(reinterpret_cast<uint2*>(x.to) + row, q ? make_uint2(u.z, u.w) : make_uint2(u.x, u.y)); });
          } else if (x.bytes == 4) {
            each([&](const uint4& u, uint64_t row) { __stcs(reinterpret_cast<uint32_t*>(x.to) + row, word(u)); });
          } else if (x.fill == 4 && n == Layout::rows) {
#pragma unroll
            for (int r = 0; r < R; r++) write_narrow<4>(v[(int)(lane % 4) - 1].to, word(w[r]), first + r * 32);
            v += 3;
          } else if (x.fill == 2 && n == Layout::rows) {
#pragma unroll
            for (int r = 0; r < R; r++) write_narrow<2>(v[(int)(lane % 2) - 1].to, word(w[r]), first + r * 32);
            v += 1;
          } else if (x.bytes == 2) {
            each([&](const uint4& u, uint64_t row) { __stcs(reinterpret_cast<uint16_t*>(x.to) + row, (uint16_t)(word(u) >> shift)); });
          } else {
            each([&](const uint4& u, uint64_t row) { __stcs(reinterpret_cast<uint8_t*>(x.to) + row, (uint8_t)(word(u) >> shift)); });
          }
        }
      }
    }
  }
}

}  // namespace gj
