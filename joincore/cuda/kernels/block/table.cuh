// Hash tables over build rows: a bucket's rows are contiguous, so a probe reads
// the bucket's bounds and then its keys. A bucket may hold different keys, and keys
// need not be unique: the prober compares each.
#pragma once
#include "block/hash.cuh"
#include "block/scan.cuh"
#include "layout/general.h"
#include "layout/join.h"
#include "layout/row.cuh"

namespace gj {

template <int KW>
struct KeyWords {
  uint32_t word[KW];
};

template <int KW>
__device__ __forceinline__ bool same_key(const KeyWords<KW>& a, const KeyWords<KW>& b) {
  bool same = a.word[0] == b.word[0];
  if constexpr (KW == 2) same &= a.word[1] == b.word[1];
  return same;
}

// The key of a row whose last word is its row number.
template <int W>
__device__ __forceinline__ KeyWords<W - 1> key_words(const Row<W>& r) {
  KeyWords<W - 1> k;
#pragma unroll
  for (int q = 0; q < W - 1; q++) k.word[q] = r.word[q];
  return k;
}

// A table in shared memory of up to C rows, one chunk of a partition: a counting
// sort of the rows by bucket. T threads, NB buckets.
template <int KW, int T, int C, int NB>
class SharedTable {
 public:
  static constexpr int keys = 0, rows = keys + C * KW * 4, starts = rows + C * 4, covered = (starts + (NB + 2) * 2 + 15) / 16 * 16,
                       bytes = (covered + C / 8 + 15) / 16 * 16;
  static_assert(C % 32 == 0 && C < 1 << 16 && (NB & (NB - 1)) == 0);

  static constexpr bool per_item = true;  // each work item calls build()

  __device__ SharedTable(char* memory, const gj_match&) : base_(memory) {}

  // All threads of the block, between barriers.
  __device__ __forceinline__ void build(const gj_side& side, uint64_t first, uint32_t n, uint32_t* sums) {
    constexpr int W = KW + 1, R = (C + T - 1) / T, P = (NB / 2 + T - 1) / T;
    uint32_t* pair = reinterpret_cast<uint32_t*>(base_ + starts);  // two buckets per word
    for (int i = threadIdx.x; i <= NB / 2; i += T) pair[i] = 0;
    for (int i = threadIdx.x; i < C / 32; i += T) covered_bits()[i] = 0;
    Row<W> row[R];
#pragma unroll
    for (int j = 0; j < R; j++) {
      clear(row[j]);
      if (threadIdx.x + j * T < n)
        Lanes<W>::load(reinterpret_cast<const char*>(side.final), side.final_capacity, first + threadIdx.x + j * T, row[j], ReadOnce());
    }
    __syncthreads();
    uint32_t place[R];  // bucket << 16 | rank in it
#pragma unroll
    for (int j = 0; j < R; j++) {
      place[j] = 0;
      if (threadIdx.x + j * T < n) {
        const uint32_t b = bucket(key_words(row[j])), half = (b & 1) * 16;
        place[j] = b << 16 | (atomicAdd(&pair[b / 2], 1u << half) >> half & 0xffff);
      }
    }
    __syncthreads();
    uint32_t sum = 0, total;
#pragma unroll
    for (int i = 0; i < P; i++) {
      const uint32_t at = threadIdx.x * P + i;
      if (at < NB / 2) sum += (pair[at] & 0xffff) + (pair[at] >> 16);
    }
    uint32_t s = block_exclusive<T>(sum, sums, total);
#pragma unroll
    for (int i = 0; i < P; i++) {
      const uint32_t at = threadIdx.x * P + i;
      if (at < NB / 2) {
        const uint32_t even = pair[at] & 0xffff, odd = pair[at] >> 16;
        pair[at] = s | (s + even) << 16;
        s += even + odd;
      }
    }
    if (threadIdx.x == 0) pair[NB / 2] = n;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < R; j++)
      if (threadIdx.x + j * T < n) {
        const uint32_t slot = start(place[j] >> 16) + (place[j] & 0xffff);
        reinterpret_cast<KeyWords<KW>*>(base_ + keys)[slot] = key_words(row[j]);
        reinterpret_cast<uint32_t*>(base_ + rows)[slot] = row[j].word[KW];
      }
  }

  // The slots of the rows that may have the key: n from `first` on.
  __device__ __forceinline__ void candidates(const KeyWords<KW>& key, uint32_t& first, uint32_t& n) const {
    const uint32_t b = bucket(key);
    first = start(b);
    n = start(b + 1) - first;
  }
  __device__ __forceinline__ bool same(uint32_t slot, const KeyWords<KW>& key) const {
    return same_key(reinterpret_cast<const KeyWords<KW>*>(base_ + keys)[slot], key);
  }
  __device__ __forceinline__ uint32_t row(uint32_t slot) const { return reinterpret_cast<const uint32_t*>(base_ + rows)[slot]; }

  // One bit per slot, for the prober's use.
  __device__ __forceinline__ uint32_t* covered_bits() const { return reinterpret_cast<uint32_t*>(base_ + covered); }

 private:
  __device__ static __forceinline__ uint32_t bucket(const KeyWords<KW>& k) { return hash_words(k.word).table & (NB - 1); }
  __device__ __forceinline__ uint32_t start(uint32_t b) const { return reinterpret_cast<const uint16_t*>(base_ + starts)[b]; }

  char* base_;
};

}  // namespace gj
