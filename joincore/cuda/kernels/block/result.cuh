// Writes result rows, column by column, from build and probe row numbers in shared
// memory. A sorted side gives clustered gathers, others random ones.
//
// Bound: writes each value once; reads clustered values once, random ones as
// sectors of 32 bytes.
#pragma once
#include "block/scan.cuh"
#include "layout/sort.h"

namespace gj {

// The build and probe row numbers of results: rows anywhere in their columns.
struct FarRows {
  uint32_t* row[2];  // build, probe
  __device__ __forceinline__ void set(uint32_t i, uint32_t build, uint32_t probe) { row[0][i] = build, row[1][i] = probe; }
  // Row i of side s is base(s) + offset(s, i).
  __device__ __forceinline__ uint32_t base(int) const { return 0; }
  __device__ __forceinline__ uint32_t offset(int s, uint32_t i) const { return row[s][i]; }
};

// Compact form: rows less than 2^16 behind the first one of each side.
struct NearRows {
  uint32_t* pair;  // build << 16 | probe
  uint32_t first[2];
  __device__ __forceinline__ void set(uint32_t i, uint32_t build, uint32_t probe) { pair[i] = build << 16 | probe; }
  __device__ __forceinline__ uint32_t base(int s) const { return first[s]; }
  __device__ __forceinline__ uint32_t offset(int s, uint32_t i) const { return reinterpret_cast<const uint16_t*>(pair)[2 * i + 1 - s]; }
};

// Copies n values to column[base...], each warp at multiples of 32 rows so that it
// writes whole sectors. U: values in flight per thread. SPREAD: column.step is not 1.
template <class V, int T, int U, bool SPREAD = false, class Rows>
__device__ __forceinline__ void write_column(const gj_result_column& column, const Rows& rows, uint64_t base, uint32_t n) {
  const int side = (int)column.side;
  const uint32_t first = rows.base(side);
  const V* from = reinterpret_cast<const V*>(column.from) + first;
  const uint64_t step = SPREAD ? column.step : 1;
  V* to = reinterpret_cast<V*>(column.to) + base * step;
  for (int i = (int)threadIdx.x - (int)(base & 31); i < (int)n; i += T * U) {
    uint32_t at[U];
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = (uint32_t)(i + u * T) < n ? rows.offset(side, i + u * T) : 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if ((uint32_t)(i + u * T) < n) {
        if constexpr (sizeof(V) == 4)
          v[u] = column.from ? __ldg(from + at[u]) : first + at[u];
        else
          v[u] = __ldg(from + at[u]);
      }
#pragma unroll
    for (int u = 0; u < U; u++)
      if ((uint32_t)(i + u * T) < n) __stcg(to + (uint64_t)(i + u * T) * step, v[u]);
  }
}

// Writes result rows [base, base + n), except those beyond the capacity. All T
// threads call it. U: 4-byte values in flight per thread; wider values use fewer,
// to save registers.
template <int T, int U, class Rows>
__device__ __forceinline__ void write_result(const gj_result& result, const Rows& rows, uint64_t base, uint32_t n) {
  static_assert(U % 4 == 0);
  if (base >= result.capacity) return;
  n = (uint32_t)min((uint64_t)n, result.capacity - base);
  for (uint32_t c = 0; c < result.columns; c++) {
    const gj_result_column& column = result.column[c];
    switch (column.bytes) {
      case 1: write_column<uint8_t, T, U / 4>(column, rows, base, n); break;
      case 2: write_column<uint16_t, T, U / 4>(column, rows, base, n); break;
      case 4:
        if (column.step == 1)
          write_column<uint32_t, T, U>(column, rows, base, n);
        else
          write_column<uint32_t, T, U / 4, true>(column, rows, base, n);
        break;
      case 8: write_column<uint2, T, U / 2>(column, rows, base, n); break;
      default: write_column<uint4, T, U / 4>(column, rows, base, n);
    }
  }
}

// Claims output space for all results of a block's chunks of 32 rows at once.
template <int CHUNKS>
struct ChunkClaim {
  static_assert(CHUNKS % 32 == 0);
  uint32_t chunk[CHUNKS];  // results of each chunk, later of all chunks before it
  uint32_t total;
  uint64_t base;  // the first result's row number

  // Called by the block's first warp between two barriers; other warps return at once.
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

// Materialisation by row id (UM): gathers column c of the result. The row ids are in
// device memory and may share it with the column itself: a thread reads its rows'
// ids before it writes there. Any number of blocks of T threads; one launch per
// column, so that the caches serve one column at a time.
template <class V, int T, class From>
__device__ __forceinline__ void gather_column(const gj_result_column& column, uint64_t rows, const From& from) {
  constexpr int U = sizeof(V) == 16 ? 4 : 8;
  const uint32_t* index = reinterpret_cast<const uint32_t*>(column.index);
  V* to = reinterpret_cast<V*>(column.to);
  const uint64_t step = column.step;
  for (uint64_t i = (uint64_t)blockIdx.x * T * U + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * T * U) {
    uint32_t at[U];
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = i + u * T < rows ? __ldcs(index + (i + u * T) * step) : 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) v[u] = __ldg(from.template value<V>(at[u]));
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) __stcs(to + i + u * T, v[u]);
  }
}

// A column in one piece.
struct WholeColumn {
  uint64_t from;
  template <class V>
  __device__ __forceinline__ const V* value(uint32_t row) const {
    return reinterpret_cast<const V*>(from) + row;
  }
};

// A column in the memory of several devices: the address of each one's part, and how many
// bits of a row's number are its number there.
struct SpreadColumn {
  const unsigned long long* part;
  uint64_t row_bits;
  template <class V>
  __device__ __forceinline__ const V* value(uint32_t row) const {
    return reinterpret_cast<const V*>(__ldg(part + ((uint64_t)row >> row_bits))) + (row & ((1ull << row_bits) - 1));
  }
};

template <int T, class From>
__device__ __forceinline__ void gather_from(const gj_result* result, uint32_t c, const From& from) {
  const uint64_t rows = min(*reinterpret_cast<const uint64_t*>(result->rows), result->capacity);
  const gj_result_column& column = result->column[c];
  switch (column.bytes) {
    case 1: return gather_column<uint8_t, T>(column, rows, from);
    case 2: return gather_column<uint16_t, T>(column, rows, from);
    case 4: return gather_column<uint32_t, T>(column, rows, from);
    case 8: return gather_column<uint2, T>(column, rows, from);
    default: return gather_column<uint4, T>(column, rows, from);
  }
}

template <int T>
__device__ __forceinline__ void gather_result(const gj_result* result, uint32_t c) {
  gather_from<T>(result, c, WholeColumn{result->column[c].from});
}

// The same where `from` is uint64[devices], the addresses of the column's parts.
template <int T>
__device__ __forceinline__ void gather_spread(const gj_result* result, uint32_t c, uint64_t row_bits) {
  gather_from<T>(result, c, SpreadColumn{reinterpret_cast<const unsigned long long*>(result->column[c].from), row_bits});
}

// Copies a descriptor of 8-byte fields to shared memory; a barrier must follow.
template <int T, class D>
__device__ __forceinline__ void copy_descriptor(const D* from, D* to) {
  for (uint32_t i = threadIdx.x; i < sizeof(D) / 8; i += T) reinterpret_cast<uint64_t*>(to)[i] = reinterpret_cast<const uint64_t*>(from)[i];
}

}  // namespace gj
