// Rows between the passes: W words of 4 bytes, key words first. A buffer of
// `capacity` rows holds lanes, each an array over all rows: one of 4 bytes and
// one of 8 where W needs them, then W/4 of 16 bytes. Wide lanes make long runs
// of the short ones that a scatter writes to a partition; the odd lanes come
// first, so that a key whose payload is whole lanes has a lane of its own.
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
  static constexpr int n4 = W % 2, n8 = W % 4 / 2, n16 = W / 4;
  // Of each kind the first word, and the bytes of a row that lie in lanes before it.
  static constexpr int word8 = n4, word16 = n4 + 2 * n8, before8 = 4 * n4, before16 = 4 * n4 + 8 * n8;

  template <class F>
  __device__ static __forceinline__ void load(const char* base, uint64_t capacity, uint64_t row, Row<W>& r, F ld) {
    if constexpr (n4) r.word[0] = ld(reinterpret_cast<const uint32_t*>(base) + row);
    if constexpr (n8) {
      uint2 v = ld(reinterpret_cast<const uint2*>(base + capacity * before8) + row);
      r.word[word8] = v.x, r.word[word8 + 1] = v.y;
    }
#pragma unroll
    for (int l = 0; l < n16; l++) {
      uint4 v = ld(reinterpret_cast<const uint4*>(base + capacity * (before16 + 16 * l)) + row);
      constexpr int w = word16;
      r.word[w + 4 * l] = v.x, r.word[w + 4 * l + 1] = v.y, r.word[w + 4 * l + 2] = v.z, r.word[w + 4 * l + 3] = v.w;
    }
  }

  template <class F>
  __device__ static __forceinline__ void store(char* base, uint64_t capacity, uint64_t row, const Row<W>& r, F st) {
    if constexpr (n4) st(reinterpret_cast<uint32_t*>(base) + row, r.word[0]);
    if constexpr (n8) st(reinterpret_cast<uint2*>(base + capacity * before8) + row, make_uint2(r.word[word8], r.word[word8 + 1]));
#pragma unroll
    for (int l = 0; l < n16; l++) {
      constexpr int w = word16;
      st(reinterpret_cast<uint4*>(base + capacity * (before16 + 16 * l)) + row,
         make_uint4(r.word[w + 4 * l], r.word[w + 4 * l + 1], r.word[w + 4 * l + 2], r.word[w + 4 * l + 3]));
    }
  }
};

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

// Starts the copy of a row from global memory to a shared-memory buffer of the
// same layout. The thread that copies a row is the one that may read it, after
// copies_done(). The host, where tests run this code, copies at once.
template <int W>
__device__ __forceinline__ void copy_async(const char* from, uint64_t from_capacity, uint64_t row, char* to, uint32_t to_capacity, uint32_t to_row) {
  using L = Lanes<W>;
#ifdef __CUDA_ARCH__
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
  if constexpr (L::n4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at + to_row * 4), "l"(from + row * 4));
  if constexpr (L::n8)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at + to_capacity * L::before8 + to_row * 8), "l"(from + from_capacity * L::before8 + row * 8));
#pragma unroll
  for (int l = 0; l < L::n16; l++)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + to_capacity * (L::before16 + 16 * l) + to_row * 16),
                 "l"(from + from_capacity * (L::before16 + 16 * l) + row * 16));
#else
  Row<W> r;
  L::load(from, from_capacity, row, r, Shared());
  L::store(to, to_capacity, to_row, r, Shared());
#endif
}
__device__ __forceinline__ void copies_done() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Brings rows to the L2 cache; thread `t` of `threads`.
template <int W>
__device__ __forceinline__ void prefetch(const char* from, uint64_t capacity, uint64_t row, uint32_t rows, uint32_t t, uint32_t threads) {
  using L = Lanes<W>;
  auto lane = [&](const char* base, uint32_t bytes) {
#ifdef __CUDA_ARCH__
    for (uint32_t b = t * 128; b < rows * bytes; b += threads * 128) asm volatile("prefetch.global.L2 [%0];" ::"l"(base + row * bytes + b));
#endif
  };
  if constexpr (L::n4) lane(from, 4);
  if constexpr (L::n8) lane(from + capacity * L::before8, 8);
#pragma unroll
  for (int l = 0; l < L::n16; l++) lane(from + capacity * (L::before16 + 16 * l), 16);
}

}  // namespace gj
