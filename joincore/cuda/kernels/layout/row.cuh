// Rows between the passes: W words of 4 bytes, key words first. A buffer of
// `capacity` rows consists of lanes, arrays over all rows: one of 4 bytes and one of
// 8 if W requires them, then lanes of 16 bytes. Wide lanes lengthen the short runs
// that a scatter writes. The narrow lanes come first, so a key has a lane of its own
// if the payload fills whole 16-byte lanes.
#pragma once
#include <stdint.h>

namespace gj {

template <int W>
struct Row {
  uint32_t word[W];
};

// Marks a row as unread. Otherwise a register loaded under a condition stays live
// around the enclosing loop.
template <int W>
__device__ __forceinline__ void clear(Row<W>& r) {
#pragma unroll
  for (int q = 0; q < W; q++) r.word[q] = 0;
}

template <int W>
struct Lanes {
  static constexpr int n4 = W % 2, n8 = W % 4 / 2, n16 = W / 4;
  // The first word of the 8- and 16-byte lanes, and the bytes of a row in the lanes before them.
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

// Policies to read and write lanes. Addresses from a descriptor are generic to the
// compiler; naming the address space lets it move shared-memory reads across global
// writes.
struct ReadOnce {  // global; must not evict lines that caches still combine
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

// Starts an asynchronous copy of BYTES from global to shared memory. Visible to the
// calling thread after await_copies(), to other threads of its warp or block after a
// barrier behind that. Host code, for tests, copies immediately.
template <int BYTES>
__device__ __forceinline__ void copy_bytes_async(const char* from, char* to) {
#ifdef __CUDA_ARCH__
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
  if constexpr (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(BYTES));
#else
  memcpy(to, from, BYTES);
#endif
}
// Ends a group of copies.
__device__ __forceinline__ void end_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for all groups but the latest MORE.
template <int MORE>
__device__ __forceinline__ void await_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(MORE) : "memory");
#endif
}

// Where a thread's rows begin in each lane of a buffer.
template <int W>
struct LaneRows {
  using L = Lanes<W>;
  static constexpr int before16 = L::n4 + L::n8;  // lanes before those of 16 bytes
  const char* at[before16 + L::n16];

  __device__ LaneRows(const char* base, uint64_t capacity, uint64_t row) {
    if constexpr (L::n4) at[0] = base + row * 4;
    if constexpr (L::n8) at[L::n4] = base + capacity * L::before8 + row * 8;
#pragma unroll
    for (int l = 0; l < L::n16; l++) at[before16 + l] = base + capacity * (L::before16 + 16 * l) + row * 16;
  }

  // Starts the copy of n <= N rows i, i + 32, ... to rows row, row + 32, ... of a
  // shared-memory buffer with the same layout.
  template <int N>
  __device__ __forceinline__ void copy(uint32_t i, uint32_t n, char* to, uint32_t capacity, uint32_t row) const {
#pragma unroll
    for (int j = 0; j < N; j++) {
      if (j >= n) break;
      if constexpr (L::n4) copy_bytes_async<4>(at[0] + (uint64_t)i * 4 + j * 128, to + row * 4 + j * 128);
      if constexpr (L::n8) copy_bytes_async<8>(at[L::n4] + (uint64_t)i * 8 + j * 256, to + capacity * L::before8 + row * 8 + j * 256);
#pragma unroll
      for (int l = 0; l < L::n16; l++)
        copy_bytes_async<16>(at[before16 + l] + (uint64_t)i * 16 + j * 512, to + capacity * (L::before16 + 16 * l) + row * 16 + j * 512);
    }
  }
};

// The same for a single row.
template <int W>
__device__ __forceinline__ void copy_async(const char* from, uint64_t from_capacity, uint64_t row, char* to, uint32_t to_capacity, uint32_t to_row) {
  LaneRows<W>(from, from_capacity, row).template copy<1>(0, 1, to, to_capacity, to_row);
}

// Prefetches rows into the L2 cache; thread `t` of `threads`.
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
