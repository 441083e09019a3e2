// The forms in which a side's payload goes through a join.
#pragma once
#include <stdint.h>
#include <type_traits>

#include "descriptor.h"

namespace gj {

enum class Form {
  column,  // carried: columns of equal width
  field,   // carried: fields of up to 4 bytes, a word each
  row_id   // one word by which fields are gathered when the row is written
};

// `words` words of payload a row, `unit` of them a column.
template <Form F, int WORDS, int UNIT = 1>
struct Payload {
  static constexpr Form form = F;
  static constexpr int words = WORDS, unit = UNIT, columns = WORDS / UNIT;
  static constexpr bool partial = F == Form::column && columns > 4;  // there may be fewer columns
  static_assert(WORDS % UNIT == 0 && (F == Form::column || UNIT == 1) && (F != Form::row_id || WORDS == 1));
};

// The value types by width in bytes.
template <int BYTES>
using Value = std::conditional_t<
    BYTES == 1, uint8_t,
    std::conditional_t<BYTES == 2, uint16_t, std::conditional_t<BYTES == 4, uint32_t, std::conditional_t<BYTES == 8, uint2, uint4>>>>;

// One field's value of a row, zero-extended.
__device__ __forceinline__ uint32_t load_field(const gj_field& f, uint64_t row) {
  const char* at = reinterpret_cast<const char*>(f.from + row * f.from_stride);
  return f.bytes == 4   ? __ldcs(reinterpret_cast<const uint32_t*>(at))
         : f.bytes == 2 ? __ldcs(reinterpret_cast<const uint16_t*>(at))
                        : __ldcs(reinterpret_cast<const uint8_t*>(at));
}

// Writes a field of `groups` <= N rows; at(g) is the g-th row's place.
template <int N, class At>
__device__ __forceinline__ void put_field(const gj_field& f, const uint32_t (&v)[N], uint32_t groups, At at) {
#pragma unroll
  for (int g = 0; g < N; g++)
    if (g < groups) {
      char* to = reinterpret_cast<char*>(f.to + at(g) * f.to_stride);
      if (f.bytes == 4)
        __stcg(reinterpret_cast<uint32_t*>(to), v[g]);
      else if (f.bytes == 2)
        __stcg(reinterpret_cast<uint16_t*>(to), (uint16_t)v[g]);
      else
        __stcg(reinterpret_cast<uint8_t*>(to), (uint8_t)v[g]);
    }
}

// Two fields of 4 bytes of a row. Where they lie side by side, as in a buffer of
// rows, they are one load: a load of 32 rows takes as many turns of the cache.
__device__ __forceinline__ void load_two(const gj_field* f, uint32_t id, uint32_t (&v)[2]) {
  const uint64_t from = f[0].from + id * f[0].from_stride;
  if (f[1].from == f[0].from + 4 && f[1].from_stride == f[0].from_stride && (f[0].from | f[0].from_stride) % 8 == 0) {
    const uint2 both = __ldg(reinterpret_cast<const uint2*>(from));
    v[0] = both.x, v[1] = both.y;
  } else {
    v[0] = __ldg(reinterpret_cast<const uint32_t*>(from));
    v[1] = __ldg(reinterpret_cast<const uint32_t*>(f[1].from + id * f[1].from_stride));
  }
}
__device__ __forceinline__ void store_two(const gj_field* f, uint64_t row, const uint32_t (&v)[2]) {
#pragma unroll
  for (int k = 0; k < 2; k++) __stcg(reinterpret_cast<uint32_t*>(f[k].to + row * f[k].to_stride), v[k]);
}

template <int BYTES>
__device__ __forceinline__ void gather_value(const gj_field& f, uint32_t id, uint64_t row) {
  using V = Value<BYTES>;
  __stcg(reinterpret_cast<V*>(f.to + row * f.to_stride), __ldg(reinterpret_cast<const V*>(f.from + id * f.from_stride)));
}

// A row whose fields are gathered by its id: the first two are on their way where
// `begun`, so that both sides' are at the same time. Bound: random 32-byte sectors.
struct Gather {
  uint32_t value[2];
  bool begun;
};

__device__ __forceinline__ bool two_words(const gj_field* f, const gj_field* end) { return f + 1 < end && f[0].bytes == 4 && f[1].bytes == 4; }

__device__ __forceinline__ Gather begin_gather(const gj_side& side, uint32_t id) {
  const gj_field* f = reinterpret_cast<const gj_field*>(side.fields);
  Gather g{{0, 0}, two_words(f, f + side.field_count)};
  if (g.begun) load_two(f, id, g.value);
  return g;
}

// Writes its fields to the result's row.
__device__ __forceinline__ void end_gather(const gj_side& side, uint32_t id, uint64_t row, Gather g) {
  const gj_field* f = reinterpret_cast<const gj_field*>(side.fields);
  const gj_field* const end = f + side.field_count;
  while (f < end) {
    if (g.begun) {
      store_two(f, row, g.value);
      f += 2;
    } else {
      switch (f->bytes) {
        case 1: gather_value<1>(*f, id, row); break;
        case 2: gather_value<2>(*f, id, row); break;
        case 4: gather_value<4>(*f, id, row); break;
        case 8: gather_value<8>(*f, id, row); break;
        default: gather_value<16>(*f, id, row);
      }
      f++;
    }
    g.begun = two_words(f, end);
    if (g.begun) load_two(f, id, g.value);
  }
}

}  // namespace gj
