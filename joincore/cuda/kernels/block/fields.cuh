// Writes carried fields from a warp's stage: words of rows in the order of the result.
//
// Values of 1 and 2 bytes share words. A thread reads such a word of four rows at once
// and writes four values of a column by one store, so that a warp's store covers up to
// 128 rows of a column, not the 32 bytes that one value a thread would make.
//
// Bound: writes each value once.
#pragma once
#include <stdint.h>

#include "block/arena.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// What the match needs of a gj_field, in shared memory. A list of them has four entries for
// each word of the payload: the fields that begin in it.
struct alignas(16) CarriedField {
  uint64_t to;
  uint32_t here;    // in a word's first entry: how many fields begin in the word
  uint16_t select;  // takes the values of two rows from their words (__byte_perm), if they have 1 or 2 bytes
  uint8_t at;       // byte of the word
  uint8_t bytes;
};

// The entries of a payload kind's list.
template <class P>
constexpr int listed_fields = P::kind == PayloadKind::field ? 4 * P::words : 0;

// Copies a side's fields to shared memory. All T threads; a barrier follows.
template <class P, int T>
__device__ __forceinline__ void copy_fields(const gj_side& side, CarriedField* to) {
  if constexpr (P::kind == PayloadKind::field) {
    static_assert(T >= listed_fields<P>);
    const gj_field* const f = reinterpret_cast<const gj_field*>(side.fields);
    const uint32_t k = threadIdx.x, n = (uint32_t)side.field_count;
    if (n == 0 && k < P::words) to[4 * k].here = 0;
    if (k >= n) return;
    const uint32_t word = (uint32_t)f[k].at / 4, byte = (uint32_t)f[k].at % 4, bytes = (uint32_t)f[k].bytes;
    uint32_t before = 0;  // fields that begin earlier in the word
    while (before < k && f[k - before - 1].at / 4 == word) before++;
    const uint32_t select = bytes == 1 ? byte | (byte + 4) << 4 : byte ? 0x7632 : 0x5410;
    to[4 * word + before] = {f[k].to, (uint32_t)f[k].together, (uint16_t)select, (uint8_t)byte, (uint8_t)bytes};
    // No field begins in the words up to that of the next one.
    for (uint32_t w = word + 1; w < (k + 1 < n ? (uint32_t)f[k + 1].at / 4 : P::words); w++) to[4 * w].here = 0;
  }
}

// Writes a row's value, which begins in w[0]; its other words are EACH apart.
template <int EACH>
__device__ __forceinline__ void write_field(const CarriedField& f, uint64_t row, const uint32_t* w) {
  const uint32_t narrow = w[0] >> 8 * f.at;
  switch (f.bytes) {
    case 1: __stcg(reinterpret_cast<uint8_t*>(f.to) + row, (uint8_t)narrow); break;
    case 2: __stcg(reinterpret_cast<uint16_t*>(f.to) + row, (uint16_t)narrow); break;
    case 4: __stcg(reinterpret_cast<uint32_t*>(f.to) + row, w[0]); break;
    case 8: __stcg(reinterpret_cast<uint2*>(f.to) + row, make_uint2(w[0], w[EACH])); break;
    default: __stcg(reinterpret_cast<uint4*>(f.to) + row, make_uint4(w[0], w[EACH], w[2 * EACH], w[3 * EACH]));
  }
}

// The threads that write four rows each of a column of 32 * N rows, and how many columns a
// warp writes at once.
template <int N>
struct Fours {
  static constexpr uint32_t threads = 8 * N, columns = 32 / threads;
  static_assert(32 % threads == 0);
  __device__ static __forceinline__ uint32_t mine() { return (threadIdx.x & 31) % threads; }
};

// Writes the fields from f on, as many as v.here says, which begin in the same word and have
// 1 or 2 bytes, of 32 * groups <= 32 * N rows. v is f[0]; `words` are the rows' words; the
// thread's four rows are row `row` of the result and those after it.
template <int N>
__device__ __forceinline__ void write_narrow_fields(const CarriedField* f, CarriedField v, const uint32_t* words, uint32_t groups, uint64_t row) {
  const uint32_t four = Fours<N>::mine(), n = v.here;
  if (four >= 8 * groups) return;
  uint32_t i = 0;
  if constexpr (Fours<N>::columns > 1) {
    i = (threadIdx.x & 31) / Fours<N>::threads;
    if (i >= n) return;
    v = f[i];
  }
  const uint4 w = reinterpret_cast<const uint4*>(words)[four];
  while (true) {
    const uint32_t a = __byte_perm(w.x, w.y, v.select), b = __byte_perm(w.z, w.w, v.select);
    if (v.bytes == 1)
      __stcg(reinterpret_cast<uint32_t*>(v.to + row), __byte_perm(a, b, 0x5410));
    else
      __stcg(reinterpret_cast<uint2*>(v.to + 2 * row), make_uint2(a, b));
    i += Fours<N>::columns;
    if (i >= n) return;
    v = f[i];
  }
}

// Writes the fields that begin in Q words of the payload; f is their list. Word q of row i of
// 32 * groups <= 32 * N rows is stage[q * EACH + i]. All lanes of a warp call it.
template <int Q, int N, int EACH>
__device__ __forceinline__ void put_fields(const CarriedField* f, const uint32_t* stage, uint32_t groups, const Claim& rows) {
  const uint32_t lane = threadIdx.x & 31;
  const bool whole = rows.first == groups * 32;
#pragma unroll 1
  for (int q = 0; q < Q; q++, f += 4, stage += EACH) {
    const CarriedField v = *f;
    auto each = [&](auto value) {
      using V = decltype(value(stage));
      V* const to = reinterpret_cast<V*>(v.to) + rows.base + lane;
#pragma unroll
      for (int g = 0; g < N; g++)
        if (g < groups) __stcg(to + g * 32, value(stage + lane + g * 32));
    };
    if (!v.here) {
      continue;
    } else if (v.bytes < 4 && rows.base % 4 == 0) {
      write_narrow_fields<N>(f, v, stage, groups, rows.at(4 * Fours<N>::mine()));
    } else if (v.bytes < 4 || !whole) {
#pragma unroll 1
      for (uint32_t i = 0; i < v.here; i++)
#pragma unroll 1
        for (uint32_t g = 0; g < groups; g++) write_field<EACH>(f[i], rows.at(g * 32 + lane), stage + lane + g * 32);
    } else if (Q < 2 || v.bytes == 4) {
      each([&](const uint32_t* w) { return w[0]; });
    } else if (Q < 4 || v.bytes == 8) {
      constexpr int next = Q < 2 ? 0 : EACH;
      each([&](const uint32_t* w) { return make_uint2(w[0], w[next]); });
    } else {
      constexpr int next = Q < 4 ? 0 : EACH;
      each([&](const uint32_t* w) { return make_uint4(w[0], w[next], w[2 * next], w[3 * next]); });
    }
  }
}

}  // namespace gj
