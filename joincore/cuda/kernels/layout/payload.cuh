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

// WORDS words of payload per row, UNIT of them per column. BESIDE: the last word has one
// value of 1 byte, which the passes move in one word with the rest of the key's hash
// (block/beside.cuh).
template <PayloadKind F, int WORDS, int UNIT = 1, bool BESIDE = false>
struct Payload {
  static constexpr PayloadKind kind = F;
  static constexpr int words = WORDS, unit = UNIT, columns = WORDS / UNIT;
  static constexpr bool partial = F == PayloadKind::column && columns > 4;  // there may be fewer columns
  static constexpr bool fetched = F == PayloadKind::row_id;
  static constexpr bool beside = BESIDE;
  static_assert(WORDS % UNIT == 0 && (F == PayloadKind::column || UNIT == 1) && (!fetched || WORDS == 1) && (!BESIDE || F == PayloadKind::field && WORDS > 0));
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
