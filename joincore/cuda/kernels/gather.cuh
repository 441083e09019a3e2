// Materialisation by row id (GFTR's UM): out[i] = column[id[i]], for values of
// B bytes. The number of rows is the join's own count, read on the device.
//
// Bound: random 32-byte sectors; 39.5 G values a second from 2 GiB on an H200.
#pragma once
#include "descriptor.h"

namespace gj {

template <int B>
struct Value;
template <>
struct Value<1> {
  using type = uint8_t;
};
template <>
struct Value<2> {
  using type = uint16_t;
};
template <>
struct Value<4> {
  using type = uint32_t;
};
template <>
struct Value<8> {
  using type = uint2;
};
template <>
struct Value<16> {
  using type = uint4;
};

template <int B, int T>
__device__ __forceinline__ void gather(const gj_join* join, uint64_t ids, uint64_t column, uint64_t out, uint64_t capacity) {
  using V = typename Value<B>::type;
  constexpr int U = 8;  // values in flight a thread
  const uint64_t rows = min((unsigned long long)capacity, reinterpret_cast<const unsigned long long*>(join->counters)[GJ_OUTPUT_ROWS]);
  const uint32_t* id = reinterpret_cast<const uint32_t*>(ids);
  const V* from = reinterpret_cast<const V*>(column);
  V* to = reinterpret_cast<V*>(out);
  for (uint64_t i = (uint64_t)blockIdx.x * T * U + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * T * U) {
    uint32_t at[U];
    V v[U];
#pragma unroll
    for (int u = 0; u < U; u++) at[u] = i + u * T < rows ? __ldcs(id + i + u * T) : 0;
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) v[u] = __ldg(from + at[u]);
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < rows) __stcs(to + i + u * T, v[u]);
  }
}

}  // namespace gj
