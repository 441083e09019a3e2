// The join without partitions (agent/npj.cuh) whose hash table and build rows lie in the
// memory of several devices that access each other's (gj_spread; Fast-IC, section 6.3).
//
// Each device reads the keys of all build rows and enters those whose slots it has: no
// atomic operation leaves a device. Later each device probes with rows of its own, and
// reads slots, keys and links where they are.
//
// Bound: of the random reads of a probe, a device serves 39.5 G a second from its own
// memory, and 6.9 G from that of another one (H200, NVLink 4).
#pragma once
#include "agent/npj.cuh"

namespace gj {

// A table that is never an array.
struct HashOnly {
  static constexpr bool dense = false;
  __device__ explicit HashOnly(const gj_table&) {}
  __device__ static __forceinline__ uint32_t find(uint64_t) { return no_row; }
};

// A table and build rows in the memory of several devices. The descriptor outlives it.
template <int KW>
struct SpreadSlots {
  using Descriptor = gj_spread;
  using Array = HashOnly;
  const gj_spread& of;
  const unsigned long long* unit;
  uint64_t count, mask;
  uint32_t bits;
  __device__ explicit SpreadSlots(const gj_spread& d)
      : of(d), unit(reinterpret_cast<const unsigned long long*>(d.unit)), count(d.table.slots), mask((1ull << d.unit_bits) - 1), bits((uint32_t)d.unit_bits) {}
  __device__ static __forceinline__ const gj_table& table(const Descriptor& d) { return d.table; }
  // Whether this device has a slot; for tables whose list of units says so.
  __device__ __forceinline__ bool here(uint64_t i) const { return __ldg(unit + (i >> bits)) != 0; }
  __device__ __forceinline__ uint64_t* at(uint64_t i) const { return reinterpret_cast<uint64_t*>(__ldg(unit + (i >> bits))) + (i & mask); }
  __device__ __forceinline__ uint64_t after(uint64_t first, uint32_t others) const {
    const uint64_t line = ((first & ~7ull) + (others & ~7u)) & mask;
    return (first & ~mask) + line + ((first ^ others) & 7);
  }
  __device__ __forceinline__ bool continues(uint32_t others) const { return others <= mask; }
  __device__ __forceinline__ void overflow() const { *reinterpret_cast<volatile uint32_t*>(of.full) = 1; }
  __device__ __forceinline__ uint64_t key_of(uint32_t row) const { return key_value<KW>(of.key[(uint64_t)row >> of.row_bits], number(row)); }
  __device__ __forceinline__ uint32_t next_of(uint32_t row) const {
    return __ldg(reinterpret_cast<const uint32_t*>(of.next[(uint64_t)row >> of.row_bits]) + number(row));
  }

 private:
  __device__ __forceinline__ uint64_t number(uint32_t row) const { return row & ((1ull << of.row_bits) - 1); }
};

// Enters the build rows of all devices whose slots this one has, its own first. Links
// are in the memory of the rows.
template <int KW, int T>
__device__ __forceinline__ void enter_spread(const gj_spread* spread) {
  const SpreadSlots<KW> slots(*spread);
  for (uint64_t others = 0; others < spread->devices; others++) {
    const uint64_t device = (spread->own + others) % spread->devices, keys = spread->key[device], rows = spread->rows[device];
    uint32_t* next = reinterpret_cast<uint32_t*>(spread->next[device]);
    for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * T) {
      uint32_t tag;
      const uint32_t first = (uint32_t)first_slot<KW>(key_value<KW>(keys, i), slots.count, tag);
      if (!slots.here(first)) continue;
      const uint32_t before = enter_row(slots, first, tag, (uint32_t)(device << spread->row_bits | i));
      if (before == no_row) continue;
      *reinterpret_cast<volatile uint32_t*>(spread->table.repeats) = 1;
      __stcg(next + i, before);
    }
  }
}

}  // namespace gj
