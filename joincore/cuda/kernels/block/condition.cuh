// Evaluates a condition on a pair of rows in SQL's three-valued logic.
#pragma once
#include "block/machine.cuh"

namespace gj {

struct Pair {
  uint32_t build, probe;
  __device__ __forceinline__ bool locate(const gj_column& c, int, uint32_t& at) const { return gj::locate(c, c.probe ? probe : build, at); }
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
  template <class S>
  __device__ __forceinline__ void key(Instruction, const Machine<1>&, S&) {}
  template <class S>
  __device__ __forceinline__ void key_null(Instruction, const Machine<1>&, S&) {}
  template <class S>
  __device__ __forceinline__ void group(Machine<1>&, const Pair&, S&) {}
  __device__ __forceinline__ void update(Instruction, const Machine<1>&) {}
};

__device__ __noinline__ bool passes(const gj_program* program, Pair pair) {
  const gj_program p = *program;
  Machine<1> m;
  m.lo[0] = m.hi[0] = 0;
  m.start(1);
  OwnSlots slots;
  NoGroups none;
  run<1>(p, m, pair, slots, none);
  if (m.failed) *reinterpret_cast<volatile uint64_t*>(p.failed) = 1;
  return m.test(test_true) & 1;
}

}  // namespace gj
