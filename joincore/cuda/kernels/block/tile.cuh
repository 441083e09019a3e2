// A radix pass's tile in registers.
#pragma once
#include <stdint.h>

#include "layout/sort.h"

namespace gj {

// The lanes whose digit equals the caller's. Ranking is bound by the integer pipe;
// this inline PTX needs four instructions a bit where the compiler's code needs seven.
__device__ __forceinline__ uint32_t lanes_with(uint32_t digit) {
  uint32_t same = ~0u;
#pragma unroll
  for (int b = 1; b < GJ_SORT_FAN; b *= 2) {
#ifdef __CUDA_ARCH__
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        ".reg .b32 t;\n\t"
        "and.b32 t, %1, %2;\n\t"
        "setp.ne.u32 p, t, 0;\n\t"
        "vote.sync.ballot.b32 t, p, 0xffffffff;\n\t"
        "@!p not.b32 t, t;\n\t"
        "and.b32 %0, %0, t;\n\t"
        "}"
        : "+r"(same)
        : "r"(digit), "r"(b));
#else
    const uint32_t some = __ballot_sync(~0u, digit & b);
    same &= digit & b ? some : ~some;
#endif
  }
  return same;
}

// Hides from the compiler how v was computed. Without it the compiler keeps hashes,
// unpacked ranks and addresses in registers that hold the tile, and spills.
__device__ __forceinline__ void keep(uint32_t& v) { asm volatile("" : "+r"(v)); }

// One column's values of a tile in registers: row j * 32 + lane of the warp's rows
// is in the words from j * VB / 4 on.
template <int IPT, int VB>
struct TileColumn {
  uint32_t word[IPT * VB / 4];

  // Reads part `part` (8 bytes; narrower values have only one) of rows first, first + 32, ...
  __device__ __forceinline__ void load(const gj_sort_column& column, uint32_t pass, uint32_t part, uint64_t first, uint32_t rows) {
    const uint64_t at = column.at[pass];
    const uint32_t bytes = (uint32_t)column.bytes;
    if (!at) return each(rows, [&](int j) { set(j, (uint32_t)first + j * 32); });
    switch (bytes) {
      case 1: return each(rows, [&](int j) { set(j, __ldcs(reinterpret_cast<const uint8_t*>(at) + first + j * 32)); });
      case 2: return each(rows, [&](int j) { set(j, __ldcs(reinterpret_cast<const uint16_t*>(at) + first + j * 32)); });
      case 4: return each(rows, [&](int j) { set(j, __ldcs(reinterpret_cast<const uint32_t*>(at) + first + j * 32)); });
      case 8:
        if constexpr (VB == 8) return each(rows, [&](int j) { set(j, __ldcs(reinterpret_cast<const uint2*>(at) + first + j * 32)); });
        break;
      default:
        if constexpr (VB == 8) return each(rows, [&](int j) { set(j, __ldcs(reinterpret_cast<const uint2*>(at) + 2 * (first + j * 32) + part)); });
    }
  }

  __device__ __forceinline__ void stage(char* to, const uint32_t (&slot)[IPT / 2], bool wide) const {
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t s = j % 2 ? slot[j / 2] >> 16 : slot[j / 2] & 0xffff;
      if (VB == 8 && wide)
        reinterpret_cast<uint2*>(to)[s] = make_uint2(word[j * VB / 4], word[j * VB / 4 + VB / 8]);
      else
        reinterpret_cast<uint32_t*>(to)[s] = word[j * VB / 4];
    }
  }

 private:
  __device__ __forceinline__ void set(int j, uint32_t v) { word[j * VB / 4] = v; }
  __device__ __forceinline__ void set(int j, uint2 v) { word[j * VB / 4] = v.x, word[j * VB / 4 + VB / 8] = v.y; }
  // Calls f for the rows j with j * 32 < rows; most tiles are full.
  template <class F>
  __device__ static __forceinline__ void each(uint32_t rows, F f) {
    if (rows > (IPT - 1) * 32) {
#pragma unroll
      for (int j = 0; j < IPT; j++) f(j);
    } else {
#pragma unroll
      for (int j = 0; j < IPT; j++)
        if (j * 32 < (int)rows) f(j);
    }
  }
};

}  // namespace gj
