// Copies the probe rows that pass a test to dense columns, which become the probe side of a
// join, so that every payload and every join kernel works unchanged.
//
// A test is a type with
//   Found find(key, row): begins the test of a row, also of one behind the last;
//   keeps(Found): whether the row is kept.
// All rows of a thread are begun before the first is decided, so their reads overlap.
#pragma once
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"

namespace gj {

// Key k of a vector of 16 bytes.
template <int KW>
__device__ __forceinline__ void key_of_vector(uint4 v, int k, uint32_t (&key)[KW]) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int q = 0; q < KW; q++) key[q] = w[k * KW + q];
}

// Dynamic shared memory: the keys of the tile's remaining rows, and the rows'
// numbers within the tile.
template <int KW, int T, int V>
struct KeepLayout {
  static constexpr int tile = T * V * 4 / KW, rows = tile * KW * 4, bytes = rows + tile * 2;
};

// Copies keys to `keys`, payload by the side's fields, in any order. GJ_KEPT counts all
// rows that are kept; those from number `capacity` on are not written. A thread handles V
// vectors of keys.
template <int KW, int T, int V, class Test>
__device__ __forceinline__ void keep_rows(const gj_join* join, const Test& test, uint64_t keys, uint64_t capacity) {
  using Layout = KeepLayout<KW, T, V>;
  using Key = Value<4 * KW>;
  constexpr int PER = 4 / KW, N = V * PER;  // keys per vector, per thread
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

  for (uint64_t first = (uint64_t)blockIdx.x * Layout::tile; first < rows; first += (uint64_t)gridDim.x * Layout::tile) {
    const uint32_t n = (uint32_t)min(rows - first, (uint64_t)Layout::tile);
    uint4 v[V];
    typename Test::Found found[N];
    uint32_t left = 0;  // one bit per key of the thread: it is kept
#pragma unroll
    for (int i = 0; i < V; i++) {
      v[i] = uint4{0, 0, 0, 0};
      if ((i * T + threadIdx.x) * PER < n) v[i] = __ldcs(vector + first / PER + i * T + threadIdx.x);
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      uint32_t key[KW];
      key_of_vector(v[j / PER], j % PER, key);
      found[j] = test.find(key, first + (j / PER * T + threadIdx.x) * PER + j % PER);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
      if ((j / PER * T + threadIdx.x) * PER + j % PER < n) left |= (uint32_t)test.keeps(found[j]) << j;

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
