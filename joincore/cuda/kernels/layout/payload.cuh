// The kinds of payload: how a side's payload goes through a join.
#pragma once
#include <stdint.h>
#include <type_traits>

#include "layout/join.h"

namespace gj {

enum class PayloadKind {
  column,  // carried: columns of equal width
  field,   // carried: fields of any widths, those of 1 and 2 bytes several to a word
  row_id   // one word, by which fields are gathered when the row is written
};

// WORDS words of payload per row, UNIT of them per column.
template <PayloadKind F, int WORDS, int UNIT = 1>
struct Payload {
  static constexpr PayloadKind kind = F;
  static constexpr int words = WORDS, unit = UNIT, columns = WORDS / UNIT;
  static constexpr bool partial = F == PayloadKind::column && columns > 4;  // there may be fewer columns
  static constexpr bool fetched = F == PayloadKind::row_id;
  static_assert(WORDS % UNIT == 0 && (F == PayloadKind::column || UNIT == 1) && (!fetched || WORDS == 1));
};

// The value types by width in bytes.
template <int BYTES>
using Value = std::conditional_t<
    BYTES == 1, uint8_t,
    std::conditional_t<BYTES == 2, uint16_t, std::conditional_t<BYTES == 4, uint32_t, std::conditional_t<BYTES == 8, uint2, uint4>>>>;

// Reads the words of one row from carried fields.
template <int WORDS>
__device__ __forceinline__ void load_fields(const gj_field* f, uint64_t count, uint64_t row, uint32_t* word) {
  uint64_t k = 0;
#pragma unroll
  for (uint32_t c = 0; c < WORDS; c++) {
    uint32_t w = 0;
    for (; k < count && f[k].at < 4 * c + 4; k++) {
      const char* from = reinterpret_cast<const char*>(f[k].from + row * f[k].from_stride);
      if (f[k].bytes >= 4) {
        w = __ldcs(reinterpret_cast<const uint32_t*>(from + 4 * c - f[k].at));
        if (f[k].at + f[k].bytes > 4 * c + 4) break;
      } else {
        const uint32_t v = f[k].bytes == 2 ? __ldcs(reinterpret_cast<const uint16_t*>(from)) : __ldcs(reinterpret_cast<const uint8_t*>(from));
        w |= v << 8 * (f[k].at % 4);
      }
    }
    word[c] = w;
  }
}

// Writes the C values in a word of each row of a warp, the first of which is row `first`,
// a multiple of 4: each thread writes C rows' values to the column of its lane % C.
template <int C>
__device__ __forceinline__ void write_narrow(uint64_t column, uint32_t word, uint64_t first) {
  const uint32_t lane = threadIdx.x & 31;
  if constexpr (C == 4) {
    const uint32_t next = __shfl_xor_sync(~0u, word, 1);
    word = lane & 1 ? __byte_perm(next, word, 0x7351) : __byte_perm(word, next, 0x6240);
  }
  const uint32_t other = __shfl_xor_sync(~0u, word, C / 2);
  word = lane & C / 2 ? __byte_perm(other, word, 0x7632) : __byte_perm(word, other, 0x5410);
  __stcs(reinterpret_cast<uint32_t*>(column + (first + lane / C * C) * (4 / C)), word);
}

// Writes the fields that begin in words [first, first + Q) of the payload, from field k on,
// and returns the field after them. word(q, g) is word first + q of the lane's row in group
// g of `groups` <= N, which is written to at(g). whole: the rows of each group follow one
// another in the result, from a multiple of 4 on. All lanes of a warp call it.
template <int Q, int N, class Word, class At>
__device__ __forceinline__ uint32_t put_fields(const gj_field* f, uint32_t k, uint32_t count, uint32_t first, uint32_t groups, bool whole, Word word, At at) {
  const uint32_t lane = threadIdx.x & 31;
  while (k < count && f[k].at < 4 * (first + Q)) {
    const uint64_t to = f[k].to;
    const uint32_t bytes = (uint32_t)f[k].bytes, q = (uint32_t)f[k].at / 4 - first, together = whole ? (uint32_t)f[k].together : 1;
    auto each = [&](auto act) {
#pragma unroll
      for (int g = 0; g < N; g++)
        if (g < groups) act(g, at(g));
    };
    if (bytes == 4) {
      each([&](int g, uint64_t row) { __stcg(reinterpret_cast<uint32_t*>(to) + row, word(q, g)); });
    } else if (bytes == 16) {
      each([&](int g, uint64_t row) { __stcg(reinterpret_cast<uint4*>(to) + row, make_uint4(word(0, g), word(1, g), word(2, g), word(3, g))); });
    } else if (bytes == 8) {
      each([&](int g, uint64_t row) { __stcg(reinterpret_cast<uint2*>(to) + row, make_uint2(word(q, g), word(q + 1, g))); });
    } else if (together == 4) {
      const uint64_t mine = f[k + lane % 4].to;
      each([&](int g, uint64_t row) { write_narrow<4>(mine, word(q, g), row - lane); });
    } else if (together == 2) {
      const uint64_t mine = f[k + lane % 2].to;
      each([&](int g, uint64_t row) { write_narrow<2>(mine, word(q, g), row - lane); });
    } else {
      const uint32_t shift = 8 * (uint32_t)(f[k].at % 4);
      if (bytes == 2)
        each([&](int g, uint64_t row) { __stcg(reinterpret_cast<uint16_t*>(to) + row, (uint16_t)(word(q, g) >> shift)); });
      else
        each([&](int g, uint64_t row) { __stcg(reinterpret_cast<uint8_t*>(to) + row, (uint8_t)(word(q, g) >> shift)); });
    }
    k += together;
  }
  return k;
}

// Gathers F fields of one width by row id and writes them, up to 16 bytes per lane
// in flight. Bound: random 32-byte sectors.
template <int BYTES, int F, int N, class At>
__device__ __forceinline__ void gather_values(const gj_field* f, const uint32_t (&id)[N], uint32_t groups, At at) {
  using V = Value<BYTES>;
  constexpr int most = BYTES * F <= 4 ? 4 : BYTES * F == 8 ? 2 : 1, U = N < most ? N : most;
#pragma unroll
  for (int first = 0; first < N; first += U) {
    V v[F][U];
#pragma unroll
    for (int k = 0; k < F; k++)
#pragma unroll
      for (int u = 0; u < U; u++)
        if (first + u < groups) v[k][u] = __ldg(reinterpret_cast<const V*>(f[k].from + id[first + u] * f[k].from_stride));
#pragma unroll
    for (int k = 0; k < F; k++)
#pragma unroll
      for (int u = 0; u < U; u++)
        if (first + u < groups) __stcg(reinterpret_cast<V*>(f[k].to + at(first + u) * f[k].to_stride), v[k][u]);
  }
}

// Whether two 4-byte fields are adjacent in memory, as in a row buffer. They are then
// read by one load, which halves the number of cache accesses.
__device__ __forceinline__ bool side_by_side(const gj_field* f) {
  return f[1].from == f[0].from + 4 && f[1].from_stride == f[0].from_stride && (f[0].from | f[0].from_stride) % 8 == 0;
}
__device__ __forceinline__ void gather_pair(const gj_field* f, uint32_t id, uint64_t row) {
  const uint2 v = __ldg(reinterpret_cast<const uint2*>(f[0].from + id * f[0].from_stride));
  __stcg(reinterpret_cast<uint32_t*>(f[0].to + row * f[0].to_stride), v.x);
  __stcg(reinterpret_cast<uint32_t*>(f[1].to + row * f[1].to_stride), v.y);
}

// Gathers all of a side's fields, adjacent 4-byte ones in pairs: with few rows at a
// time single loads do not hide the latency.
template <int N, class At>
__device__ __forceinline__ void gather_fields(const gj_side& side, const uint32_t (&id)[N], uint32_t groups, At at) {
  const gj_field* f = reinterpret_cast<const gj_field*>(side.fields);
  const gj_field* const end = f + side.field_count;
  for (; f < end; f++) {
    switch (f->bytes) {
      case 1: gather_values<1, 1, N>(f, id, groups, at); break;
      case 2: gather_values<2, 1, N>(f, id, groups, at); break;
      case 4:
        if (f + 1 == end || f[1].bytes != 4)
          gather_values<4, 1, N>(f, id, groups, at);
        else if (N == 1 && side_by_side(f))
          gather_pair(f++, id[0], at(0));
        else
          gather_values<4, 2, N>(f++, id, groups, at);
        break;
      case 8: gather_values<8, 1, N>(f, id, groups, at); break;
      default: gather_values<16, 1, N>(f, id, groups, at);
    }
  }
}

}  // namespace gj
