// Rows of an input's columns of any widths, as a source of a partition pass
// (agent/scatter.cuh). The rows' payload is words in which columns of 1 and 2 bytes share
// words (PayloadKind::field).
//
// A thread reads four neighbouring rows of each column at once, and keeps what it has read
// until the pass orders its tile. So a column of 1 byte takes one load for four rows, and
// loads are as many and as far ahead as those of columns of 4 bytes. Then the values of
// a word change places, four rows by up to four columns.
//
// Columns begin at multiples of 16 bytes. The last read of a column may end behind it, but
// never behind the 16 bytes in which it ends.
//
// Bound: reads each value once.
#pragma once
#include <stdint.h>

#include "block/beside.cuh"
#include "block/hash.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

template <int KW, class P>
struct FieldSource {
  static constexpr int W = KW + P::words;
  static constexpr bool selective = false;
  static constexpr int together = 4;
  const gj_side* side;

  __device__ explicit FieldSource(const gj_side* s) : side(s) {
    const gj_field* const f = reinterpret_cast<const gj_field*>(s->fields);
    uint32_t k = 0;
#pragma unroll
    for (int c = 0; c < P::words; c++) {
      const uint32_t first = k;
      bool mixed = false;
      for (; k < s->field_count && f[k].at < 4 * c + 4; k++) mixed |= f[k].bytes != f[first].bytes;
      begun[c] = {(uint8_t)first, (uint8_t)(k - first), (uint8_t)(k > first ? f[first].bytes : 0), mixed};
    }
  }

  __device__ __forceinline__ uint32_t parents() const { return 1; }
  __device__ __forceinline__ uint32_t start(uint32_t) const { return 0; }
  __device__ __forceinline__ uint32_t rows(uint32_t) const { return (uint32_t)side->rows; }

  // Reads, for each G, the four rows from first + 4 * T * G on, of which `rows` - 4 * T * G
  // exist. Payload words of four rows have what was read of the columns.
  template <int T, int IPT>
  __device__ __forceinline__ void load(uint64_t first, int rows, Row<W> (&r)[IPT]) const {
    static_assert(IPT % 4 == 0);
    auto each = [&](auto act) {
#pragma unroll
      for (int g = 0; g < IPT / 4; g++)
        if (rows > 4 * T * g) act(first + 4 * T * g, rows - 4 * T * g, g * 4);
    };
    each([&](uint64_t row, int n, int j) { wide<KW>(side->key, row, n, r, j, 0); });
    const gj_field* const fields = reinterpret_cast<const gj_field*>(side->fields);
#pragma unroll
    for (int c = 0; c < P::words; c++) {
      const Begun b = begun[c];
      const gj_field* const f = fields + b.first;
      if (b.bytes == 0) continue;
      const uint64_t from = f[0].from;
      const int q = KW + c;
      if (b.bytes == 1) {
        each([&](uint64_t row, int, int j) { r[j].word[q] = bytes(from, row); });
#pragma unroll
        for (int i = 1; i < 4; i++)
          if (i < b.count) {
            const uint64_t other = f[i].from;
            each([&](uint64_t row, int, int j) { r[j + i].word[q] = bytes(other, row); });
          }
      } else if (b.bytes == 2) {
        each([&](uint64_t row, int, int j) { halves(from, row, r[j].word[q], r[j + 1].word[q]); });
        if (b.count > 1) {
          const uint64_t other = f[1].from;
          if (!b.mixed)
            each([&](uint64_t row, int, int j) { halves(other, row, r[j + 2].word[q], r[j + 3].word[q]); });
          else
            each([&](uint64_t row, int, int j) { r[j + 2].word[q] = bytes(other, row); });
        }
        if (b.count > 2) {
          const uint64_t last = f[2].from;
          each([&](uint64_t row, int, int j) { r[j + 3].word[q] = bytes(last, row); });
        }
      } else if (b.bytes == 4) {
        each([&](uint64_t row, int n, int j) { wide<1>(from, row, n, r, j, q); });
      } else if (b.bytes == 8) {
        if constexpr (P::words >= 2)
          if (c + 2 <= P::words) each([&](uint64_t row, int n, int j) { wide<2>(from, row, n, r, j, c + 2 <= P::words ? q : 0); });
      } else {
        if constexpr (P::words >= 4)
          if (c + 4 <= P::words) each([&](uint64_t row, int n, int j) { wide<4>(from, row, n, r, j, c + 4 <= P::words ? q : 0); });
      }
    }
  }

  // Gives each row its own values.
  template <int IPT>
  __device__ __forceinline__ void arrange(Row<W> (&r)[IPT]) const {
#pragma unroll
    for (int c = 0; c < P::words; c++) {
      const Begun b = begun[c];
      const int q = KW + c;
      if (b.bytes == 1) {
#pragma unroll
        for (int j = 0; j < IPT; j += 4) {
          const uint32_t a = r[j].word[q], x = r[j + 1].word[q], y = r[j + 2].word[q], z = r[j + 3].word[q];
          const uint32_t ax = __byte_perm(a, x, 0x5140), ax2 = __byte_perm(a, x, 0x7362), yz = __byte_perm(y, z, 0x5140), yz2 = __byte_perm(y, z, 0x7362);
          r[j].word[q] = __byte_perm(ax, yz, 0x5410), r[j + 1].word[q] = __byte_perm(ax, yz, 0x7632);
          r[j + 2].word[q] = __byte_perm(ax2, yz2, 0x5410), r[j + 3].word[q] = __byte_perm(ax2, yz2, 0x7632);
        }
      } else if (b.bytes == 2) {
#pragma unroll
        for (int j = 0; j < IPT; j += 4) {
          uint32_t a = r[j].word[q], a2 = r[j + 1].word[q], x = r[j + 2].word[q], x2 = r[j + 3].word[q];
          if (b.mixed) {  // the second and third column have 1 byte
            const uint32_t y = x, z = x2;
            x = __byte_perm(y, z, 0x5140), x2 = __byte_perm(y, z, 0x7362);
          }
          r[j].word[q] = __byte_perm(a, x, 0x5410), r[j + 1].word[q] = __byte_perm(a, x, 0x7632);
          r[j + 2].word[q] = __byte_perm(a2, x2, 0x5410), r[j + 3].word[q] = __byte_perm(a2, x2, 0x7632);
        }
      }
    }
  }

 private:
  // The columns that begin in a word: the first one, how many, and the bytes of the first;
  // mixed: others have fewer.
  struct Begun {
    uint8_t first, count, bytes;
    bool mixed;
  };
  Begun begun[P::words ? P::words : 1];

  // Four values of 1 and of 2 bytes.
  __device__ static __forceinline__ uint32_t bytes(uint64_t from, uint64_t row) { return __ldcs(reinterpret_cast<const uint32_t*>(from + row)); }
  __device__ static __forceinline__ void halves(uint64_t from, uint64_t row, uint32_t& a, uint32_t& b) {
    const uint2 v = __ldcs(reinterpret_cast<const uint2*>(from + 2 * row));
    a = v.x, b = v.y;
  }

  // Four values of V words, of which n exist, into words q and on of rows j and on.
  template <int V, int IPT>
  __device__ static __forceinline__ void wide(uint64_t from, uint64_t row, int n, Row<W> (&r)[IPT], int j, int q) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      constexpr int per = 4 / V;  // values in 16 bytes
      if (n <= i * per) return;
      const uint4 v = __ldcs(reinterpret_cast<const uint4*>(from + 4 * V * row) + i);
      const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
      for (int k = 0; k < 4; k++) r[j + i * per + k / V].word[q + k % V] = word[k];
    }
  }
};

// The same for payload with a value of 1 byte beside the rest of the key's hash, which is the
// last field. IPT rows a thread. Rows that are arranged no longer have all of the hash, so
// this is for passes that write units of several rows, which note each unit's partition.
template <class P, int IPT>
struct BesideSource {
  static_assert(P::beside);
  using Others = FieldSource<1, Payload<PayloadKind::field, P::words - 1>>;
  static constexpr int W = Others::W;
  static constexpr bool selective = false;
  static constexpr int together = 4;
  const Others others;

  __device__ explicit BesideSource(const gj_side* s) : others(s) {}
  __device__ __forceinline__ uint32_t parents() const { return 1; }
  __device__ __forceinline__ uint32_t start(uint32_t) const { return 0; }
  __device__ __forceinline__ uint32_t rows(uint32_t p) const { return others.rows(p); }

  template <int T>
  __device__ __forceinline__ void load(uint64_t first, int rows, Row<W> (&r)[IPT]) const {
    others.template load<T>(first, rows, r);
    const gj_field* const last = reinterpret_cast<const gj_field*>(others.side->fields) + others.side->field_count - 1;
    const uint64_t from = last->from + first;
#pragma unroll
    for (int g = 0; g < IPT / 4; g++) {
      four[g] = 0;
      if (rows > 4 * T * g) four[g] = __ldcs(reinterpret_cast<const uint32_t*>(from + 4 * T * g));
    }
  }

  // Turns keys into hashes, whose top bits give way to the values.
  __device__ __forceinline__ void arrange(Row<W> (&r)[IPT]) const {
    others.arrange(r);
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t key[1] = {r[j].word[0]};
      r[j].word[0] = beside(hash_words(key).part, four[j / 4], j % 4);
    }
  }

 private:
  mutable uint32_t four[IPT / 4];  // values that were read, of four rows each
};

}  // namespace gj
