// Keys of sides sorted by the top bits of their hashes, as the merge reads them.
#pragma once
#include "block/hash.cuh"
#include "layout/sort.h"

namespace gj {

// The whole hash of a key. The hash is a bijection: hashes are equal if and only if keys are.
template <int KW>
struct HashedKey;
template <>
struct HashedKey<1> {
  uint32_t part;
  __device__ __forceinline__ bool operator==(const HashedKey& o) const { return part == o.part; }
};
template <>
struct HashedKey<2> {
  uint32_t part, table;
  __device__ __forceinline__ bool operator==(const HashedKey& o) const { return part == o.part && table == o.table; }
};

// A key as stored, low word first.
template <int KW>
struct RawKey {
  uint32_t word[KW];
};

template <int KW>
__device__ __forceinline__ RawKey<KW> raw_key(uint64_t keys, uint64_t row) {
  if constexpr (KW == 1) {
    return {__ldg(reinterpret_cast<const uint32_t*>(keys) + row)};
  } else {
    const uint2 v = __ldg(reinterpret_cast<const uint2*>(keys) + row);
    return {v.x, v.y};
  }
}

template <int KW>
__device__ __forceinline__ HashedKey<KW> hashed(const RawKey<KW>& key) {
  const Hash h = hash_words(key.word);
  if constexpr (KW == 1)
    return {h.part};
  else
    return {h.part, h.table};
}

template <int KW>
__device__ __forceinline__ HashedKey<KW> hashed_key(uint64_t keys, uint64_t row) {
  return hashed(raw_key<KW>(keys, row));
}

// The top `bits` bits, by which the sides are sorted.
struct Order {
  uint32_t shift, none;
  __device__ explicit Order(uint64_t bits) : shift(bits ? 32 - (uint32_t)bits : 0), none(bits ? ~0u : 0) {}
  template <class H>
  __device__ __forceinline__ uint32_t operator()(const H& h) const {
    return (h.part & none) >> shift;
  }
};

// The first row in [low, high) whose order is not below `order`, or is above it if `after`.
template <int KW>
__device__ __forceinline__ uint64_t find(uint64_t keys, uint64_t low, uint64_t high, const Order& of, uint32_t order, bool after) {
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    const uint32_t o = of(hashed_key<KW>(keys, middle));
    if (o < order || (after && o == order))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace gj
