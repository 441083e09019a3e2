// Writes carried fields from a warp's stage: words of rows in the order of the result.
//
// Values of 1 and 2 bytes share words. A thread reads such a word of four rows at once
// and writes four values of a column by one store, so that a warp's store covers up to
// 128 rows of a column, not the 32 bytes that one value a thread would make.
//
// Words are staged in windows: those that do not make up four, then four at a time. Each
// window has a list of its narrow fields, which the threads divide among them, and one of
// its wide fields.
//
// Bound: writes each value once.
#pragma once
#include <stdint.h>

#include "block/arena.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// What the match needs of a gj_field.
struct alignas(16) CarriedField {
  uint64_t to;
  uint32_t bytes;
  uint16_t select;  // takes the values of two rows from their words (__byte_perm), if they have 1 or 2 bytes
  uint8_t word;     // of its window
  uint8_t at;       // byte of the word
};

// How many fields of 1 and 2 bytes, and of more, begin in a window.
struct FieldCounts {
  uint32_t narrow, wide;
};

// The fields of a side, in shared memory. The fields of a window have four entries for each
// of its words: narrow ones from the first on, wide ones from the last.
template <class P>
struct FieldList {
  static constexpr int head = P::words % 4, windows = (P::words + 3) / 4;
  CarriedField field[4 * P::words];
  FieldCounts count[(windows + 1) / 2 * 2];

  // The window that a word is in, its first word and the number of its words.
  __host__ __device__ static constexpr int window(int word) { return head == 0 ? word / 4 : word < head ? 0 : 1 + (word - head) / 4; }
  __host__ __device__ static constexpr int first(int window) { return window == 0 ? 0 : 4 * window - (head ? 4 - head : 0); }
  __host__ __device__ static constexpr int words(int window) { return window == 0 && head ? head : 4; }
};

// Bytes of a side's list.
template <class P>
__host__ __device__ constexpr int field_list_bytes() {
  if constexpr (P::kind == PayloadKind::field)
    return sizeof(FieldList<P>);
  else
    return 0;
}

// Copies a side's fields to shared memory. All T threads; a barrier follows.
template <class P, int T>
__device__ __forceinline__ void copy_fields(const gj_side& side, FieldList<P>* list) {
  if constexpr (P::kind == PayloadKind::field) {
    using L = FieldList<P>;
    static_assert(T >= 4 * P::words);
    const uint32_t k = threadIdx.x;
    if (k < L::windows) list->count[k] = {0, 0};
    __syncthreads();
    if (k >= side.field_count) return;
    const gj_field f = reinterpret_cast<const gj_field*>(side.fields)[k];
    const uint32_t bytes = (uint32_t)f.bytes, byte = (uint32_t)f.at % 4, w = L::window((int)f.at / 4), first = L::first(w);
    const bool narrow = bytes < 4;
    const uint32_t i = atomicAdd(narrow ? &list->count[w].narrow : &list->count[w].wide, 1);
    const uint32_t select = bytes == 1 ? byte | (byte + 4) << 4 : byte ? 0x7632 : 0x5410;
    list->field[narrow ? 4 * first + i : 4 * (first + L::words(w)) - 1 - i] = {f.to, bytes, (uint16_t)select, (uint8_t)(f.at / 4 - first), (uint8_t)byte};
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

// Calls act for each of the fields in a window of Q words.
template <int Q, class Act>
__device__ __forceinline__ void each_field(const CarriedField* f, FieldCounts count, Act act) {
#pragma unroll 1
  for (uint32_t i = 0; i < count.narrow + count.wide; i++) act(f[i < count.narrow ? i : 4 * Q - 1 - (i - count.narrow)]);
}

// Writes n narrow fields of 32 * groups <= 32 * N rows, of which word v.word of row i is
// stage[v.word * EACH + i]. `rows` begins at a multiple of 4. Each thread writes four rows, so
// that 8 * N threads write a column.
template <int Q, int N, int EACH>
__device__ __forceinline__ void put_narrow(const CarriedField* f, uint32_t n, const uint32_t* stage, uint32_t groups, const Claim& rows) {
  constexpr uint32_t threads = 8 * N, columns = 32 / threads;  // at a time
  static_assert(32 % threads == 0);
  const uint32_t lane = threadIdx.x & 31, four = lane % threads;
  if (four >= 8 * groups) return;
  const uint64_t row = rows.at(4 * four);
#pragma unroll 1
  for (uint32_t i = lane / threads; i < n; i += columns) {
    const CarriedField v = f[i];
    const uint4 w = reinterpret_cast<const uint4*>(Q == 1 ? stage : stage + v.word * EACH)[four];
    const uint32_t a = __byte_perm(w.x, w.y, v.select), b = __byte_perm(w.z, w.w, v.select);
    if (v.bytes == 1)
      __stcg(reinterpret_cast<uint32_t*>(v.to + row), __byte_perm(a, b, 0x5410));
    else
      __stcg(reinterpret_cast<uint2*>(v.to + 2 * row), make_uint2(a, b));
  }
}

// Writes the fields that begin in a window of Q words. Word q of row i of 32 * groups <=
// 32 * N rows is stage[q * EACH + i]. All lanes of a warp call it.
template <int Q, int N, int EACH>
__device__ __forceinline__ void put_fields(const CarriedField* f, FieldCounts count, const uint32_t* stage, uint32_t groups, const Claim& rows) {
  const uint32_t lane = threadIdx.x & 31;
  if (rows.base % 4 == 0) {
    put_narrow<Q, N, EACH>(f, count.narrow, stage, groups, rows);
    count.narrow = 0;  // they are written
  }
  if (count.narrow || rows.first != groups * 32) {  // rows begin anywhere, or in two places: one value at a time
    each_field<Q>(f, count, [&](const CarriedField& v) {
#pragma unroll 1
      for (uint32_t g = 0; g < groups; g++) write_field<EACH>(v, rows.at(g * 32 + lane), stage + v.word * EACH + lane + g * 32);
    });
    return;
  }
#pragma unroll 1
  for (uint32_t i = 0; i < count.wide; i++) {
    const CarriedField v = f[4 * Q - 1 - i];
    const uint32_t* const words = (Q == 1 ? stage : stage + v.word * EACH) + lane;
    auto each = [&](auto value) {
      using V = decltype(value(words));
      V* const to = reinterpret_cast<V*>(v.to) + rows.base + lane;
#pragma unroll
      for (int g = 0; g < N; g++)
        if (g < groups) __stcg(to + g * 32, value(words + g * 32));
    };
    if (Q < 2 || v.bytes == 4) {
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
