// Rows whose first word has a byte of payload beside the rest of the key's hash.
//
// The hash of a key of 4 bytes is a bijection, and its top bits number the partition. Once
// the first pass has divided rows by 8 bits, 24 bits of the hash tell a parent's keys apart:
// in a word with them there is room for a value of 1 byte. So a row with payload of 1, 5,
// 9 or 13 bytes takes a word less in both passes and in the match.
#pragma once
#include <stdint.h>

#include "block/hash.cuh"
#include "layout/join.h"
#include "layout/row.cuh"

namespace gj {

constexpr int beside_bits = 8;  // of the first pass
constexpr uint32_t beside_rest = ~0u >> beside_bits;

// The first word of a row, from a hash and byte i of a word.
__device__ __forceinline__ uint32_t beside(uint32_t hash, uint32_t bytes, int i) { return __byte_perm(hash, bytes, 0x2104 + i); }

// The top bits of the hashes in a partition of the last pass, in place.
__device__ __forceinline__ uint32_t top_bits(const gj_join& job, uint32_t partition) { return partition >> job.bits_second << (32 - beside_bits); }

// Reads the rows of one side of a match: KW key words, and payload P. Where either side has
// rows with a byte beside the hash (HASHES), the match has the rests of hashes in place of
// keys.
template <int KW, class P, bool HASHES>
struct MatchRows {
  static_assert(!HASHES || KW == 1);
  static constexpr int stored = KW + P::words - P::beside;  // words of a row in memory
  using R = Row<KW + P::words>;

  template <class F>
  __device__ static __forceinline__ void load(const char* base, uint64_t capacity, uint64_t row, R& r, F ld) {
    if constexpr (!HASHES) {
      Lanes<stored>::load(base, capacity, row, r, ld);
    } else {
      Row<stored> s;
      Lanes<stored>::load(base, capacity, row, s, ld);
#pragma unroll
      for (int q = 1; q < stored; q++) r.word[q] = s.word[q];
      if constexpr (P::beside) {
        r.word[0] = s.word[0] >> beside_bits;
        r.word[stored] = s.word[0];  // the value is the lowest byte; nobody reads the others
      } else {
        const uint32_t key[1] = {s.word[0]};
        r.word[0] = hash_words(key).part & beside_rest;
      }
    }
  }

  // What numbers the bucket of a row with the given key words.
  __device__ static __forceinline__ uint32_t bucket(const Row<KW>& key) {
    if constexpr (HASHES) return key.word[0];
    return hash_words(key.word).table;
  }
};

}  // namespace gj
