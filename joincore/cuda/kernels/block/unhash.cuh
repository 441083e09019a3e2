// The inverse of the hash of a key of one word (block/hash.cuh).
#pragma once
#include <stdint.h>

#include "block/hash.cuh"

namespace gj {

__device__ __forceinline__ uint32_t unhash(uint32_t x) {
  x ^= x >> 16;
  x *= 0x43021123u;  // times 0x846ca68b: 1
  x ^= x >> 15 ^ x >> 30;
  x *= 0x1d69e2a5u;  // times 0x7feb352d: 1
  x ^= x >> 16;
  return x ^ (uint32_t)gj_hash_seed;
}

static_assert(0x43021123u * 0x846ca68bu == 1 && 0x1d69e2a5u * 0x7feb352du == 1);

}  // namespace gj
