// Normalises the keys of a side to numbers of 4 or 8 bytes.
//
// An exact key concatenates its parts. Other keys are hashed over their canonical
// bytes; candidate pairs are later compared by value (block/condition.cuh). Integers
// are sign-extended to the wider side's width, so that equal values of different
// widths match.
//
// Bound: reads the parts, writes the key.
#pragma once
#include "layout/column.cuh"
#include "layout/row.cuh"

namespace gj {

// Mixes one more word into a hash.
__device__ __forceinline__ uint64_t fold(uint64_t h, uint64_t w) {
  const uint64_t x = h ^ w ^ 0x9e3779b97f4a7c15ull, m = 0xd1342543de82ef95ull;
  return x * m ^ __umul64hi(x, m) ^ h >> 19;
}

__device__ __forceinline__ uint64_t hash_part(uint64_t h, const gj_column& c, uint32_t at) {
  if (c.width && c.width <= 8) return fold(h, (uint64_t)integer_at(c, at));
  const gj_span s = bytes_at(c, at);
  for (uint64_t i = 0; i < s.length; i += 8) h = fold(h, word_at(s.address + i, s.length - i));
  return fold(h, s.length);
}

// The normalised key of a row whose key is not NULL.
__device__ __forceinline__ uint64_t key_of(const gj_keys& k, uint32_t row) {
  const gj_part* part = reinterpret_cast<const gj_part*>(k.parts);
  uint64_t key = k.exact ? 0 : k.seed;
  uint32_t shift = 0, at;
  for (uint32_t i = 0; i < k.part_count; i++) {
    locate(part[i].column, row, at);
    if (k.exact) {
      key |= ((uint64_t)integer_at(part[i].column, at) & ~0ull >> (64 - part[i].bits)) << shift;
      shift += part[i].bits;
    } else {
      key = hash_part(key, part[i].column, at);
    }
  }
  return k.collide ? key & 1 : key;
}

__device__ __forceinline__ bool has_key(const gj_part* part, uint32_t parts, uint32_t row) {
  uint32_t at;
  for (uint32_t i = 0; i < parts; i++)
    if (!locate(part[i].column, row, at)) return false;
  return true;
}

// KW: words of a key.
template <int KW>
__device__ __forceinline__ void normalise(const gj_keys* keys) {
  const gj_keys k = *keys;
  const uint64_t rows = *reinterpret_cast<const uint64_t*>(k.count);
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t row = k.chosen ? __ldcs(reinterpret_cast<const uint32_t*>(k.chosen) + i) : (uint32_t)i;
    const uint64_t key = key_of(k, row);
    if (!k.out) {
      Row<KW + 1> r;
      r.word[0] = (uint32_t)key;
      if constexpr (KW == 2) r.word[1] = (uint32_t)(key >> 32);
      r.word[KW] = row;
      Lanes<KW + 1>::store(reinterpret_cast<char*>(k.out_rows), k.out_capacity, i, r, Write());
    } else if constexpr (KW == 1) {
      __stcg(reinterpret_cast<uint32_t*>(k.out) + i, (uint32_t)key);
    } else {
      __stcg(reinterpret_cast<unsigned long long*>(k.out) + i, key);
    }
  }
}

}  // namespace gj
