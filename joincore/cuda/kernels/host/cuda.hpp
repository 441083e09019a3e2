// Device code on the host: what of CUDA the kernels' headers use, one block
// after the other, each thread a fiber. Fibers change only at barriers and at
// warp operations, so that races are not found; what is computed is.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__ inline
#define __shared__ static
#define __constant__

struct uint2 {
  uint32_t x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};
struct ulonglong2 {
  unsigned long long x, y;
};
inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }

struct Index {
  uint32_t x;
};
inline Index threadIdx, blockIdx, gridDim, blockDim;

namespace gj {
inline uint4 shared[1 << 15];  // dynamic shared memory: the test takes its declarations out of the kernels
}

namespace host {

constexpr size_t stack_bytes = 1 << 16;

// A fiber begins in a context of its own. From then on it is left and entered by jumps:
// swapcontext would make a system call each time, to keep the signal mask.
struct Fiber {
  ucontext_t first;
  jmp_buf at;
  bool begun, done;
};

// The block that runs.
inline struct Block {
  std::vector<Fiber> fiber;
  std::vector<std::vector<char>> stack;
  jmp_buf scheduler;
  std::function<void()> body;
  uint32_t arrived, round;                        // at the block's barrier
  std::vector<uint32_t> warp_arrived, warp_round;  // at each warp's
  std::vector<uint64_t> value;                    // that each thread shows its warp
} block;

// Leaves the fiber that runs, until the scheduler enters it again.
inline void __attribute__((noinline)) yield() {
  const uint32_t me = threadIdx.x;
  if (!_setjmp(block.fiber[me].at)) _longjmp(block.scheduler, 1);
  threadIdx.x = me;
}

// Runs a fiber until it yields or ends.
inline void __attribute__((noinline)) enter(Fiber& f) {
  if (_setjmp(block.scheduler)) return;
  if (f.begun) _longjmp(f.at, 1);
  f.begun = true;
  setcontext(&f.first);
}

inline void barrier(uint32_t& arrived, uint32_t& round, uint32_t threads) {
  const uint32_t here = round;
  if (++arrived == threads) {
    arrived = 0;
    round++;
    return;
  }
  while (round == here) yield();
}

inline void warp_barrier() { barrier(block.warp_arrived[threadIdx.x / 32], block.warp_round[threadIdx.x / 32], 32); }

inline void fiber() {
  block.body();
  block.fiber[threadIdx.x].done = true;
  yield();
}

// Runs blocks of threads threads of a kernel. Shared memory begins as garbage.
inline void launch(uint32_t blocks, uint32_t threads, std::function<void()> kernel) {
  gridDim.x = blocks, blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    memset(gj::shared, 0xcd, sizeof gj::shared);
    block.body = kernel;
    block.fiber.assign(threads, {});
    block.stack.resize(std::max<size_t>(block.stack.size(), threads));
    block.arrived = block.round = 0;
    block.warp_arrived.assign(threads / 32, 0);
    block.warp_round.assign(threads / 32, 0);
    block.value.assign(threads, 0);
    for (uint32_t t = 0; t < threads; t++) {
      block.stack[t].resize(stack_bytes);
      ucontext_t& first = block.fiber[t].first;
      getcontext(&first);
      first.uc_stack.ss_sp = block.stack[t].data();
      first.uc_stack.ss_size = stack_bytes;
      makecontext(&first, fiber, 0);
    }
    for (bool running = true; running;) {
      running = false;
      for (uint32_t t = 0; t < threads; t++) {
        if (block.fiber[t].done) continue;
        threadIdx.x = t;
        enter(block.fiber[t]);
        running = running || !block.fiber[t].done;
      }
    }
  }
}

// What lane `source` of the warp shows.
template <class V>
V shuffle(V v, uint32_t source) {
  static_assert(sizeof(V) <= 8);
  memcpy(&block.value[threadIdx.x], &v, sizeof v);
  warp_barrier();
  memcpy(&v, &block.value[threadIdx.x / 32 * 32 + source % 32], sizeof v);
  warp_barrier();
  return v;
}

}  // namespace host

inline void __syncthreads() { host::barrier(host::block.arrived, host::block.round, blockDim.x); }
inline bool __syncthreads_or(bool p) {
  static bool any;
  __syncthreads();
  any = false;
  __syncthreads();
  any = any || p;
  __syncthreads();
  return any;
}
inline void __syncwarp() { host::warp_barrier(); }
inline void __nanosleep(uint32_t) { host::yield(); }

template <class V>
V __shfl_sync(uint32_t, V v, uint32_t source) {
  return host::shuffle(v, source);
}
template <class V>
V __shfl_up_sync(uint32_t, V v, uint32_t d) {
  const uint32_t lane = threadIdx.x % 32;
  return host::shuffle(v, lane >= d ? lane - d : lane);
}
template <class V>
V __shfl_xor_sync(uint32_t, V v, uint32_t d) {
  return host::shuffle(v, threadIdx.x % 32 ^ d);
}
inline uint32_t __ballot_sync(uint32_t, bool p) {
  const uint32_t first = threadIdx.x / 32 * 32;
  uint32_t votes = 0;
  host::block.value[threadIdx.x] = p;
  host::warp_barrier();
  for (uint32_t lane = 0; lane < 32; lane++) votes |= (uint32_t)host::block.value[first + lane] << lane;
  host::warp_barrier();
  return votes;
}
inline bool __any_sync(uint32_t all, bool p) { return __ballot_sync(all, p) != 0; }

inline uint32_t __umulhi(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
inline uint64_t __umul64hi(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = (uint64_t)b << 32 | a;
  uint32_t v = 0;
  for (int i = 0; i < 4; i++) v |= (uint32_t)(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return v;
}
inline int __popc(uint32_t v) { return __builtin_popcount(v); }
inline int __ffs(uint32_t v) { return __builtin_ffs((int)v); }
inline int __clz(uint32_t v) { return v ? __builtin_clz(v) : 32; }

template <class V>
V __ldg(const V* p) {
  return *p;
}
template <class V>
V __ldcg(const V* p) {
  return *p;
}
template <class V>
V __ldcs(const V* p) {
  return *p;
}
template <class V, class W>
void __stcg(V* p, W v) {
  *p = (V)v;
}
template <class V>
void __stcs(V* p, V v) {
  *p = v;
}

template <class V, class W>
V atomicAdd(V* p, W v) {
  const V old = *p;
  *p += (V)v;
  return old;
}
template <class V, class W>
V atomicSub(V* p, W v) {
  const V old = *p;
  *p -= (V)v;
  return old;
}
template <class V, class W>
V atomicOr(V* p, W v) {
  const V old = *p;
  *p |= (V)v;
  return old;
}
template <class V, class W>
V atomicExch(V* p, W v) {
  const V old = *p;
  *p = (V)v;
  return old;
}
template <class V, class W>
V atomicMin(V* p, W v) {
  const V old = *p;
  *p = (V)v < old ? (V)v : old;
  return old;
}
template <class V, class W>
V atomicMax(V* p, W v) {
  const V old = *p;
  if (old < (V)v) *p = (V)v;
  return old;
}
template <class V>
V atomicCAS(V* p, V compare, V v) {
  const V old = *p;
  if (old == compare) *p = v;
  return old;
}

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  return (std::common_type_t<A, B>)b < (std::common_type_t<A, B>)a ? b : a;
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  return (std::common_type_t<A, B>)a < (std::common_type_t<A, B>)b ? b : a;
}

inline void __threadfence_block() {}
inline void __threadfence_system() {}
