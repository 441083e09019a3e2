// The inverse of the hash of a key of two words (block/hash.cuh).
#pragma once
#include <stdint.h>

#include "block/hash.cuh"

namespace gj {

// x has the hash's `part` in the upper half, its `table` in the lower one.
__device__ __forceinline__ uint64_t unhash_wide(uint64_t x) {
  x ^= x >> 32;
  x *= 0xcfee444d8b59a89bull;  // times 0xd6e8feb86659fd93: 1
  x ^= x >> 32;
  x *= 0xcfee444d8b59a89bull;
  x ^= x >> 32;
  return x ^ gj_hash_seed;
}

static_assert(0xcfee444d8b59a89bull * 0xd6e8feb86659fd93ull == 1);

}  // namespace gj
