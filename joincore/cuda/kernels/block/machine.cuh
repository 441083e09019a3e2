// Runs programs of package program: expressions and updates of groups, for R rows of
// each thread at a time, so that decoding an instruction costs little a row.
//
// Package program describes the machine and guarantees that operands exist, jumps go
// forward, and neither slots nor masks run out. The accumulators of the R rows are
// in registers. Where the rows are (Rows), where slots are (Slots) and what is done
// with groups (Sink) is up to the kernel.
#pragma once
#include "block/arithmetic.cuh"
#include "layout/column.cuh"

namespace gj {

// The numbers of package program.
enum Code : uint32_t {
  code_load, code_load_null, code_store, code_widen, code_arithmetic, code_compare, code_same_bytes, code_null_column, code_is_null,
  code_not, code_and, code_or, code_in, code_date_part, code_decimal, code_push, code_narrow, code_pop, code_pop_others, code_skip,
  code_key, code_key_null, code_group, code_update
};
enum Test : uint32_t { test_all, test_true, test_not_true, test_not_false, test_null };
enum OperandKind : uint32_t { operand_none, operand_column, operand_constant, operand_slot };
enum Flag : uint32_t { flag_wide = 1, flag_operand_wide = 2, flag_reversed = 4, flag_null = 8, flag_rows = 16 };
enum Comparison : uint32_t { equal = 1, not_equal, less, less_equal, greater, greater_equal };
constexpr uint32_t max_slots = 24;  // program.MaxSlots

struct Instruction {
  uint64_t word;
  __device__ __forceinline__ uint32_t code() const { return word & 0xff; }
  __device__ __forceinline__ uint32_t sub() const { return word >> 8 & 0xff; }
  __device__ __forceinline__ uint32_t index() const { return word >> 16 & 0xffff; }
  __device__ __forceinline__ uint32_t kind() const { return word >> 32 & 0xff; }
  __device__ __forceinline__ uint32_t flags() const { return word >> 40 & 0xff; }
  __device__ __forceinline__ uint32_t extra() const { return word >> 48; }
  __device__ __forceinline__ uint32_t target() const { return word >> 32; }
};

// Bit j of a mask is that of row j.
template <int R>
struct Machine {
  static constexpr uint32_t all_rows = (1u << R) - 1;
  int64_t lo[R], hi[R];  // hi only where the value has 16 bytes
  uint32_t null, active;
  uint64_t masks;
  bool failed;

  __device__ __forceinline__ void start(uint32_t rows) { null = 0, active = rows, masks = 0, failed = false; }
  __device__ __forceinline__ bool valid(int j) const { return (active & ~null) >> j & 1; }
  __device__ __forceinline__ uint32_t test(uint32_t how) const {
    uint32_t is_true = 0, is_false = 0;
#pragma unroll
    for (int j = 0; j < R; j++) {
      is_true |= (uint32_t)(lo[j] != 0) << j;
      is_false |= (uint32_t)(lo[j] == 0) << j;
    }
    is_true &= ~null, is_false &= ~null;
    switch (how) {
      case test_true: return is_true;
      case test_not_true: return ~is_true;
      case test_not_false: return ~is_false;
      case test_null: return null;
      default: return all_rows;
    }
  }
};

template <class V>
__device__ __forceinline__ bool holds(uint32_t how, V a, V b) {
  switch (how) {
    case equal: return a == b;
    case not_equal: return a != b;
    case less: return a < b;
    case less_equal: return a <= b;
    case greater: return a > b;
    default: return a >= b;
  }
}

// Whether v is one of n constants in ascending order.
__device__ __forceinline__ bool among(const long long* list, uint32_t n, int64_t v) {
  uint32_t low = 0;
  while (n > 1) {
    const uint32_t half = n / 2;
    if (__ldg(list + low + half) <= v) low += half;
    n -= half;
  }
  return n && __ldg(list + low) == v;
}

// The operand of an instruction for each row.
template <int R>
struct Operand {
  int64_t lo[R], hi[R];
  uint32_t null;

  template <class Rows, class Slots>
  __device__ __forceinline__ void read(const gj_program& p, Instruction i, uint32_t active, const Rows& rows, const Slots& slots) {
    null = 0;
    switch (i.kind()) {
      case operand_column: {
        const gj_column c = reinterpret_cast<const gj_column*>(p.columns)[i.index()];
        uint32_t at[R];
#pragma unroll
        for (int j = 0; j < R; j++) null |= (uint32_t) !((active >> j & 1) && rows.locate(c, j, at[j])) << j;
        auto load = [&](auto* values) {
#pragma unroll
          for (int j = 0; j < R; j++) lo[j] = null >> j & 1 ? 0 : (int64_t)__ldg(values + at[j]);
        };
        switch (c.width) {
          case 1: load(reinterpret_cast<const int8_t*>(c.values)); break;
          case 2: load(reinterpret_cast<const int16_t*>(c.values)); break;
          case 4: load(reinterpret_cast<const int32_t*>(c.values)); break;
          case 8: load(reinterpret_cast<const long long*>(c.values)); break;
          default:
#pragma unroll
            for (int j = 0; j < R; j++) {
              const long long* v = reinterpret_cast<const long long*>(c.values) + 2 * (uint64_t)at[j];
              lo[j] = null >> j & 1 ? 0 : __ldg(v);
              hi[j] = null >> j & 1 ? 0 : __ldg(v + 1);
            }
        }
        break;
      }
      case operand_constant: {
        const int64_t v = __ldg(reinterpret_cast<const long long*>(p.constants) + i.index());
#pragma unroll
        for (int j = 0; j < R; j++) lo[j] = v;
        break;
      }
      case operand_slot: {
        null = slots.null(i.index());
#pragma unroll
        for (int j = 0; j < R; j++) lo[j] = slots.at(i.index(), j);
        if (i.flags() & flag_operand_wide) {
#pragma unroll
          for (int j = 0; j < R; j++) hi[j] = slots.at(i.index() + 1, j);
        }
        break;
      }
    }
    if (!(i.flags() & flag_operand_wide)) {
#pragma unroll
      for (int j = 0; j < R; j++) hi[j] = lo[j] >> 63;
    }
  }
};

template <int R, class Rows, class Slots, class Sink>
__device__ __forceinline__ void run(const gj_program& p, Machine<R>& m, const Rows& rows, Slots& slots, Sink& sink) {
  for (uint32_t at = 0; at < p.length; at++) {
    const Instruction i{__ldg(reinterpret_cast<const unsigned long long*>(p.code) + at)};
    const uint32_t flags = i.flags();
    Operand<R> o;
    if (i.kind() != operand_none) o.read(p, i, m.active, rows, slots);
    switch (i.code()) {
      case code_load:
        m.null = o.null;
#pragma unroll
        for (int j = 0; j < R; j++) m.lo[j] = o.lo[j], m.hi[j] = o.hi[j];
        break;
      case code_load_null:
        m.null = m.all_rows;
#pragma unroll
        for (int j = 0; j < R; j++) m.lo[j] = m.hi[j] = 0;
        break;
      case code_store:
        slots.set_null(i.index(), (slots.null(i.index()) & ~m.active) | (m.null & m.active));
#pragma unroll
        for (int j = 0; j < R; j++)
          if (m.active >> j & 1) {
            slots.at(i.index(), j) = m.lo[j];
            if (flags & flag_wide) slots.at(i.index() + 1, j) = m.hi[j];
          }
        break;
      case code_widen:
#pragma unroll
        for (int j = 0; j < R; j++) m.hi[j] = m.lo[j] >> 63;
        break;
      case code_arithmetic:
        m.null |= o.null;
#pragma unroll
        for (int j = 0; j < R; j++) {
          int64_t lo = 0, hi = 0;
          bool ok;
          if (flags & (flag_wide | flag_operand_wide)) {
            const Wide a = wide_of(m.lo[j], flags & flag_wide ? m.hi[j] : m.lo[j] >> 63), b = wide_of(o.lo[j], o.hi[j]);
            Wide v = 0;
            ok = flags & flag_reversed ? wide_arithmetic(i.sub(), b, a, v) : wide_arithmetic(i.sub(), a, b, v);
            lo = (int64_t)v, hi = (int64_t)(v >> 64);
          } else {
            const bool swap = flags & flag_reversed;
            ok = narrow_arithmetic(i.sub(), swap ? o.lo[j] : m.lo[j], swap ? m.lo[j] : o.lo[j], lo, hi);
          }
          m.failed |= m.valid(j) && !(ok && fits(i.extra(), lo, hi));
          m.lo[j] = lo, m.hi[j] = hi;
        }
        break;
      case code_compare:
        m.null |= o.null;
#pragma unroll
        for (int j = 0; j < R; j++) {
          if (flags & (flag_wide | flag_operand_wide))
            m.lo[j] = holds(i.sub(), wide_of(m.lo[j], flags & flag_wide ? m.hi[j] : m.lo[j] >> 63), wide_of(o.lo[j], o.hi[j]));
          else
            m.lo[j] = holds(i.sub(), m.lo[j], o.lo[j]);
        }
        break;
      case code_same_bytes: {
        const gj_column* c = reinterpret_cast<const gj_column*>(p.columns);
        m.null = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
          uint32_t a, b;
          const bool both = (m.active >> j & 1) && rows.locate(c[i.index()], j, a) && rows.locate(c[i.extra()], j, b);
          m.null |= (uint32_t)!both << j;
          m.lo[j] = both && same_bytes(bytes_at(c[i.index()], a), bytes_at(c[i.extra()], b));
        }
        break;
      }
      case code_null_column: {
        const gj_column c = reinterpret_cast<const gj_column*>(p.columns)[i.index()];
        m.null = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
          uint32_t a;
          m.lo[j] = (m.active >> j & 1) && !rows.locate(c, j, a);
        }
        break;
      }
      case code_is_null:
#pragma unroll
        for (int j = 0; j < R; j++) m.lo[j] = m.null >> j & 1;
        m.null = 0;
        break;
      case code_not:
#pragma unroll
        for (int j = 0; j < R; j++) m.lo[j] = m.lo[j] == 0;
        break;
      case code_and:
      case code_or: {
        // Of two truth values the one that decides, else NULL if one of them is.
        const int64_t decides = i.code() == code_or;
        const uint32_t other = slots.null(i.index());
        uint32_t null = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
          const int64_t v = slots.at(i.index(), j);
          const bool a_null = other >> j & 1, b_null = m.null >> j & 1, at_work = m.active >> j & 1;
          const bool decided = (!a_null && v == decides) || (!b_null && m.lo[j] == decides);
          const bool is_null = at_work ? !decided && (a_null || b_null) : a_null;
          m.lo[j] = at_work ? (decided ? decides : 1 - decides) : v;
          null |= (uint32_t)is_null << j;
        }
        m.null = null;
        break;
      }
      case code_in: {
        const long long* list = reinterpret_cast<const long long*>(p.constants) + i.index();
        uint32_t unknown = 0;
#pragma unroll
        for (int j = 0; j < R; j++) {
          const bool narrow = !(flags & flag_wide) || m.hi[j] == m.lo[j] >> 63;
          const bool found = narrow && m.valid(j) && among(list, i.extra(), m.lo[j]);
          m.lo[j] = found;
          unknown |= (uint32_t)(!found && (flags & flag_null)) << j;
        }
        m.null = i.extra() || flags & flag_null ? m.null | unknown : 0;
        break;
      }
      case code_date_part:
#pragma unroll
        for (int j = 0; j < R; j++) {
          const bool date = m.lo[j] >= first_date && m.lo[j] <= last_date && (!(flags & flag_wide) || m.hi[j] == m.lo[j] >> 63);
          m.failed |= m.valid(j) && !date;
          m.lo[j] = date_field(i.sub(), m.lo[j]);
        }
        break;
      case code_decimal:
#pragma unroll
        for (int j = 0; j < R; j++) m.failed |= m.valid(j) && m.lo[j] == INT64_MIN;
        break;
      case code_push:
        m.masks = m.masks << 4 | m.active;
        m.active &= m.test(i.sub());
        break;
      case code_narrow:
        m.active &= m.test(i.sub());
        break;
      case code_pop:
        m.active = m.masks & 15;
        m.masks >>= 4;
        break;
      case code_pop_others:
        m.active = m.masks & 15 & ~m.active;
        m.masks >>= 4;
        break;
      case code_skip:
        if (!rows.any(m.active)) at = i.target() - 1;
        break;
      case code_key:
        sink.key(i, m, slots);
        break;
      case code_key_null:
        sink.key_null(i, m, slots);
        break;
      case code_group:
        sink.group(m, rows, slots);
        break;
      case code_update:
        sink.update(i, m);
        break;
    }
  }
}

}  // namespace gj
