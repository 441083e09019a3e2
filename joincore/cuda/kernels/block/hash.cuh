// The one hash of a key: a bijective finaliser whose bit fields are disjoint.
// The top bits of `part` number the partition (first pass, then second pass
// below it); the bottom bits of `table` number the bucket inside it. No key
// value is special.
//
// The key is mixed with a seed first, so that nobody can choose keys which all
// fall into one partition or bucket. The seed is one for all modules: what one
// kernel has hashed another one finds. It lies in constant memory, where the
// instruction that mixes it in reads it: it takes no register.
#pragma once
#include <stdint.h>

// The driver sets it in each module that it loads (joincore/cuda/driver).
extern "C" {
__constant__ uint64_t gj_hash_seed;
}

namespace gj {

struct Hash {
  uint32_t part;
  uint32_t table;
};

// Key of one 4-byte word.
__device__ __forceinline__ Hash hash_words(const uint32_t (&key)[1]) {
  uint32_t x = key[0] ^ (uint32_t)gj_hash_seed;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return {x, x};
}

// The finaliser alone, of what is seeded already.
__device__ __forceinline__ Hash finish(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return {(uint32_t)(x >> 32), (uint32_t)x};
}

// Key of two words, low word first.
__device__ __forceinline__ Hash hash_words(const uint32_t (&key)[2]) {
  return finish(((uint64_t)key[1] << 32 | key[0]) ^ gj_hash_seed);
}

}  // namespace gj
