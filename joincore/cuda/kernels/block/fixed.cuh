// What package rowid makes of a kernel that interprets programs: what its program
// and its launch say becomes part of the code. The kernel asks for it by comments in its
// PTX, which package rowid understands.
#pragma once
#include "layout/column.cuh"
#include "layout/fixed.h"

namespace gj {

#ifdef __CUDA_ARCH__
// Each is volatile and, where several might be merged, has a text of its own: what is
// known depends on the path.
#define GJ_ASK(TEXT, RESULT, TYPE, ...)               \
  ([&] {                                              \
    TYPE v;                                           \
    asm volatile("// " TEXT : "=" RESULT(v) __VA_ARGS__); \
    return v;                                         \
  }())
__device__ __forceinline__ uint64_t fixed_code(uint32_t at) { return GJ_ASK("gj.code %0, %1;", "l", uint64_t, : "r"(at)); }
__device__ __forceinline__ uint32_t fixed_column(uint32_t i) { return GJ_ASK("gj.column %0, %1;", "r", uint32_t, : "r"(i)); }

// A number of the launch: GJ_FIXED_FILTER and so on (layout/fixed.h).
#define GJ_FIXED(NUMBER) GJ_ASK("gj.fixed %0, " GJ_TEXT_OF(NUMBER) ";", "r", uint32_t)
#define GJ_TEXT_OF(NUMBER) GJ_TEXT(NUMBER)
#define GJ_TEXT(NUMBER) #NUMBER

// Where the program goes on; WHERE differs from use to use.
#define GJ_KEEP(AT, WHERE) GJ_ASK("gj.keep %0, %1, " WHERE ";", "r", uint32_t, : "r"((uint32_t)(AT)))
#else
#define GJ_KEEP(AT, WHERE) (AT)
#endif

// A column of which it is fixed what it has.
__device__ __forceinline__ gj_column fixed_as(uint32_t what, gj_column c) {
  c.width = what & GJ_COLUMN_WIDTH;
  if (!(what & GJ_COLUMN_POSITIONS)) c.positions = 0;
  if (!(what & GJ_COLUMN_VALIDITY)) c.validity = 0;
  return c;
}

}  // namespace gj
