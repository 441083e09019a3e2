// A hash table of a chunk of build rows with their payload, in shared memory.
//
// The rows are ordered by bucket (counting sort). A bucket's entry is 13 bits of
// first row and 3 of row count (7: read the next entry), so a probe reads one
// entry and the bucket's keys, which are contiguous. Every key of the bucket is
// compared: keys need not be unique.
#pragma once
#include "block/beside.cuh"
#include "block/hash.cuh"
#include "block/scan.cuh"
#include "layout/row.cuh"

namespace gj {

struct Bucket {
  uint32_t first, rows;
};

// The first N words of a row: its key.
template <int N, int W>
__device__ __forceinline__ Row<N> head(const Row<W>& r) {
  Row<N> key;
#pragma unroll
  for (int q = 0; q < N; q++) key.word[q] = r.word[q];
  return key;
}

template <int KW>
__device__ __forceinline__ bool same_key(const Row<KW>& a, const Row<KW>& b) {
  bool same = a.word[0] == b.word[0];
  if constexpr (KW == 2) same &= a.word[1] == b.word[1];
  return same;
}

// KW key words and payload B of rows that Rows reads, at most C of them, NB buckets.
template <int KW, class B, int C, int NB, class Rows = MatchRows<KW, B, false>>
class Buckets {
  static constexpr int PW = B::words;
  static_assert(C < 1 << 13 && (NB & (NB - 1)) == 0 && NB % 8 == 0);
 public:
  static constexpr int keys = 0, payloads = (C * KW * 4 + 15) / 16 * 16, entries = payloads + (C * PW * 4 + 15) / 16 * 16,
                       bytes = entries + NB * 2;

  __device__ explicit Buckets(char* memory) : base_(memory) {}

  // Builds the table from n > 0 rows that begin at `at` in a buffer. All T threads
  // of the block, between barriers.
  template <int T>
  __device__ __forceinline__ void build(const char* from, uint64_t capacity, uint64_t at, uint32_t n, uint32_t* sums) const {
    constexpr int W = KW + PW, R = (C + T - 1) / T, WORDS = NB / 2, P = (WORDS + T - 1) / T;
    uint32_t* const pair = reinterpret_cast<uint32_t*>(base_ + entries);  // two buckets per word
#pragma unroll
    for (int i = 0; i < P; i++)
      if (threadIdx.x + i * T < WORDS) pair[threadIdx.x + i * T] = 0;
    Row<W> row[R];
#pragma unroll
    for (int j = 0; j < R; j++) {
      clear(row[j]);
      if (threadIdx.x + j * T < n) Rows::load(from, capacity, at + threadIdx.x + j * T, row[j], ReadOnce());
    }
    __syncthreads();
    uint32_t place[R];  // bucket << 16 | rank in it
#pragma unroll
    for (int j = 0; j < R; j++) {
      place[j] = 0;
      if (threadIdx.x + j * T < n) {
        const uint32_t b = number(head<KW>(row[j])), half = (b & 1) * 16;
        place[j] = b << 16 | (atomicAdd(&pair[b / 2], 1u << half) >> half & 0xffff);
      }
    }
    __syncthreads();
    uint32_t sum = 0, total;
    const uint32_t first = threadIdx.x * P;
#pragma unroll 4
    for (int i = 0; i < P; i++)
      if (first + i < WORDS) sum += (pair[first + i] & 0xffff) + (pair[first + i] >> 16);
    uint32_t s = block_exclusive<T>(sum, sums, total);
#pragma unroll 4
    for (int i = 0; i < P; i++)
      if (first + i < WORDS) {
        const uint32_t even = pair[first + i] & 0xffff, odd = pair[first + i] >> 16;
        pair[first + i] = s | min(even, 7u) << 13 | ((s + even) | min(odd, 7u) << 13) << 16;
        s += even + odd;
      }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < R; j++)
      if (threadIdx.x + j * T < n) {
        const uint32_t slot = (entry(place[j] >> 16) & 0x1fff) + (place[j] & 0xffff);
        Lanes<KW>::store(base_ + keys, C, slot, head<KW>(row[j]), Shared());
        if constexpr (PW > 0) {
          Row<PW> r;
#pragma unroll
          for (int q = 0; q < PW; q++) r.word[q] = row[j].word[KW + q];
          Lanes<PW>::store(base_ + payloads, C, slot, r, Shared());
        }
      }
  }

  // The rows that may have the key. A count of 7 means 7 or more.
  __device__ __forceinline__ Bucket bucket(const Row<KW>& key) const {
    const uint32_t e = entry(number(key));
    return {e & 0x1fff, e >> 13};
  }
  // The same with the exact count. n: rows of the table.
  __device__ __forceinline__ Bucket whole_bucket(const Row<KW>& key, uint32_t n) const {
    const uint32_t b = number(key), e = entry(b), first = e & 0x1fff, rows = e >> 13;
    return {first, rows < 7 ? rows : (b + 1 < NB ? entry(b + 1) & 0x1fff : n) - first};
  }
  __device__ __forceinline__ bool same(uint32_t slot, const Row<KW>& key) const {
    Row<KW> r;
    Lanes<KW>::load(base_ + keys, C, slot, r, Shared());
    return same_key(r, key);
  }
  // A row's payload words.
  __device__ __forceinline__ void payload(uint32_t slot, uint32_t* word) const {
    if constexpr (PW > 0) {
      Row<PW> r;
      Lanes<PW>::load(base_ + payloads, C, slot, r, Shared());
#pragma unroll
      for (int q = 0; q < PW; q++) word[q] = r.word[q];
    }
  }

 private:
  __device__ static __forceinline__ uint32_t number(const Row<KW>& key) { return Rows::bucket(key) & (NB - 1); }
  __device__ __forceinline__ uint32_t entry(uint32_t b) const { return reinterpret_cast<const uint16_t*>(base_ + entries)[b]; }

  char* base_;
};

}  // namespace gj
