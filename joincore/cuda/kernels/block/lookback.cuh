// Decoupled look-back: blocks that draw their tiles in order learn the sum over
// all tiles before theirs without an extra pass (Merrill, Garland: Single-pass
// Parallel Prefix Scan with Decoupled Look-back).
//
// A tile's status word is tag << 56 | value. `epoch` distinguishes the uses of one
// array: words of other epochs count as not written. A tile publishes its own sum
// first, then the inclusive sum.
//
// No other data is published with a status, so relaxed accesses suffice. The block
// that draws tile t is resident, and so are those of all tiles before t: the wait
// ends for any number of resident blocks.
#pragma once
#include <stdint.h>

namespace gj {

struct Status {
  static constexpr int value_bits = 56;
  static constexpr uint64_t value_mask = (1ull << value_bits) - 1;
  __device__ static __forceinline__ uint64_t own(uint32_t epoch, uint64_t v) { return (uint64_t)(2 * epoch + 1) << value_bits | v; }
  __device__ static __forceinline__ uint64_t upto(uint32_t epoch, uint64_t v) { return (uint64_t)(2 * epoch + 2) << value_bits | v; }
  __device__ static __forceinline__ bool is_own(uint32_t epoch, uint64_t s) { return s >> value_bits == 2 * epoch + 1; }
  __device__ static __forceinline__ bool is_upto(uint32_t epoch, uint64_t s) { return s >> value_bits == 2 * epoch + 2; }
  __device__ static __forceinline__ uint64_t load(const uint64_t* p) {
#ifdef __CUDA_ARCH__
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
#else
    return *p;
#endif
  }
  __device__ static __forceinline__ void store(uint64_t* p, uint64_t v) {
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
#else
    *p = v;
#endif
  }
};

// The sum over the tiles before `tile`, for one thread. A tile's words are `stride`
// apart. The first tile publishes its inclusive sum without a look-back.
__device__ __forceinline__ uint64_t look_back(const uint64_t* status, uint64_t tile, uint64_t first, uint64_t stride, uint32_t epoch) {
  constexpr int U = 4;  // words in flight
  uint64_t sum = 0;
  for (uint64_t at = tile;;) {
    uint64_t word[U];
#pragma unroll
    for (int u = 0; u < U; u++) word[u] = at > first + u ? Status::load(status + (at - 1 - u) * stride) : 0;
#pragma unroll
    for (int u = 0; u < U; u++) {
      if (Status::is_upto(epoch, word[u])) return sum + (word[u] & Status::value_mask);
      if (!Status::is_own(epoch, word[u])) break;
      sum += word[u] & Status::value_mask;
      at--;
    }
  }
}

}  // namespace gj
