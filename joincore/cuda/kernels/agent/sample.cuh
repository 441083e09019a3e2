// Samples the probe side's keys; the build side's histogram looks its keys up in
// the sample.
//
// The sample estimates the match ratio and finds hot keys. These decide how payload
// is materialised and whether hot keys bypass the partitioning. The table is
// direct-mapped: a slot keeps one of its keys, so a lookup is one read. Every
// counting block builds its own copy, so that no block waits for another. All read
// the same keys, and each slot keeps the key with the largest entry, so the copies
// are equal.
#pragma once
#include "block/hash.cuh"
#include "block/relaxed.cuh"
#include "block/scan.cuh"
#include "layout/join.h"

namespace gj {

constexpr uint32_t slot_mask = GJ_SAMPLE_SLOTS - 1;

// The whole hash, which identifies the key because the hash is bijective.
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

// A slot's entry for a key: the hash bits that the slot number does not imply. The
// other bits are ones, so no entry equals 0, the empty slot.
template <class H>
__device__ __forceinline__ H sample_entry(H hash) {
  return ~hash | slot_mask;
}

__device__ __forceinline__ void keep_largest(uint32_t* slot, uint32_t entry) { atomicMax(slot, entry); }
__device__ __forceinline__ void keep_largest(uint64_t* slot, uint64_t entry) { atomicMax(reinterpret_cast<unsigned long long*>(slot), (unsigned long long)entry); }

__device__ __forceinline__ void forget(uint32_t* slot) { atomicExch(slot, 0); }
__device__ __forceinline__ void forget(uint64_t* slot) { atomicExch(reinterpret_cast<unsigned long long*>(slot), 0); }

// A block's sample, to look up build rows; empty unless USED.
template <int KW, int T, bool USED>
struct SampleLookup {
  using H = typename WholeHash<KW>::type;
  static constexpr int bytes = GJ_SAMPLE_SLOTS * sizeof(H) + GJ_SAMPLE_SLOTS / 8;
  gj_sample* sample;
  H* table;
  uint32_t* seen;  // one bit per slot: the block has met the key

  __device__ SampleLookup(const gj_join* join, void* memory)
      : sample(reinterpret_cast<gj_sample*>(join->sample)), table(reinterpret_cast<H*>(memory)), seen(reinterpret_cast<uint32_t*>(table + GJ_SAMPLE_SLOTS)) {}

  // Takes the sample, one probe row from each of GJ_SAMPLE_SLOTS equal ranges.
  // `notes`: this block writes it to device memory. All threads, before a barrier.
  __device__ __forceinline__ void take(const gj_join* join, bool notes) {
    static_assert(GJ_SAMPLE_SLOTS % T == 0);
    constexpr int PER = GJ_SAMPLE_SLOTS / T;
    const uint64_t range = join->side[1].rows / GJ_SAMPLE_SLOTS;  // below 2^20
    H hash[PER];
#pragma unroll
    for (int k = 0; k < PER && range; k++) {
      const uint32_t i = threadIdx.x + k * T, number[1] = {i};
      uint32_t key[KW];
      load_key<KW>(join->side[1].key, i * range + (uint64_t)hash_words(number).part * range / (1ull << 32), key);
      hash[k] = whole_hash(key);
    }
    for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) table[i] = 0;
    for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS / 32; i += T) seen[i] = 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < PER && range; k++) keep_largest(&table[hash[k] & slot_mask], sample_entry(hash[k]));
    __syncthreads();
    if (!notes) return;
#pragma unroll
    for (int k = 0; k < PER && range; k++)
      if (table[hash[k] & slot_mask] == sample_entry(hash[k])) atomicAdd(&sample->count[hash[k] & slot_mask], 1);
    for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) sample->entry[i] = table[i];
  }

  // Looks a build row up. A block counts only the first two rows of a key.
  __device__ __forceinline__ void look(const uint32_t (&key)[KW], uint32_t row) {
    const H h = whole_hash(key);
    const uint32_t slot = h & slot_mask;
    if (load_relaxed(&table[slot]) != sample_entry(h)) return;
    if (atomicOr(&seen[slot / 32], 1u << slot % 32) >> slot % 32 & 1) forget(&table[slot]);
    atomicAdd(&sample->matches[slot], 1);
    sample->row[slot] = row;
  }
};

// One block: sums the sample up and numbers the hot keys, those with at least
// `often` sampled probe rows and exactly one build row.
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
