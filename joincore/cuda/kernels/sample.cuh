// A sample of the probe side's keys, looked up by the build side's histogram.
//
// It tells the match ratio and which keys are hot, which decide how payload is
// materialised and whether hot keys go round the partitioning. The table is
// direct-mapped: a key whose slot is taken is left out, so that a lookup is one
// read. No key value marks an empty slot: it holds a hash that belongs elsewhere.
#pragma once
#include "descriptor.h"
#include "hash.cuh"
#include "scan.cuh"

namespace gj {

constexpr uint32_t slot_mask = GJ_SAMPLE_SLOTS - 1;

// The whole hash; it is bijective, so it stands for the key.
__device__ __forceinline__ uint32_t whole_hash(const uint32_t (&key)[1]) { return hash_words(key).table; }
__device__ __forceinline__ uint64_t whole_hash(const uint32_t (&key)[2]) {
  const Hash h = hash_words(key);
  return (uint64_t)h.part << 32 | h.table;
}
template <int KW>
struct WholeHash {
  using type = uint64_t;
};
template <>
struct WholeHash<1> {
  using type = uint32_t;
};

template <int KW>
__device__ __forceinline__ void load_key(uint64_t column, uint64_t row, uint32_t (&key)[KW]) {
  const uint32_t* word = reinterpret_cast<const uint32_t*>(column) + row * KW;
#pragma unroll
  for (int q = 0; q < KW; q++) key[q] = word[q];
}

// One block of T threads: samples about GJ_SAMPLE_SLOTS probe rows, one from
// each of as many equal ranges.
template <int KW, int T>
__device__ __forceinline__ void take_sample(const gj_join* join) {
  using H = typename WholeHash<KW>::type;
  extern __shared__ uint4 shared[];
  unsigned long long* table = reinterpret_cast<unsigned long long*>(shared);
  __shared__ uint32_t count[GJ_SAMPLE_SLOTS / 2];  // in halves
  gj_sample* sample = reinterpret_cast<gj_sample*>(join->sample);
  for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) table[i] = (H) ~(H)i;
  for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS / 2; i += T) count[i] = 0;
  __syncthreads();
  const uint64_t range = join->side[1].rows / GJ_SAMPLE_SLOTS;  // below 2^20
  constexpr int PER = GJ_SAMPLE_SLOTS / T;
  uint32_t key[PER][KW];
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const uint32_t i = threadIdx.x + k * T;
    const uint32_t number[1] = {i};
    if (range) load_key<KW>(join->side[1].key, i * range + (uint64_t)hash_words(number).part * range / (1ull << 32), key[k]);
  }
#pragma unroll
  for (int k = 0; k < PER && range; k++) {
    const H h = whole_hash(key[k]);
    const uint32_t slot = h & slot_mask;
    const unsigned long long old = atomicCAS(&table[slot], (unsigned long long)(H) ~(H)slot, (unsigned long long)h);
    if (old == (H) ~(H)slot || old == h) atomicAdd(&count[slot / 2], 1u << (slot % 2 * 16));
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) {
    sample->hash[i] = table[i];
    sample->count[i] = count[i / 2] >> (i % 2 * 16) & 0xffff;
    sample->matches[i] = 0;
  }
}

// A block's copy of the table, to look up build rows; where it is not USED,
// nothing.
template <int KW, int T, bool USED>
struct SampleLookup {
  using H = typename WholeHash<KW>::type;
  static constexpr int bytes = GJ_SAMPLE_SLOTS * sizeof(H) + GJ_SAMPLE_SLOTS / 8;
  gj_sample* sample;
  H* table;
  uint32_t* seen;  // a bit a slot: the block has met the key

  __device__ SampleLookup(const gj_join* join, void* memory)
      : sample(reinterpret_cast<gj_sample*>(join->sample)), table(reinterpret_cast<H*>(memory)), seen(reinterpret_cast<uint32_t*>(table + GJ_SAMPLE_SLOTS)) {
    if constexpr (USED) {
      for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) table[i] = (H)sample->hash[i];
      for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS / 32; i += T) seen[i] = 0;
    }
  }

  // Notes a build row. A block counts a key's first two rows only.
  __device__ __forceinline__ void look(const uint32_t (&key)[KW], uint32_t row) {
    const H h = whole_hash(key);
    const uint32_t slot = h & slot_mask;
    if (table[slot] != h) return;
    if (atomicOr(&seen[slot / 32], 1u << slot % 32) >> slot % 32 & 1) table[slot] = ~(H)slot;
    atomicAdd(&sample->matches[slot], 1);
    sample->row[slot] = row;
  }
};

// One block: adds the sample up and numbers the hot keys, those that at least
// `often` sampled rows have and one build row.
template <int T>
__device__ __forceinline__ void sum_sample(const gj_join* join, uint32_t often) {
  static_assert(GJ_SAMPLE_SLOTS % T == 0);
  __shared__ uint64_t sums[32];
  gj_sample* sample = reinterpret_cast<gj_sample*>(join->sample);
  uint64_t sampled = 0, matched = 0, hot_rows = 0, keys = 0, hot = 0, total;
  constexpr int PER = GJ_SAMPLE_SLOTS / T;
  bool is_hot[PER];
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const uint32_t i = threadIdx.x * PER + k, c = sample->count[i], m = sample->matches[i];
    sampled += c, keys += c > 0, matched += m ? c : 0;
    is_hot[k] = c >= often && m == 1;
    hot += is_hot[k], hot_rows += is_hot[k] ? c : 0;
  }
  uint32_t number = (uint32_t)block_exclusive<T>(hot, sums, total);
#pragma unroll
  for (int k = 0; k < PER; k++) {
    const uint32_t i = threadIdx.x * PER + k;
    const bool numbered = is_hot[k] && number < GJ_HOT_KEYS;
    sample->hot[i] = numbered ? number : ~0u;
    if (numbered) sample->hot_row[number++] = sample->row[i];
  }
  auto sum = [&](uint64_t v, gj_summary at) {
    __syncthreads();
    uint64_t all;
    block_exclusive<T>(v, sums, all);
    if (threadIdx.x == 0) sample->summary[at] = all;
  };
  sum(sampled, GJ_SAMPLED);
  sum(matched, GJ_SAMPLED_MATCHED);
  sum(hot_rows, GJ_SAMPLED_HOT);
  sum(keys, GJ_SAMPLED_KEYS);
  if (threadIdx.x == 0) sample->summary[GJ_HOT] = min(total, (uint64_t)GJ_HOT_KEYS);
}

}  // namespace gj
