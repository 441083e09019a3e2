// Evaluates a condition on a pair of rows in SQL's three-valued logic.
#pragma once
#include "block/machine.cuh"

namespace gj {

struct Pair {
  uint32_t build, probe;
  __device__ __forceinline__ uint32_t number(const gj_column& c, int) const { return c.probe ? probe : build; }
  __device__ __forceinline__ bool any(uint32_t active) const { return active; }
};

// Slots of one row, in local memory.
struct OwnSlots {
  int64_t value[max_slots];
  uint32_t nulls = 0;
  __device__ __forceinline__ int64_t& at(uint32_t slot, int) { return value[slot]; }
  __device__ __forceinline__ int64_t at(uint32_t slot, int) const { return value[slot]; }
  __device__ __forceinline__ uint32_t null(uint32_t slot) const { return nulls >> slot & 1; }
  __device__ __forceinline__ void set_null(uint32_t slot, uint32_t v) { nulls = (nulls & ~(1u << slot)) | v << slot; }
};

struct NoGroups {
  using M = Machine<1, true>;
  __device__ __forceinline__ void key(Instruction, const M&, OwnSlots&) {}
  __device__ __forceinline__ void key_null(Instruction, const M&, OwnSlots&) {}
  __device__ __forceinline__ void group(M&, const Pair&, OwnSlots&) {}
  __device__ __forceinline__ void update(Instruction, const M&) {}
};

__device__ __noinline__ bool passes(const gj_program* program, Pair pair) {
  const gj_program p = *program;
  Machine<1, true> m;
  m.start(1);
  OwnSlots slots;
  NoGroups none;
  run(Program{p}, 0, (uint32_t)p.length, m, pair, slots, none);
  if (m.failed) *reinterpret_cast<volatile uint64_t*>(p.failed) = 1;
  return m.test(test_true) & 1;
}

}  // namespace gj
