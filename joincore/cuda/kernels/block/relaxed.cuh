// Relaxed loads of shared memory that other threads change atomically.
// atomicAdd(p, 0) would compile to a loop.
#pragma once
#include <stdint.h>

namespace gj {

__device__ __forceinline__ uint32_t load_relaxed(const uint32_t* p) {
#ifdef __CUDA_ARCH__
  uint32_t v;
  asm volatile("ld.relaxed.cta.shared.u32 %0, [%1];" : "=r"(v) : "r"((uint32_t)__cvta_generic_to_shared(p)));
  return v;
#else
  return *p;
#endif
}

__device__ __forceinline__ uint64_t load_relaxed(const uint64_t* p) {
#ifdef __CUDA_ARCH__
  uint64_t v;
  asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(v) : "r"((uint32_t)__cvta_generic_to_shared(p)));
  return v;
#else
  return *p;
#endif
}

}  // namespace gj
