// Builds a Bloom filter of the build side's keys and drops the probe rows that it
// rejects.
//
// A rejected probe row costs its key and one word of the filter; it takes part in
// no pass and no match. The remaining rows are copied to dense columns, which
// become the probe side of the join, so every payload and every join kernel works
// unchanged. The alternative is to mark rejected rows during the histogram, as the
// bypass does, and to skip them in the first pass. That saves the copies, but the
// pass ranks tiles in which every row keeps its slot: when less than a third of
// the rows remain it is slower than copying them, and each payload kind would need
// one more kernel.
//
// The filter is blocked (Putze, Sanders, Singler, "Cache-, Hash- and Space-
// Efficient Bloom Filters", section 3): a key sets four bits, two in each half of
// one 64-bit word, so a lookup reads one sector. 3.4 % of the rows without a match
// pass with 8 bits of filter a key, 0.5 % with 16.
//
// Bound: word reads from the L2 cache, one a probe row and two a build row. A
// multiprocessor requests one sector a cycle: 230 G/s for a whole H200. Measured
// there: 118 G/s for lookups and copies, 2.3 ms for 2^28 probe rows against 2^24
// keys (1.1 GB of keys, plus the payload sectors of the remaining rows). A filter
// larger than the L2 cache is slow: 6.8 ms for 2^28 lookups. The filter does not
// pay when about half of the rows match, or when the build side has about as many
// rows as the probe side; package costmodel has the model.
#pragma once
#include "agent/keep.cuh"
#include "block/hash.cuh"

namespace gj {

// A key's word of the filter and its bits in that word. All of `part` chooses the
// word, so any number of words works. Keys of one word differ in the low bits of
// `part`, which the product moves to the top.
struct FilterBits {
  uint32_t word, mixed;
  __device__ __forceinline__ uint2 bits() const {
    return make_uint2(1u << (mixed >> 27) | 1u << (mixed >> 22 & 31), 1u << (mixed >> 17 & 31) | 1u << (mixed >> 12 & 31));
  }
  __device__ __forceinline__ bool within(uint2 word) const {
    const uint2 b = bits();
    return !((b.x & ~word.x) | (b.y & ~word.y));
  }
};

template <int KW>
__device__ __forceinline__ FilterBits filter_bits(const uint32_t (&key)[KW], uint32_t words) {
  const Hash h = hash_words(key);
  return {(uint32_t)((uint64_t)h.part * words >> 32), h.table * 0x9e3779b1u};
}

// Enters the build side's keys into a filter of `words` words, all zero before.
// A word is read before its atomic update: otherwise all rows of a frequent key
// would queue for the same word.
template <int KW, int T>
__device__ __forceinline__ void fill_filter(const gj_join* join, uint64_t filter, uint64_t words) {
  constexpr int V = 4 / KW;  // keys per vector
  const uint64_t rows = join->side[0].rows, stride = (uint64_t)gridDim.x * T;
  const uint4* vector = reinterpret_cast<const uint4*>(join->side[0].key);
  for (uint64_t i = (uint64_t)blockIdx.x * T + threadIdx.x; i * V < rows; i += stride) {
    const uint4 v = __ldcs(vector + i);
    FilterBits f[V];
    uint2 word[V];
#pragma unroll
    for (int k = 0; k < V; k++) {
      uint32_t key[KW];
      key_of_vector(v, k, key);
      f[k] = filter_bits(key, (uint32_t)words);
      word[k] = __ldcg(reinterpret_cast<const uint2*>(filter) + f[k].word);
    }
#pragma unroll
    for (int k = 0; k < V; k++)
      if (i * V + k < rows && !f[k].within(word[k]))
        atomicOr(reinterpret_cast<unsigned long long*>(filter) + f[k].word, (unsigned long long)f[k].bits().y << 32 | f[k].bits().x);
  }
}

// Which probe rows a filter passes (agent/keep.cuh).
template <int KW>
struct FilterKeeps {
  struct Found {
    FilterBits bits;
    uint2 word;
  };
  const uint2* filter;
  uint32_t words;
  __device__ FilterKeeps(uint64_t at, uint64_t n) : filter(reinterpret_cast<const uint2*>(at)), words((uint32_t)n) {}
  __device__ __forceinline__ Found find(const uint32_t (&key)[KW], uint64_t) const {
    const FilterBits b = filter_bits(key, words);
    return {b, __ldg(filter + b.word)};
  }
  __device__ __forceinline__ static bool keeps(const Found& f) { return f.bits.within(f.word); }
};

}  // namespace gj
