// Rows between the passes: W words of 4 bytes, key words first. A buffer of
// `capacity` rows holds W/4 lanes of 16 bytes a row, then one of 8 and one of
// 4 where W needs them, each lane an array over all rows. Wide lanes make long
// runs of the short ones that a scatter writes to a partition.
#pragma once
#include <stdint.h>

namespace gj {

template <int W>
struct Row {
  uint32_t word[W];
};

// An unread row: without it a register that is loaded under a condition stays
// live around the loop that loads it.
template <int W>
__device__ __forceinline__ void clear(Row<W>& r) {
#pragma unroll
  for (int q = 0; q < W; q++) r.word[q] = 0;
}

template <int W>
struct Lanes {
  static constexpr int n16 = W / 4, n8 = W % 4 / 2, n4 = W % 2;

  template <class F>
  __device__ static __forceinline__ void load(const char* base, uint64_t capacity, uint64_t row, Row<W>& r, F ld) {
#pragma unroll
    for (int l = 0; l < n16; l++) {
      uint4 v = ld(reinterpret_cast<const uint4*>(base + capacity * 16 * l) + row);
      r.word[4 * l] = v.x, r.word[4 * l + 1] = v.y, r.word[4 * l + 2] = v.z, r.word[4 * l + 3] = v.w;
    }
    if constexpr (n8) {
      uint2 v = ld(reinterpret_cast<const uint2*>(base + capacity * 16 * n16) + row);
      r.word[4 * n16] = v.x, r.word[4 * n16 + 1] = v.y;
    }
    if constexpr (n4) r.word[W - 1] = ld(reinterpret_cast<const uint32_t*>(base + capacity * (16 * n16 + 8 * n8)) + row);
  }

  template <class F>
  __device__ static __forceinline__ void store(char* base, uint64_t capacity, uint64_t row, const Row<W>& r, F st) {
#pragma unroll
    for (int l = 0; l < n16; l++)
      st(reinterpret_cast<uint4*>(base + capacity * 16 * l) + row,
         make_uint4(r.word[4 * l], r.word[4 * l + 1], r.word[4 * l + 2], r.word[4 * l + 3]));
    if constexpr (n8) st(reinterpret_cast<uint2*>(base + capacity * 16 * n16) + row, make_uint2(r.word[4 * n16], r.word[4 * n16 + 1]));
    if constexpr (n4) st(reinterpret_cast<uint32_t*>(base + capacity * (16 * n16 + 8 * n8)) + row, r.word[W - 1]);
  }
};

// Starts the copy of a row from global memory to a shared-memory buffer of the
// same layout. The thread that copies a row is the one that may read it, after
// copies_done().
template <int W>
__device__ __forceinline__ void copy_async(const char* from, uint64_t from_capacity, uint64_t row, char* to, uint32_t to_capacity, uint32_t to_row) {
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
#pragma unroll
  for (int l = 0; l < Lanes<W>::n16; l++)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + (to_capacity * l + to_row) * 16), "l"(from + (from_capacity * l + row) * 16));
  if constexpr (Lanes<W>::n8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + to_capacity * 16 * Lanes<W>::n16 + to_row * 8),
                 "l"(from + from_capacity * 16 * Lanes<W>::n16 + row * 8));
  if constexpr (Lanes<W>::n4)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + to_capacity * (W / 2 * 8) + to_row * 4),
                 "l"(from + from_capacity * (W / 2 * 8) + row * 4));
}
__device__ __forceinline__ void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Brings rows to the L2 cache; thread `t` of `threads`.
template <int W>
__device__ __forceinline__ void prefetch(const char* from, uint64_t capacity, uint64_t row, uint32_t rows, uint32_t t, uint32_t threads) {
  auto lane = [&](const char* base, uint32_t bytes) {
    for (uint32_t b = t * 128; b < rows * bytes; b += threads * 128) asm volatile("prefetch.global.L2 [%0];" ::"l"(base + row * bytes + b));
  };
#pragma unroll
  for (int l = 0; l < Lanes<W>::n16; l++) lane(from + capacity * 16 * l, 16);
  if constexpr (Lanes<W>::n8) lane(from + capacity * 16 * Lanes<W>::n16, 8);
  if constexpr (Lanes<W>::n4) lane(from + capacity * (W / 2 * 8), 4);
}

// How a lane is read and written. Addresses that come out of the descriptor
// are generic to the compiler: naming the space keeps shared-memory reads
// free to move across global writes.
struct ReadOnce {  // global, should not displace what the caches still combine
  template <class V>
  __device__ __forceinline__ V operator()(const V* p) const {
    return __ldcs(p);
  }
};
struct Shared {
  template <class V>
  __device__ __forceinline__ V operator()(const V* p) const {
    return *p;
  }
  template <class V>
  __device__ __forceinline__ void operator()(V* p, V v) const {
    *p = v;
  }
};
struct Write {  // global
  template <class V>
  __device__ __forceinline__ void operator()(V* p, V v) const {
    __stcg(p, v);
  }
};

}  // namespace gj
