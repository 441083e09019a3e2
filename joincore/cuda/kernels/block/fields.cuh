// Writes carried fields from a warp's stage: words of rows in the order of the result.
//
// Values of 1 and 2 bytes share words. A thread reads such a word of four rows at once
// and writes four values of a column by one store, so that a warp's store covers up to
// 128 rows of a column, not the 32 bytes that one value a thread would make.
//
// Bound: writes each value once.
#pragma once
#include <stdint.h>

#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// What the match needs of a gj_field, in shared memory.
struct alignas(16) CarriedField {
  uint64_t to;
  uint32_t at;
  uint16_t bytes, together;
};

// The entries of a payload kind's list: four fields in a word, and one that ends the list.
template <class P>
constexpr int listed_fields = P::kind == PayloadKind::field ? 4 * P::words + 1 : 0;
constexpr uint32_t no_field = ~0u;  // `at` of the entry that ends a list

// Copies a side's fields to shared memory. All T threads; a barrier follows.
template <class P, int T>
__device__ __forceinline__ void copy_fields(const gj_side& side, CarriedField* to) {
  if constexpr (P::kind == PayloadKind::field) {
    static_assert(T >= listed_fields<P>);
    const gj_field* const f = reinterpret_cast<const gj_field*>(side.fields);
    const uint32_t k = threadIdx.x;
    if (k < side.field_count)
      to[k] = {f[k].to, (uint32_t)f[k].at, (uint16_t)f[k].bytes, (uint16_t)f[k].together};
    else if (k == side.field_count)
      to[k] = {0, no_field, 0, 0};
  }
}

// Writes a row's value, which begins in w[0]; its other words are EACH apart.
template <int EACH>
__device__ __forceinline__ void write_field(const CarriedField& f, uint64_t row, const uint32_t* w) {
  const uint32_t narrow = w[0] >> 8 * (f.at % 4);
  switch (f.bytes) {
    case 1: __stcg(reinterpret_cast<uint8_t*>(f.to) + row, (uint8_t)narrow); break;
    case 2: __stcg(reinterpret_cast<uint16_t*>(f.to) + row, (uint16_t)narrow); break;
    case 4: __stcg(reinterpret_cast<uint32_t*>(f.to) + row, w[0]); break;
    case 8: __stcg(reinterpret_cast<uint2*>(f.to) + row, make_uint2(w[0], w[EACH])); break;
    default: __stcg(reinterpret_cast<uint4*>(f.to) + row, make_uint4(w[0], w[EACH], w[2 * EACH], w[3 * EACH]));
  }
}

// Writes the fields of the list from f on that are in the same word, of 32 * groups <= 32 * N
// rows. The first row is row `first` of the result, a multiple of 4; the others follow it.
// v is f[0]; `words` are the rows' words. Returns the field after them.
template <int N>
__device__ __forceinline__ const CarriedField* write_narrow_fields(const CarriedField* f, CarriedField v, const uint32_t* words, uint32_t groups, uint64_t first) {
  constexpr uint32_t threads = 8 * N, side_by_side = 32 / threads;
  static_assert(32 % threads == 0);
  const uint32_t lane = threadIdx.x & 31, four = lane % threads;
  const CarriedField* const end = f + v.together;
  if (four >= 8 * groups) return end;
  // With fewer than four groups other threads write other fields.
  uint32_t more = v.together - 1;
  if constexpr (side_by_side > 1) {
    if (lane / threads > more) return end;
    more -= lane / threads;
    f += lane / threads;
    v = *f;
  }
  const uint4 w = reinterpret_cast<const uint4*>(words)[four];
  const uint64_t row = first + 4 * four;
  while (true) {
    const uint32_t byte = v.at % 4;
    if (v.bytes == 1) {
      const uint32_t both = byte | (byte + 4) << 4;
      __stcg(reinterpret_cast<uint32_t*>(v.to + row), __byte_perm(__byte_perm(w.x, w.y, both), __byte_perm(w.z, w.w, both), 0x5410));
    } else {
      const uint32_t both = byte ? 0x7632 : 0x5410;
      __stcg(reinterpret_cast<uint2*>(v.to + 2 * row), make_uint2(__byte_perm(w.x, w.y, both), __byte_perm(w.z, w.w, both)));
    }
    if (more < side_by_side) return end;
    more -= side_by_side;
    f += side_by_side;
    v = *f;
  }
}

// Writes the fields that begin in words [first, first + Q) of the payload, from field f of
// the list on, and returns the field after them. Word first + q of row i of 32 * groups <=
// 32 * N rows is stage[q * EACH + i]. whole: the rows follow one another in the result, from
// row `base` on, a multiple of 4; otherwise row i is written to at(i). All lanes of a warp
// call it. A field begins in the window that holds all of it.
template <int Q, int N, int EACH, class At>
__device__ __forceinline__ const CarriedField* put_fields(const CarriedField* f, uint32_t first, const uint32_t* stage, uint32_t groups, bool whole, uint64_t base,
                                                          At at) {
  const uint32_t lane = threadIdx.x & 31;
  while (true) {
    const CarriedField v = *f;
    if (v.at >= 4 * (first + Q)) return f;
    const uint32_t* const words = Q == 1 ? stage : stage + (v.at / 4 - first) * EACH;
    auto each = [&](auto value) {
      using V = decltype(value(words));
      V* const to = reinterpret_cast<V*>(v.to) + base + lane;
#pragma unroll
      for (int g = 0; g < N; g++)
        if (g < groups) __stcg(to + g * 32, value(words + lane + g * 32));
    };
    if (!whole) {
#pragma unroll 1
      for (uint32_t k = 0; k < v.together * groups; k++) write_field<EACH>(f[k / groups], at(k % groups * 32 + lane), words + lane + k % groups * 32);
    } else if (v.bytes < 4) {
      f = write_narrow_fields<N>(f, v, words, groups, base);
      continue;
    } else if (Q < 2 || v.bytes == 4) {
      each([&](const uint32_t* w) { return w[0]; });
    } else if (Q < 4 || v.bytes == 8) {
      constexpr int next = Q < 2 ? 0 : EACH;
      each([&](const uint32_t* w) { return make_uint2(w[0], w[next]); });
    } else {
      constexpr int next = Q < 4 ? 0 : EACH;
      each([&](const uint32_t* w) { return make_uint4(w[0], w[next], w[2 * next], w[3 * next]); });
    }
    f += v.together;
  }
}

}  // namespace gj
