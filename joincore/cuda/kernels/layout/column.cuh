// Reads columns of every width by position.
#pragma once
#include "layout/general.h"

namespace gj {

// Finds a row's position in a column. False: the value is NULL.
__device__ __forceinline__ bool locate(const gj_column& c, uint32_t row, uint32_t& at) {
  at = c.positions ? __ldg(reinterpret_cast<const uint32_t*>(c.positions) + row) : row;
  return at != GJ_NONE && (!c.validity || __ldg(reinterpret_cast<const uint8_t*>(c.validity) + at));
}

// A value of 1, 2, 4 or 8 bytes as a signed integer.
__device__ __forceinline__ int64_t integer_at(const gj_column& c, uint32_t at) {
  switch (c.width) {
    case 1:
      return __ldg(reinterpret_cast<const int8_t*>(c.values) + at);
    case 2:
      return __ldg(reinterpret_cast<const int16_t*>(c.values) + at);
    case 4:
      return __ldg(reinterpret_cast<const int32_t*>(c.values) + at);
    default:
      return __ldg(reinterpret_cast<const long long*>(c.values) + at);
  }
}

// The bytes of a value.
__device__ __forceinline__ gj_span bytes_at(const gj_column& c, uint32_t at) {
  if (c.width) return {c.values + (uint64_t)at * c.width, c.width};
  const ulonglong2 s = __ldg(reinterpret_cast<const ulonglong2*>(c.values) + at);
  return {s.x, s.y};
}

// Up to 8 bytes from `from` on, the first lowest. Reads words if the address is
// aligned.
__device__ __forceinline__ uint64_t word_at(uint64_t from, uint64_t n) {
  if (n >= 8 && from % 8 == 0) return __ldg(reinterpret_cast<const unsigned long long*>(from));
  if (n >= 8 && from % 4 == 0) {
    const uint32_t* p = reinterpret_cast<const uint32_t*>(from);
    return (uint64_t)__ldg(p + 1) << 32 | __ldg(p);
  }
  uint64_t v = 0;
  for (uint32_t i = 0; i < 8 && i < n; i++) v |= (uint64_t)__ldg(reinterpret_cast<const uint8_t*>(from) + i) << 8 * i;
  return v;
}

__device__ __forceinline__ bool same_bytes(gj_span a, gj_span b) {
  if (a.length != b.length) return false;
  for (uint64_t i = 0; i < a.length; i += 8)
    if (word_at(a.address + i, a.length - i) != word_at(b.address + i, b.length - i)) return false;
  return true;
}

}  // namespace gj
