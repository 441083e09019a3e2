// Converts bitmaps to bytes and back, offsets to spans, and gathers values by
// position. Grids of any size; each thread keeps U rows in flight.
#pragma once
#include "layout/general.h"

namespace gj {

// Calls f(i) for i in [0, n), U at a time per thread.
template <int U, class F>
__device__ __forceinline__ void for_rows(uint64_t n, F f) {
  const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += U * stride)
#pragma unroll
    for (int u = 0; u < U; u++)
      if (at + u * stride < n) f(at + u * stride);
}

// A thread expands 4 bits into 4 bytes when the target is aligned.
__device__ __forceinline__ void unpack(const uint32_t* bits, uint64_t rows, uint8_t* to) {
  if (reinterpret_cast<uint64_t>(to) % 4) {
    for_rows<1>(rows, [&](uint64_t i) { to[i] = bits[i / 32] >> (i % 32) & 1; });
    return;
  }
  for_rows<2>(rows / 4, [&](uint64_t i) {
    const uint32_t b = __ldg(bits + i / 8) >> (i % 8 * 4);
    __stcg(reinterpret_cast<uint32_t*>(to) + i, (b & 1) | (b & 2) << 7 | (b & 4) << 14 | (b & 8) << 21);
  });
  for_rows<1>(rows % 4, [&](uint64_t i) {
    i += rows / 4 * 4;
    to[i] = bits[i / 32] >> (i % 32) & 1;
  });
}

// Word w holds rows 32 w - shift to 32 w - shift + 31; bits of rows that do not
// exist are 1. Called by whole warps; a lane reads one byte.
__device__ __forceinline__ void pack(const uint8_t* valid, uint64_t rows, uint64_t shift, uint32_t* to) {
  const uint64_t words = (rows + shift + 31) / 32, lane = threadIdx.x & 31, warps = (uint64_t)gridDim.x * blockDim.x / 32;
  for (uint64_t w = ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; w < words; w += warps) {
    const uint64_t i = w * 32 + lane - shift;  // wraps around below the first row
    const uint32_t word = __ballot_sync(~0u, i >= rows || valid[i]);
    if (lane == 0) to[w] = word;
  }
}

__device__ __forceinline__ void make_spans(const uint32_t* offsets, uint64_t heap, uint64_t heap_bytes, uint64_t rows, ulonglong2* to) {
  for_rows<4>(rows, [&](uint64_t i) {
    const uint64_t end = min((uint64_t)offsets[i + 1], heap_bytes), start = min((uint64_t)offsets[i], end);
    to[i] = make_ulonglong2(heap + start, end - start);
  });
}

// For i in [0, n): v = read(i), then write(i, v), U reads in flight per thread.
template <int U, class V, class Read, class Write>
__device__ __forceinline__ void map_rows(uint64_t n, Read read, Write write) {
  const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
  uint64_t at = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  for (; at + (U - 1) * stride < n; at += U * stride) {
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) v[u] = read(at + u * stride);
#pragma unroll
    for (int u = 0; u < U; u++) write(at + u * stride, v[u]);
  }
  for (; at < n; at += stride) write(at, read(at));
}

__device__ __forceinline__ void compose(const uint32_t* outer, const uint32_t* inner, uint64_t rows, uint32_t* out) {
  map_rows<8, uint32_t>(
      rows,
      [&](uint64_t i) {
        const uint32_t at = __ldcs(outer + i);
        return at == GJ_NONE ? GJ_NONE : __ldg(inner + at);
      },
      [&](uint64_t i, uint32_t v) { __stcs(out + i, v); });
}

// Gathers values by position. A position GJ_NONE gives zeros and NULL.
template <class V>
__device__ __forceinline__ void take_values(const V* values, const uint8_t* validity, const uint32_t* positions, uint64_t from, uint64_t rows, V* out,
                                            uint8_t* valid) {
  auto position = [&](uint64_t i) { return positions ? __ldcs(positions + from + i) : (uint32_t)(from + i); };
  map_rows<8, V>(
      rows,
      [&](uint64_t i) {
        const uint32_t at = position(i);
        return at == GJ_NONE ? V{} : __ldg(values + at);
      },
      [&](uint64_t i, V v) { __stcs(out + i, v); });
  if (!valid) return;
  map_rows<8, uint8_t>(
      rows,
      [&](uint64_t i) {
        const uint32_t at = position(i);
        return (uint8_t)(at != GJ_NONE && (!validity || __ldg(validity + at)));
      },
      [&](uint64_t i, uint8_t v) { __stcs(valid + i, v); });
}

}  // namespace gj
