// Evaluates a condition on a pair of rows in SQL's three-valued logic.
//
// Truth values are 0 false, 1 unknown, 2 true, so AND is the minimum and OR the
// maximum. The stack is one register of 32 values, the top in the lowest bits.
// Package program compiles the code and guarantees that operands exist, jumps go
// forward, and the stack never holds more than 32 values and ends with one.
#pragma once
#include "layout/column.cuh"

namespace gj {

// The codes of package program.
enum Code : uint32_t { code_push, code_compare, code_same_bytes, code_is_null, code_and, code_or, code_not, code_skip_false, code_skip_true };
enum Truth : uint32_t { is_false, is_unknown, is_true };
enum Comparison : uint32_t { equal = 1, not_equal, less, less_equal, greater, greater_equal };
constexpr uint32_t constant_operand = 1u << 15;

struct Pair {
  uint32_t build, probe;
  __device__ __forceinline__ bool locate(const gj_column& c, uint32_t& at) const { return gj::locate(c, c.probe ? probe : build, at); }
};

__device__ __forceinline__ bool operand_at(const gj_program& program, uint32_t operand, const Pair& pair, int64_t& v) {
  if (operand & constant_operand) {
    v = __ldg(reinterpret_cast<const long long*>(program.constants) + (operand ^ constant_operand));
    return true;
  }
  const gj_column& c = reinterpret_cast<const gj_column*>(program.columns)[operand];
  uint32_t at;
  if (!pair.locate(c, at)) return false;
  v = integer_at(c, at);
  return true;
}

__device__ __forceinline__ uint32_t truth_of(bool b) { return b ? is_true : is_false; }

__device__ __forceinline__ uint32_t compare(uint32_t how, int64_t a, int64_t b) {
  switch (how) {
    case equal:
      return truth_of(a == b);
    case not_equal:
      return truth_of(a != b);
    case less:
      return truth_of(a < b);
    case less_equal:
      return truth_of(a <= b);
    case greater:
      return truth_of(a > b);
    default:
      return truth_of(a >= b);
  }
}

__device__ __noinline__ bool passes(const gj_program* program, Pair pair) {
  const gj_program p = *program;
  uint64_t stack = 0;
  auto push = [&](uint32_t truth) { stack = stack << 2 | truth; };
  for (uint32_t at = 0; at < p.length; at++) {
    const uint64_t i = __ldg(reinterpret_cast<const unsigned long long*>(p.code) + at);
    const uint32_t code = i & 0xff, left = i >> 16 & 0xffff, right = i >> 32 & 0xffff, target = (uint32_t)(i >> 16);
    const uint32_t top = stack & 3, below = stack >> 2 & 3;
    switch (code) {
      case code_push:
        push(i >> 8 & 3);
        break;
      case code_compare: {
        int64_t a, b;
        push(operand_at(p, left, pair, a) && operand_at(p, right, pair, b) ? compare(i >> 8 & 0xff, a, b) : is_unknown);
        break;
      }
      case code_same_bytes: {
        const gj_column* c = reinterpret_cast<const gj_column*>(p.columns);
        uint32_t a, b;
        push(pair.locate(c[left], a) && pair.locate(c[right], b) ? truth_of(same_bytes(bytes_at(c[left], a), bytes_at(c[right], b))) : is_unknown);
        break;
      }
      case code_is_null: {
        uint32_t a;
        push(truth_of(!pair.locate(reinterpret_cast<const gj_column*>(p.columns)[left], a)));
        break;
      }
      case code_and:
        stack = stack >> 4 << 2 | min(top, below);
        break;
      case code_or:
        stack = stack >> 4 << 2 | max(top, below);
        break;
      case code_not:
        stack = stack >> 2 << 2 | (is_true - top);
        break;
      case code_skip_false:
        if (top == is_false) at = target - 1;
        break;
      case code_skip_true:
        if (top == is_true) at = target - 1;
        break;
    }
  }
  return (stack & 3) == is_true;
}

}  // namespace gj
