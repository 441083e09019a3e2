// The hash of keys: a bijective finaliser whose result has disjoint bit fields.
// The top bits of `part` number the partition (first pass, then second pass below
// it); the bottom bits of `table` number the bucket inside it. No key value is
// special.
//
// The key is first mixed with a random seed, so that an adversary cannot choose
// keys that all fall into one partition or bucket. All modules have the same seed,
// because kernels of different modules must agree on the hash. It is in constant
// memory: the mixing instruction reads it there and needs no register for it.
#pragma once
#include <stdint.h>

// Set by the driver package in each module that it loads.
extern "C" {
__constant__ uint64_t gj_hash_seed;
}

namespace gj {

struct Hash {
  uint32_t part;
  uint32_t table;
};

// A key of one 4-byte word.
__device__ __forceinline__ Hash hash_words(const uint32_t (&key)[1]) {
  uint32_t x = key[0] ^ (uint32_t)gj_hash_seed;
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  x ^= x >> 16;
  return {x, x};
}

// The finaliser alone, for values that already contain the seed.
__device__ __forceinline__ Hash finish(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  x ^= x >> 32;
  return {(uint32_t)(x >> 32), (uint32_t)x};
}

// A key of two words, low word first.
__device__ __forceinline__ Hash hash_words(const uint32_t (&key)[2]) {
  return finish(((uint64_t)key[1] << 32 | key[0]) ^ gj_hash_seed);
}

}  // namespace gj
