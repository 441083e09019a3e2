// A Bloom filter of the build side's keys, and the probe rows that it leaves.
//
// Of a probe row without a match a join then needs its key and one word of the
// filter, and no passes, no payload and no match. Rows that are left are copied
// to columns of their own, side by side, and those are the probe side from there
// on: whatever a join does, for any payload, it does with fewer rows. The other
// way would be to mark rows as the bypass does, in the histogram, and to skip
// them in the first pass. It saves the copies; but that pass ranks by tiles, in
// which every row has its place, so that below a third of the rows it costs more
// than copying what is left, and each form of it would be built once more.
//
// The filter is blocked (Putze, Sanders, Singler, "Cache-, Hash- and Space-
// Efficient Bloom Filters", section 3): a key has all of its bits in one word of
// 64, two in each half, so that a look is one read of one sector. With 8 bits of
// filter a key 3.4 % of the rows without a match are left, with 16 bits 0.5 %.
//
// Bound: reads of the L2 by word, one a probe row and two a build row. A
// multiprocessor asks for a sector a cycle, 230 G/s on an H200 together; looks and
// copies went at 118 G/s there, 2.3 ms for 2^28 probe rows against 2^24 keys, in
// which 1.1 GB of keys are read and by sectors the payload of what is left. It
// is for filters that the L2 holds: beyond it 2^28 looks take 6.8 ms. It loses
// where about half of the rows match, and where there are about as many build
// rows: package costmodel has the model.
#pragma once
#include "agent/sample.cuh"
#include "block/hash.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// A key's word of the filter and its bits there. The word is chosen by the whole
// of `part`, so that there can be any number of words; keys of one word differ in
// what is below, which the product brings to the top.
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

// Key k of a vector of 16 bytes.
template <int KW>
__device__ __forceinline__ void key_of_vector(uint4 v, int k, uint32_t (&key)[KW]) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
}

// Enters the build side's keys into a filter of so many words, all zero before.
// A word is looked at first: a frequent key would have all its rows wait for the
// same one.
template <int KW, int T>
__device__ __forceinline__ void fill_filter(const gj_join* join, uint64_t filter, uint64_t words) {
  constexpr int V = 4 / KW;  // keys a vector
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

// Dynamic shared memory: keys of a tile's rows that are left, and their numbers
// in the tile.
template <int KW, int T, int V>
struct ReductionLayout {
  static constexpr int tile = T * V * 4 / KW, rows = tile * KW * 4, bytes = rows + tile * 2;
};

// Copies the probe rows that the filter leaves: keys to `keys`, payload as the
// side's fields say, in any order. GJ_KEPT counts them; those from number
// `capacity` on are counted only. A thread has V vectors of keys.
template <int KW, int T, int V>
__device__ __forceinline__ void reduce(const gj_join* join, uint64_t filter, uint64_t words, uint64_t keys, uint64_t capacity) {
  using Layout = ReductionLayout<KW, T, V>;
  using Key = Value<4 * KW>;
  constexpr int PER = 4 / KW, N = V * PER;  // keys of a vector, of a thread
  static_assert(N <= 32 && Layout::tile <= 1 << 16);
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  Key* left_key = reinterpret_cast<Key*>(smem);
  uint16_t* left_row = reinterpret_cast<uint16_t*>(smem + Layout::rows);
  __shared__ uint32_t sums[32];
  __shared__ unsigned long long claimed;
  const gj_side& side = join->side[1];
  const uint64_t rows = side.rows;
  const uint4* vector = reinterpret_cast<const uint4*>(side.key);
  const uint2* word = reinterpret_cast<const uint2*>(filter);

  for (uint64_t first = (uint64_t)blockIdx.x * Layout::tile; first < rows; first += (uint64_t)gridDim.x * Layout::tile) {
    const uint32_t n = (uint32_t)min(rows - first, (uint64_t)Layout::tile);
    uint4 v[V];
    FilterBits f[N];
    uint2 w[N];
    uint32_t left = 0;  // a bit a key of the thread
#pragma unroll
    for (int i = 0; i < V; i++) {
      v[i] = uint4{0, 0, 0, 0};
      if ((i * T + threadIdx.x) * PER < n) v[i] = __ldcs(vector + first / PER + i * T + threadIdx.x);
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      uint32_t key[KW];
      key_of_vector(v[j / PER], j % PER, key);
      f[j] = filter_bits(key, (uint32_t)words);
      w[j] = __ldg(word + f[j].word);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
      if ((j / PER * T + threadIdx.x) * PER + j % PER < n) left |= (uint32_t)f[j].within(w[j]) << j;

    uint32_t total;
    uint32_t slot = block_exclusive<T>((uint32_t)__popc(left), sums, total);
    if (threadIdx.x == 0) claimed = atomicAdd(reinterpret_cast<unsigned long long*>(join->counters) + GJ_KEPT, (unsigned long long)total);
#pragma unroll
    for (int j = 0; j < N; j++)
      if (left >> j & 1) {
        uint32_t key[KW];
        key_of_vector(v[j / PER], j % PER, key);
        if constexpr (KW == 1)
          left_key[slot] = key[0];
        else
          left_key[slot] = make_uint2(key[0], key[1]);
        left_row[slot++] = (uint16_t)((j / PER * T + threadIdx.x) * PER + j % PER);
      }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < total; i += T) {
      const uint64_t to = claimed + i;
      if (to >= capacity) break;
      __stcg(reinterpret_cast<Key*>(keys) + to, left_key[i]);
      const uint32_t row[1] = {(uint32_t)first + left_row[i]};
      gather_fields(side, row, 1, [&](int) { return to; });
    }
    __syncthreads();
  }
}

}  // namespace gj
