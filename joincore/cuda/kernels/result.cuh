// Writes result rows whose build and probe row numbers lie in shared memory,
// column after column. Where the rows of a column are neighbours in memory
// (a sorted side) these are clustered gathers, otherwise random ones.
//
// Bound: writes each value once; reads clustered values once, random ones by
// sectors of 32 bytes.
#pragma once
#include "scan.cuh"
#include "sort.h"

namespace gj {

// Copies n values to column[base...], a warp at multiples of 32 rows, so that it writes whole sectors.
template <class V, int T>
__device__ __forceinline__ void write_column(const gj_result_column& column, const uint32_t* row, uint64_t base, uint32_t n) {
  constexpr int U = sizeof(V) == 16 ? 4 : 8;  // values in flight a thread
  const V* from = reinterpret_cast<const V*>(column.from);
  V* to = reinterpret_cast<V*>(column.to) + base;
  for (int i = (int)threadIdx.x - (int)(base & 31); i < (int)n; i += T * U) {
    uint32_t at[U];
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = (uint32_t)(i + u * T) < n ? row[i + u * T] : 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if ((uint32_t)(i + u * T) < n) {
        if constexpr (sizeof(V) == 4)
          v[u] = from ? __ldg(from + at[u]) : at[u];
        else
          v[u] = __ldg(from + at[u]);
      }
#pragma unroll
    for (int u = 0; u < U; u++)
      if ((uint32_t)(i + u * T) < n) __stcg(to + i + u * T, v[u]);
  }
}

// row[0], row[1]: build and probe rows of result rows base to base + n. All T threads call it.
template <int T>
__device__ __noinline__ void write_result(const gj_result& result, const uint32_t* const (&row)[2], uint64_t base, uint32_t n) {
  if (base >= result.capacity) return;
  n = (uint32_t)min((uint64_t)n, result.capacity - base);
  for (uint32_t c = 0; c < result.columns; c++) {
    const gj_result_column& column = result.column[c];
    const uint32_t* r = column.side ? row[1] : row[0];
    switch (column.bytes) {
      case 1: write_column<uint8_t, T>(column, r, base, n); break;
      case 2: write_column<uint16_t, T>(column, r, base, n); break;
      case 4: write_column<uint32_t, T>(column, r, base, n); break;
      case 8: write_column<uint2, T>(column, r, base, n); break;
      default: write_column<uint4, T>(column, r, base, n);
    }
  }
}

// Room for what a block's chunks of 32 rows return, claimed at once.
template <int CHUNKS>
struct ChunkClaim {
  static_assert(CHUNKS % 32 == 0);
  uint32_t chunk[CHUNKS];  // results of each chunk, then of all before it
  uint32_t total;
  uint64_t base;  // where they begin in the result

  // The block's first warp calls it between two barriers; others return at once.
  __device__ __forceinline__ void claim(const gj_result& result) {
    constexpr int E = CHUNKS / 32;
    if (threadIdx.x >= 32) return;
    uint32_t v[E], sum = 0;
#pragma unroll
    for (int e = 0; e < E; e++) v[e] = chunk[threadIdx.x * E + e], sum += v[e];
    const uint32_t upto = warp_inclusive(sum);
    uint32_t at = upto - sum;
#pragma unroll
    for (int e = 0; e < E; e++) chunk[threadIdx.x * E + e] = at, at += v[e];
    if (threadIdx.x == 31) {
      total = upto;
      base = upto ? atomicAdd(reinterpret_cast<unsigned long long*>(result.rows), upto) : 0;
    }
  }
};

// Materialisation by row id (GFTR's UM): column c of the result, where the rows'
// ids already lie in device memory. Any number of blocks of T threads; a column
// is a launch, so that the caches serve one at a time.
template <class V, int T>
__device__ __forceinline__ void gather_column(const gj_result_column& column, uint64_t rows) {
  constexpr int U = sizeof(V) == 16 ? 4 : 8;
  const V* from = reinterpret_cast<const V*>(column.from);
  const uint32_t* index = reinterpret_cast<const uint32_t*>(column.index);
  V* to = reinterpret_cast<V*>(column.to);
  for (uint64_t i = (uint64_t)blockIdx.x * T * U + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * T * U) {
    uint32_t at[U];
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = i + u * T < rows ? __ldcs(index + i + u * T) : 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) v[u] = __ldg(from + at[u]);
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) __stcs(to + i + u * T, v[u]);
  }
}

template <int T>
__device__ __forceinline__ void gather_result(const gj_result* result, uint32_t c) {
  const uint64_t rows = min(*reinterpret_cast<const uint64_t*>(result->rows), result->capacity);
  const gj_result_column& column = result->column[c];
  switch (column.bytes) {
    case 1: return gather_column<uint8_t, T>(column, rows);
    case 2: return gather_column<uint16_t, T>(column, rows);
    case 4: return gather_column<uint32_t, T>(column, rows);
    case 8: return gather_column<uint2, T>(column, rows);
    default: return gather_column<uint4, T>(column, rows);
  }
}

// Copies a descriptor of 8-byte fields to shared memory; a barrier must follow.
template <int T, class D>
__device__ __forceinline__ void copy_descriptor(const D* from, D* to) {
  for (uint32_t i = threadIdx.x; i < sizeof(D) / 8; i += T) reinterpret_cast<uint64_t*>(to)[i] = reinterpret_cast<const uint64_t*>(from)[i];
}

}  // namespace gj
