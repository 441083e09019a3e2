// Checked arithmetic on signed integers of up to 128 bits, and parts of dates.
#pragma once
#include <stdint.h>

namespace gj {

using Wide = __int128;
using UnsignedWide = unsigned __int128;

enum Operation : uint32_t { op_add = 1, op_subtract, op_multiply, op_divide, op_modulo };
enum DateField : uint32_t { field_year = 1, field_month, field_day };

__device__ __forceinline__ Wide wide_of(int64_t lo, int64_t hi) { return (Wide)((UnsignedWide)(uint64_t)hi << 64 | (uint64_t)lo); }

__device__ __forceinline__ int64_t multiply_high(int64_t a, int64_t b) {
#ifdef __CUDA_ARCH__
  return __mul64hi(a, b);
#else
  return (int64_t)((Wide)a * b >> 64);
#endif
}

// Division has subroutines of its own, one copy of each.
__device__ __noinline__ int64_t quotient(int64_t a, int64_t b) { return a / b; }
__device__ __noinline__ int64_t remainder(int64_t a, int64_t b) { return a % b; }

// The result of an operation on two integers of 64 bits, in 128. False: it divides by 0.
__device__ __forceinline__ bool narrow_arithmetic(uint32_t op, int64_t a, int64_t b, int64_t& lo, int64_t& hi) {
  switch (op) {
    case op_add: {
      lo = (int64_t)((uint64_t)a + (uint64_t)b);
      hi = ((lo ^ a) & (lo ^ b)) < 0 ? ~(lo >> 63) : lo >> 63;
      return true;
    }
    case op_subtract: {
      lo = (int64_t)((uint64_t)a - (uint64_t)b);
      hi = ((a ^ b) & (lo ^ a)) < 0 ? ~(lo >> 63) : lo >> 63;
      return true;
    }
    case op_multiply:
      lo = (int64_t)((uint64_t)a * (uint64_t)b);
      hi = multiply_high(a, b);
      return true;
    case op_divide:
      if (b == 0) return false;
      if (b == -1) {
        lo = (int64_t)(0 - (uint64_t)a);
        hi = a > 0 ? -1 : 0;
        return true;
      }
      lo = quotient(a, b);
      hi = lo >> 63;
      return true;
    default:
      if (b == 0) return false;
      lo = b == -1 ? 0 : remainder(a, b);
      hi = lo >> 63;
      return true;
  }
}

// The same with integers of 128 bits. False also: the result needs more.
__device__ __noinline__ bool wide_arithmetic(uint32_t op, Wide a, Wide b, Wide& out) {
  const UnsignedWide x = (UnsignedWide)a, y = (UnsignedWide)b;
  switch (op) {
    case op_add:
      out = (Wide)(x + y);
      return ((out ^ a) & (out ^ b)) >= 0;
    case op_subtract:
      out = (Wide)(x - y);
      return ((a ^ b) & (out ^ a)) >= 0;
    case op_multiply: {
      out = (Wide)(x * y);
      if (a == (int64_t)a && b == (int64_t)b) return true;
      // Magnitudes: one of them has less than 64 bits, or the product has too many.
      UnsignedWide m = a < 0 ? 0 - x : x, n = b < 0 ? 0 - y : y;
      if (m < n) {
        const UnsignedWide larger = n;
        n = m, m = larger;
      }
      if (n >> 64) return false;
      const UnsignedWide low = (UnsignedWide)(uint64_t)m * (uint64_t)n, high = (UnsignedWide)(uint64_t)(m >> 64) * (uint64_t)n + (low >> 64);
      if (high >> 64) return false;
      const UnsignedWide size = high << 64 | (uint64_t)low, most = ((UnsignedWide)1 << 127) - ((a ^ b) >= 0);
      return size <= most;
    }
    default: {
      if (b == 0) return false;
      if (b == -1) {
        out = op == op_divide ? (Wide)(0 - x) : 0;
        return op != op_divide || !(a < 0 && out == a);
      }
      out = op == op_divide ? a / b : a % b;
      return true;
    }
  }
}

// Whether an integer of 128 bits is one of `width` bytes.
__device__ __forceinline__ bool fits(uint32_t width, int64_t lo, int64_t hi) {
  if (width == 16) return true;
  const uint32_t unused = 64 - 8 * width;
  return hi == lo >> 63 && lo == (int64_t)((uint64_t)lo << unused) >> unused;
}

// The first and the last date of PostgreSQL, in days since 2000-01-01.
constexpr int64_t first_date = -2451545, last_date = 2145031948;

// A field of a date. There is no year 0. Days are counted from March 1 of the year
// -4800, so that leap days end years and all divisions are unsigned (Hinnant,
// chrono-compatible low-level date algorithms).
__device__ __forceinline__ int64_t date_field(uint32_t field, int64_t day) {
  constexpr uint32_t period = 146097, start = 719468 + 10957 + 12 * period;
  const uint32_t z = (uint32_t)day + start, era = z / period, doe = z - era * period;
  const uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  const uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
  if (field == field_day) return doy - (153 * mp + 2) / 5 + 1;
  const uint32_t month = mp < 10 ? mp + 3 : mp - 9;
  if (field == field_month) return month;
  const int64_t year = (int64_t)yoe + 400 * (int64_t)era - 4800 + (month <= 2);
  return year <= 0 ? year - 1 : year;
}

}  // namespace gj
