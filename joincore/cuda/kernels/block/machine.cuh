// Runs programs of package program: expressions and updates of groups, for R rows of
// each thread at a time, so that decoding an instruction costs little a row.
//
// Package program describes the machine and guarantees that operands exist, jumps go
// forward, and neither slots nor masks run out. The accumulators of the R rows are
// in registers; WIDE: they have 128 bits, else 64. Truth values are bits of a mask.
// All threads of a warp execute the same instruction, so that decoding it and
// choosing a width or an operation does not diverge. Where the rows are (Rows), where
// slots are (Slots) and what is done with groups (Sink) is up to the kernel.
#pragma once
#include "block/arithmetic.cuh"
#include "block/fixed.cuh"
#include "layout/column.cuh"

namespace gj {

// The numbers of package program.
enum Code : uint32_t {
  code_load, code_load_null, code_store, code_widen, code_arithmetic, code_compare, code_compare_constant, code_same_bytes, code_null_column, code_is_null,
  code_truth, code_number, code_null_where_true, code_store_truth, code_not, code_and, code_or, code_in, code_date_part, code_decimal,
  code_push, code_narrow, code_pop, code_pop_others, code_skip, code_key, code_key_null, code_group, code_update
};
enum Test : uint32_t { test_all, test_true, test_not_true, test_not_false, test_null };
enum OperandKind : uint32_t { operand_none, operand_column, operand_constant, operand_slot };
enum Flag : uint32_t { flag_wide = 1, flag_operand_wide = 2, flag_reversed = 4, flag_null = 8, flag_rows = 16, flag_narrow = 32, flag_key_null = 64 };
enum Comparison : uint32_t { equal = 1, not_equal, less, less_equal, greater, greater_equal };
constexpr uint32_t max_slots = 24;  // program.MaxSlots
constexpr uint32_t max_masks = 16;  // program.maxMasks

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

// R integers.
template <int R, bool WIDE>
struct Integers {
  int64_t lo[R], hi[WIDE ? R : 1];  // hi only where the value has 16 bytes
  __device__ __forceinline__ int64_t high(int j) const { return WIDE ? hi[j] : lo[j] >> 63; }
  __device__ __forceinline__ void set_high(int j, int64_t v) {
    if constexpr (WIDE) hi[j] = v;
  }
};

// Whether v is one of n constants in ascending order.
__device__ __noinline__ bool among(const long long* list, uint32_t n, int64_t v) {
  uint32_t low = 0;
  while (n > 1) {
    const uint32_t half = n / 2;
    if (__ldg(list + low + half) <= v) low += half;
    n -= half;
  }
  return n && __ldg(list + low) == v;
}

// Whether two columns have the same bytes at two positions.
__device__ __noinline__ bool same_values(const gj_column& a, uint32_t at_a, const gj_column& b, uint32_t at_b) {
  return same_bytes(bytes_at(a, at_a), bytes_at(b, at_b));
}

// The positions of R rows in a column. Returns those of the active rows that are not
// NULL.
template <int R, class Rows>
__device__ __forceinline__ uint32_t locate(const gj_column& c, uint32_t active, const Rows& rows, uint32_t (&at)[R]) {
  uint32_t there = active;
#pragma unroll
  for (int j = 0; j < R; j++) at[j] = rows.number(c, j);
  if (c.positions) {
    const uint32_t* positions = reinterpret_cast<const uint32_t*>(c.positions);
#pragma unroll
    for (int j = 0; j < R; j++) at[j] = there >> j & 1 ? __ldg(positions + at[j]) : GJ_NONE;
#pragma unroll
    for (int j = 0; j < R; j++) there &= ~((uint32_t)(at[j] == GJ_NONE) << j);
  }
  if (c.validity) {
    const uint8_t* validity = reinterpret_cast<const uint8_t*>(c.validity);
    uint32_t valid[R];
#pragma unroll
    for (int j = 0; j < R; j++) valid[j] = there >> j & 1 ? __ldg(validity + at[j]) : 0;
#pragma unroll
    for (int j = 0; j < R; j++) there &= ~((uint32_t)(valid[j] == 0) << j);
  }
  return there;
}

// Integers that are read from an operand; bit j of `null` is that of row j.
template <int R, bool WIDE>
struct Operand : Integers<R, WIDE> {
  uint32_t null;

  template <class V>
  __device__ __forceinline__ void load(uint64_t values, uint32_t there, const uint32_t (&at)[R]) {
#pragma unroll
    for (int j = 0; j < R; j++) this->lo[j] = there >> j & 1 ? (int64_t)__ldg(reinterpret_cast<const V*>(values) + at[j]) : 0;
  }

  template <class Rows>
  __device__ __forceinline__ void read_column(const gj_column& c, uint32_t active, const Rows& rows) {
    uint32_t at[R];
    if (c.positions | c.validity) {
      const uint32_t there = locate<R>(c, active, rows, at);
      return load_column(c, there, at);
    }
#pragma unroll
    for (int j = 0; j < R; j++) at[j] = rows.number(c, j);
    load_column(c, active, at);
  }

  // Reads the rows that are there; the others are NULL.
  __device__ __forceinline__ void load_column(const gj_column& c, uint32_t there, const uint32_t (&at)[R]) {
    null = ~there;
    switch (c.width) {
      case 1: return load<int8_t>(c.values, there, at);
      case 2: return load<int16_t>(c.values, there, at);
      case 4: return load<int32_t>(c.values, there, at);
      case 8: return load<long long>(c.values, there, at);
      default:
        if constexpr (WIDE) {
#pragma unroll
          for (int j = 0; j < R; j++) {
            const long long* v = reinterpret_cast<const long long*>(c.values) + 2 * (uint64_t)at[j];
            this->lo[j] = there >> j & 1 ? __ldg(v) : 0;
            this->hi[j] = there >> j & 1 ? __ldg(v + 1) : 0;
          }
        }
    }
  }

  template <class Code, class Rows, class Slots>
  __device__ __forceinline__ void read(const Code& code, Instruction i, uint32_t active, const Rows& rows, const Slots& slots) {
    null = 0;
    switch (i.kind()) {
      case operand_column:
        read_column(code.column(i.index()), active, rows);
        break;
      case operand_constant: {
        const int64_t v = __ldg(code.constants() + i.index());
#pragma unroll
        for (int j = 0; j < R; j++) this->lo[j] = v;
        break;
      }
      case operand_slot:
        null = slots.null(i.index());
#pragma unroll
        for (int j = 0; j < R; j++) this->lo[j] = slots.at(i.index(), j);
        if constexpr (WIDE)
          if (i.flags() & flag_operand_wide) {
#pragma unroll
            for (int j = 0; j < R; j++) this->hi[j] = slots.at(i.index() + 1, j);
          }
        break;
    }
    if constexpr (WIDE)
      if (!(i.flags() & flag_operand_wide)) {
#pragma unroll
        for (int j = 0; j < R; j++) this->hi[j] = this->lo[j] >> 63;
      }
  }
};

// Bit j of a mask is that of row j.
template <int R, bool WIDE>
struct Machine : Operand<R, WIDE> {
  static constexpr uint32_t all_rows = (1u << R) - 1;
  uint32_t truth, active;
  using Operand<R, WIDE>::null;
  uint64_t masks[R * max_masks > 64 ? 2 : 1];  // the last one in the lowest bits
  bool failed;

  __device__ __forceinline__ void start(uint32_t rows) {
    truth = null = 0, active = rows, failed = false;
    for (auto& m : masks) m = 0;
#pragma unroll
    for (int j = 0; j < R; j++) this->lo[j] = 0, this->set_high(j, 0);
  }
  __device__ __forceinline__ bool valid(int j) const { return (active & ~null) >> j & 1; }
  __device__ __forceinline__ uint32_t test(uint32_t how) const {
    switch (how) {
      case test_true: return truth & ~null;
      case test_not_true: return ~truth | null;
      case test_not_false: return truth | null;
      case test_null: return null;
      default: return all_rows;
    }
  }
  __device__ __forceinline__ void push() {
    if constexpr (R * max_masks > 64) masks[1] = masks[1] << R | masks[0] >> (64 - R);
    masks[0] = masks[0] << R | active;
  }
  __device__ __forceinline__ uint32_t pop() {
    const uint32_t last = masks[0] & all_rows;
    masks[0] >>= R;
    if constexpr (R * max_masks > 64) {
      masks[0] |= masks[1] << (64 - R);
      masks[1] >>= R;
    }
    return last;
  }
};

template <uint32_t N>
struct Known {
  static constexpr uint32_t value = N;
};

// The result of an operation of 64 bits for each row, checked.
template <int R, bool WIDE>
__device__ __forceinline__ void compute(Machine<R, WIDE>& m, const Operand<R, WIDE>& o, uint32_t op, bool reversed, uint32_t width) {
  auto apply = [&](auto operation) {
#pragma unroll
    for (int j = 0; j < R; j++) {
      int64_t lo = 0, hi = 0;
      const bool ok = narrow_arithmetic(operation.value, reversed ? o.lo[j] : m.lo[j], reversed ? m.lo[j] : o.lo[j], lo, hi);
      m.failed |= m.valid(j) && !(ok && fits(width, lo, hi));
      m.lo[j] = lo, m.set_high(j, hi);
    }
  };
  switch (op) {
    case op_add: return apply(Known<op_add>{});
    case op_subtract: return apply(Known<op_subtract>{});
    case op_multiply: return apply(Known<op_multiply>{});
    case op_divide: return apply(Known<op_divide>{});
    default: return apply(Known<op_modulo>{});
  }
}

// The same with integers of 128 bits.
template <int R>
__device__ __forceinline__ void compute_wide(Machine<R, true>& m, const Operand<R, true>& o, Instruction i) {
#pragma unroll
  for (int j = 0; j < R; j++) {
    const Wide a = wide_of(m.lo[j], i.flags() & flag_wide ? m.hi[j] : m.lo[j] >> 63), b = wide_of(o.lo[j], o.hi[j]);
    Wide v = 0;
    const bool ok = i.flags() & flag_reversed ? wide_arithmetic(i.sub(), b, a, v) : wide_arithmetic(i.sub(), a, b, v);
    m.lo[j] = (int64_t)v, m.hi[j] = (int64_t)(v >> 64);
    m.failed |= m.valid(j) && !(ok && fits(i.extra(), m.lo[j], m.hi[j]));
  }
}

// The rows for which a comparison is true, by those that are equal and less.
__device__ __forceinline__ uint32_t compared(uint32_t how, uint32_t is_equal, uint32_t is_less) {
  switch (how) {
    case equal: return is_equal;
    case not_equal: return ~is_equal;
    case less: return is_less;
    case less_equal: return is_less | is_equal;
    case greater: return ~(is_less | is_equal);
    default: return ~is_less;
  }
}

// Which rows compare as an instruction says.
template <int R, bool WIDE>
__device__ __forceinline__ uint32_t compare(const Machine<R, WIDE>& m, const Operand<R, WIDE>& o, Instruction i) {
  uint32_t is_equal = 0, is_less = 0;
  if (WIDE && i.flags() & (flag_wide | flag_operand_wide)) {
#pragma unroll
    for (int j = 0; j < R; j++) {
      const Wide a = wide_of(m.lo[j], i.flags() & flag_wide ? m.high(j) : m.lo[j] >> 63), b = wide_of(o.lo[j], o.high(j));
      is_equal |= (uint32_t)(a == b) << j, is_less |= (uint32_t)(a < b) << j;
    }
  } else {
#pragma unroll
    for (int j = 0; j < R; j++) is_equal |= (uint32_t)(m.lo[j] == o.lo[j]) << j, is_less |= (uint32_t)(m.lo[j] < o.lo[j]) << j;
  }
  return compared(i.sub(), is_equal, is_less);
}

// Executes an instruction other than a jump.
template <int R, bool WIDE, class Code, class Rows, class Slots, class Sink>
__device__ __forceinline__ void step(const Code& code, Instruction i, Machine<R, WIDE>& m, const Rows& rows, Slots& slots, Sink& sink) {
  const uint32_t flags = i.flags();
  if (i.code() == code_load) {
    m.read(code, i, m.active, rows, slots);
    return;
  }
  Operand<R, WIDE> o;
  if (i.kind() != operand_none) o.read(code, i, m.active, rows, slots);
  switch (i.code()) {
    case code_load_null:
      m.null = m.all_rows;
#pragma unroll
      for (int j = 0; j < R; j++) m.lo[j] = 0, m.set_high(j, 0);
      break;
    case code_store:
      slots.set_null(i.index(), (slots.null(i.index()) & ~m.active) | (m.null & m.active));
#pragma unroll
      for (int j = 0; j < R; j++)
        if (m.active >> j & 1) {
          slots.at(i.index(), j) = m.lo[j];
          if (WIDE && flags & flag_wide) slots.at(i.index() + 1, j) = m.high(j);
        }
      break;
    case code_widen:
#pragma unroll
      for (int j = 0; j < R; j++) m.set_high(j, m.lo[j] >> 63);
      break;
    case code_arithmetic:
      m.null |= o.null;
      if constexpr (WIDE)
        if (flags & (flag_wide | flag_operand_wide)) {
          compute_wide(m, o, i);
          break;
        }
      compute(m, o, i.sub(), flags & flag_reversed, i.extra());
      break;
    case code_compare:
      m.null |= o.null;
      m.truth = compare(m, o, i);
      break;
    case code_compare_constant: {
      const int64_t v = __ldg(code.constants() + i.index());
      uint32_t is_equal = 0, is_less = 0;
#pragma unroll
      for (int j = 0; j < R; j++) is_equal |= (uint32_t)(m.lo[j] == v) << j, is_less |= (uint32_t)(m.lo[j] < v) << j;
      m.truth = compared(i.sub(), is_equal, is_less);
      if (flags & flag_narrow) m.active &= m.truth & ~m.null;
      break;
    }
    case code_same_bytes: {
      const gj_column a = code.column(i.index()), b = code.column(i.extra());
      uint32_t at_a[R], at_b[R];
      const uint32_t both = locate<R>(a, m.active, rows, at_a) & locate<R>(b, m.active, rows, at_b);
      m.null = ~both, m.truth = 0;
#pragma unroll
      for (int j = 0; j < R; j++)
        if (both >> j & 1) m.truth |= (uint32_t)same_values(a, at_a[j], b, at_b[j]) << j;
      break;
    }
    case code_null_column: {
      uint32_t unused[R];
      m.truth = ~locate<R>(code.column(i.index()), m.active, rows, unused);
      m.null = 0;
      break;
    }
    case code_is_null:
      m.truth = m.null, m.null = 0;
      break;
    case code_truth:
      m.truth = i.sub() ? m.all_rows : 0, m.null = 0;
      break;
    case code_number:
#pragma unroll
      for (int j = 0; j < R; j++) m.lo[j] = m.truth >> j & 1;
      break;
    case code_null_where_true:
      m.null = m.truth & ~m.null;
#pragma unroll
      for (int j = 0; j < R; j++) m.lo[j] = 0;
      break;
    case code_store_truth:
      slots.at(i.index(), 0) = ((uint32_t)slots.at(i.index(), 0) & ~m.active) | (m.truth & m.active);
      slots.set_null(i.index(), (slots.null(i.index()) & ~m.active) | (m.null & m.active));
      break;
    case code_not:
      m.truth = ~m.truth;
      break;
    case code_and:
    case code_or: {
      // Of two truth values the one that decides, else NULL if one of them is.
      const uint32_t flip = i.code() == code_or ? 0 : ~0u;
      const uint32_t other = (uint32_t)slots.at(i.index(), 0), other_null = slots.null(i.index());
      const uint32_t decided = ((other ^ flip) & ~other_null) | ((m.truth ^ flip) & ~m.null);
      m.null = (~decided & (other_null | m.null) & m.active) | (other_null & ~m.active);
      m.truth = ((decided ^ flip) & m.active) | (other & ~m.active);
      break;
    }
    case code_in: {
      const long long* list = code.constants() + i.index();
      m.truth = 0;
#pragma unroll
      for (int j = 0; j < R; j++) {
        const bool narrow = !WIDE || !(flags & flag_wide) || m.high(j) == m.lo[j] >> 63;
        m.truth |= (uint32_t)(narrow && m.valid(j) && among(list, i.extra(), m.lo[j])) << j;
      }
      if (flags & flag_null)
        m.null |= ~m.truth;
      else if (!i.extra())
        m.null = 0;
      break;
    }
    case code_date_part:
#pragma unroll
      for (int j = 0; j < R; j++) {
        const bool date = m.lo[j] >= first_date && m.lo[j] <= last_date && (!WIDE || !(flags & flag_wide) || m.high(j) == m.lo[j] >> 63);
        m.failed |= m.valid(j) && !date;
        m.lo[j] = date_field(i.sub(), m.lo[j]);
      }
      break;
    case code_decimal:
#pragma unroll
      for (int j = 0; j < R; j++) m.failed |= m.valid(j) && m.lo[j] == INT64_MIN;
      break;
    case code_push:
      m.push();
      m.active &= m.test(i.sub());
      break;
    case code_narrow:
      m.active &= m.test(i.sub());
      break;
    case code_pop:
      m.active = m.pop();
      break;
    case code_pop_others: {
      const uint32_t before = m.pop();
      m.active = before & ~m.active;
      break;
    }
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

// Runs the instructions from `from` to `to`. Of a fixed program `at` is always known.
template <int R, bool WIDE, class Code, class Rows, class Slots, class Sink>
__device__ __forceinline__ void run(const Code& code, uint32_t from, uint32_t to, Machine<R, WIDE>& m, const Rows& rows, Slots& slots, Sink& sink) {
  if constexpr (Code::fixed) {
    for (uint32_t at = GJ_KEEP(from, "first"); at < to;) {
      const Instruction i{code.instruction(at)};
      if (i.code() != code_skip) {
        step(code, i, m, rows, slots, sink);
        at = GJ_KEEP(at + 1, "next");
      } else if (rows.any(m.active)) {
        at = GJ_KEEP(at + 1, "behind");
      } else {
        at = GJ_KEEP(i.target(), "target");
      }
    }
  } else {
    uint64_t word = code.instruction(from);  // read ahead: a program has one word more
    for (uint32_t at = from; at < to; at++) {
      const Instruction i{word};
      word = code.instruction(at + 1);
      if (i.code() != code_skip) {
        step(code, i, m, rows, slots, sink);
      } else if (!rows.any(m.active)) {
        at = i.target() - 1;
        word = code.instruction(at + 1);
      }
    }
  }
}

// A program as it lies in global memory.
struct Program {
  static constexpr bool fixed = false;
  const gj_program& p;
  __device__ __forceinline__ uint64_t instruction(uint32_t at) const { return __ldg(reinterpret_cast<const unsigned long long*>(p.code) + at); }
  __device__ __forceinline__ gj_column column(uint32_t i) const { return reinterpret_cast<const gj_column*>(p.columns)[i]; }
  __device__ __forceinline__ const long long* constants() const { return reinterpret_cast<const long long*>(p.constants); }
};

}  // namespace gj
