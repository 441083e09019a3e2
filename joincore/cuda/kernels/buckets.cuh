// A hash table of a chunk of build rows with their payload, in shared memory.
//
// The rows are ordered by bucket (counting sort); a bucket's entry is 13 bits of
// first row and 3 of row count (7: read the next entry), so a probe reads one
// entry and the keys of its bucket, which lie side by side. Every key of the
// bucket is compared: uniqueness is never assumed.
//
// Rows of a thread that do not exist are counted, too, as none: behind a branch,
// each row's step would wait for the last one's.
#pragma once
#include "hash.cuh"
#include "row.cuh"
#include "scan.cuh"

namespace gj {

struct Bucket {
  uint32_t first, rows;
};

template <int KW>
__device__ __forceinline__ bool same_key(const Row<KW>& a, const Row<KW>& b) {
  bool same = a.word[0] == b.word[0];
  if constexpr (KW == 2) same &= a.word[1] == b.word[1];
  return same;
}

// KW key words, PW of payload, C rows at most, NB buckets.
template <int KW, int PW, int C, int NB>
class Buckets {
  static_assert(C < 1 << 13 && (NB & (NB - 1)) == 0 && NB % 8 == 0);
  // Payload whose words lie side by side, apart from the key's, is copied
  // straight to its slot and goes through no registers.
  static constexpr bool apart = PW > 0 && (PW % 4 == 0 || (KW == 1 && PW == 2));
  static constexpr int slots = C;

 public:
  static constexpr int keys = 0, payloads = (slots * KW * 4 + 15) / 16 * 16, entries = payloads + (slots * PW * 4 + 15) / 16 * 16,
                       bytes = entries + NB * 2;

  __device__ explicit Buckets(char* memory) : base_(memory) {}

  // Builds it of n > 0 rows that begin at `at` in a buffer. All T threads of the
  // block, between barriers.
  template <int T>
  __device__ __forceinline__ void build(const char* from, uint64_t capacity, uint64_t at, uint32_t n, uint32_t* sums) const {
    constexpr int W = apart ? KW : KW + PW, R = (C + T - 1) / T, WORDS = NB / 2, P = (WORDS + T - 1) / T;
    constexpr int G = R % 3 == 0 ? 3 : R % 4 == 0 ? 4 : R;  // rows whose steps overlap
    uint32_t* const pair = reinterpret_cast<uint32_t*>(base_ + entries);  // two buckets a word
    auto row_at = [&](int j) { return at + min(threadIdx.x + j * T, n - 1); };
    for (int i = threadIdx.x; i < WORDS / 4; i += T) reinterpret_cast<uint4*>(pair)[i] = uint4{0, 0, 0, 0};
    Row<W> row[R];
#pragma unroll
    for (int j = 0; j < R; j++) Lanes<W>::load(from, capacity, row_at(j), row[j], ReadOnce());
    __syncthreads();
    uint32_t place[R];  // bucket << 16 | rank in it
#pragma unroll
    for (int g = 0; g < R; g += G) {
      if (g && g * T >= n) break;
#pragma unroll
      for (int j = g; j < g + G; j++) {
        const bool exists = threadIdx.x + j * T < n;
        const uint32_t b = exists ? number(head(row[j])) : 2 * threadIdx.x % NB, half = (b & 1) * 16;
        place[j] = b << 16 | (atomicAdd(&pair[b / 2], (uint32_t)exists << half) >> half & 0xffff);
      }
    }
    __syncthreads();
    uint32_t count[P], sum = 0, total;
#pragma unroll
    for (int i = 0; i < P; i++) {
      const int word = threadIdx.x * P + i;
      count[i] = WORDS % T == 0 || word < WORDS ? pair[word] : 0;
      sum += (count[i] & 0xffff) + (count[i] >> 16);
    }
    uint32_t s = block_exclusive<T>(sum, sums, total);
#pragma unroll
    for (int i = 0; i < P; i++) {
      const int word = threadIdx.x * P + i;
      const uint32_t even = count[i] & 0xffff, odd = count[i] >> 16;
      if (WORDS % T == 0 || word < WORDS) pair[word] = s | min(even, 7u) << 13 | ((s + even) | min(odd, 7u) << 13) << 16;
      s += even + odd;
    }
    __syncthreads();
#pragma unroll
    for (int g = 0; g < R; g += G) {
      if (g && g * T >= n) break;
#pragma unroll
      for (int j = g; j < g + G; j++) {
        if (threadIdx.x + j * T >= n) continue;
        const uint32_t slot = (entry(place[j] >> 16) & 0x1fff) + (place[j] & 0xffff);
        Lanes<KW>::store(base_ + keys, slots, slot, head(row[j]), Shared());
        if constexpr (apart) {
          copy_async<PW>(from + capacity * (4 * KW), capacity, row_at(j), base_ + payloads, slots, slot);
        } else if constexpr (PW > 0) {
          Row<PW> r;
#pragma unroll
          for (int q = 0; q < PW; q++) r.word[q] = row[j].word[KW + q];
          Lanes<PW>::store(base_ + payloads, slots, slot, r, Shared());
        }
      }
    }
    if constexpr (apart) end_copies(), await_copies<0>();
  }

  // Where the rows with the key are, if there are any; 7 rows are 7 or more.
  __device__ __forceinline__ Bucket bucket(const Row<KW>& key) const {
    const uint32_t e = entry(number(key));
    return {e & 0x1fff, e >> 13};
  }
  // The same, with all rows; n: the rows of the table.
  __device__ __forceinline__ Bucket whole_bucket(const Row<KW>& key, uint32_t n) const {
    const uint32_t b = number(key), e = entry(b), first = e & 0x1fff, rows = e >> 13;
    return {first, rows < 7 ? rows : (b + 1 < NB ? entry(b + 1) & 0x1fff : n) - first};
  }
  __device__ __forceinline__ bool same(uint32_t slot, const Row<KW>& key) const {
    Row<KW> r;
    Lanes<KW>::load(base_ + keys, slots, slot, r, Shared());
    return same_key(r, key);
  }
  // A row's payload words.
  __device__ __forceinline__ void payload(uint32_t slot, uint32_t* word) const {
    if constexpr (PW > 0) {
      Row<PW> r;
      Lanes<PW>::load(base_ + payloads, slots, slot, r, Shared());
#pragma unroll
      for (int q = 0; q < PW; q++) word[q] = r.word[q];
    }
  }

 private:
  template <int W>
  __device__ static __forceinline__ Row<KW> head(const Row<W>& r) {
    Row<KW> key;
#pragma unroll
    for (int q = 0; q < KW; q++) key.word[q] = r.word[q];
    return key;
  }
  __device__ static __forceinline__ uint32_t number(const Row<KW>& key) { return hash_words(key.word).table & (NB - 1); }
  __device__ __forceinline__ uint32_t entry(uint32_t b) const { return reinterpret_cast<const uint16_t*>(base_ + entries)[b]; }

  char* base_;
};

}  // namespace gj
