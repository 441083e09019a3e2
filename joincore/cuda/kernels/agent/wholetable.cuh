// One hash table of all build rows in global memory, for joins without partitions:
// a counting sort of the rows by bucket, as SharedTable is for a chunk. Three
// kernels build it: count, starts, place.
//
// Bound: random sectors, three a build row and two or three a probe row. While the
// table fits the L2 cache, that costs about as much as a partition pass.
#pragma once
#include "agent/select.cuh"
#include "block/table.cuh"

namespace gj {

template <int KW>
class WholeTable {
 public:
  static constexpr int bytes = 0;  // of shared memory
  static constexpr bool per_item = false;

  __device__ WholeTable(char*, const gj_match& m) : t_(*reinterpret_cast<const gj_table*>(m.table)) {}

  __device__ __forceinline__ void candidates(const KeyWords<KW>& key, uint32_t& first, uint32_t& n) const {
    const uint32_t b = bucket(t_, key);
    const uint32_t* end = reinterpret_cast<const uint32_t*>(t_.ends) + b;
    first = b ? __ldg(end - 1) : 0;
    n = __ldg(end) - first;
  }
  __device__ __forceinline__ bool same(uint32_t slot, const KeyWords<KW>& key) const { return same_key(key_words(load(t_.rows, t_, slot)), key); }
  __device__ __forceinline__ uint32_t row(uint32_t slot) const { return load(t_.rows, t_, slot).word[KW]; }
  __device__ __forceinline__ uint32_t* covered_bits() const { return reinterpret_cast<uint32_t*>(t_.covered); }

  __device__ static __forceinline__ uint32_t bucket(const gj_table& t, const KeyWords<KW>& k) { return hash_words(k.word).table & (uint32_t)(t.buckets - 1); }
  __device__ static __forceinline__ Row<KW + 1> load(uint64_t buffer, const gj_table& t, uint64_t i) {
    Row<KW + 1> r;
    Lanes<KW + 1>::load(reinterpret_cast<const char*>(buffer), t.capacity, i, r, Cached());
    return r;
  }

 private:
  struct Cached {
    template <class V>
    __device__ __forceinline__ V operator()(const V* p) const {
      return __ldg(p);
    }
  };

  gj_table t_;
};

// Counts the rows of each bucket into `ends`, zero before, and finds the longest
// bucket.
template <int KW>
__device__ __forceinline__ void count_buckets(const gj_table* table) {
  const gj_table t = *table;
  const uint64_t rows = *reinterpret_cast<const uint64_t*>(t.count);
  uint32_t longest = 0;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    const uint32_t b = WholeTable<KW>::bucket(t, key_words(WholeTable<KW>::load(t.unordered, t, i)));
    longest = max(longest, atomicAdd(reinterpret_cast<uint32_t*>(t.ends) + b, 1) + 1);
  }
  __syncwarp();
  longest = __reduce_max_sync(~0u, longest);
  if ((threadIdx.x & 31) == 0 && longest) atomicMax(reinterpret_cast<unsigned long long*>(t.longest), longest);
}

// Turns the counts into bucket starts. T threads, tiles of T * 4 buckets.
template <int T>
__device__ __forceinline__ void start_buckets(const gj_table* table, uint64_t* scan) {
  const gj_table t = *table;
  __shared__ uint32_t sums[32];
  __shared__ uint64_t before;
  __shared__ unsigned long long drawn;
  const uint64_t tiles = (t.buckets + 4 * T - 1) / (4 * T);
  while (true) {
    if (threadIdx.x == 0) drawn = atomicAdd(reinterpret_cast<unsigned long long*>(scan), 1);
    __syncthreads();
    const uint64_t tile = drawn, at = tile * T + threadIdx.x;
    if (tile >= tiles) return;
    uint4* counts = reinterpret_cast<uint4*>(t.ends) + at;
    const bool valid = at * 4 < t.buckets;
    const uint4 c = valid ? *counts : make_uint4(0, 0, 0, 0);
    uint32_t all;
    uint32_t s = block_exclusive<T>(c.x + c.y + c.z + c.w, sums, all);
    if (threadIdx.x < 32) {
      const uint64_t sum = sum_before(scan + 1, tile, all);
      if (threadIdx.x == 0) before = sum;
    }
    __syncthreads();
    s += (uint32_t)before;
    if (valid) *counts = make_uint4(s, s + c.x, s + c.x + c.y, s + c.x + c.y + c.z);
    __syncthreads();
  }
}

// Moves the rows to their buckets; this turns each bucket's start into its end.
template <int KW>
__device__ __forceinline__ void place_rows(const gj_table* table) {
  const gj_table t = *table;
  const uint64_t rows = *reinterpret_cast<const uint64_t*>(t.count);
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    const Row<KW + 1> r = WholeTable<KW>::load(t.unordered, t, i);
    const uint32_t slot = atomicAdd(reinterpret_cast<uint32_t*>(t.ends) + WholeTable<KW>::bucket(t, key_words(r)), 1);
    Lanes<KW + 1>::store(reinterpret_cast<char*>(t.rows), t.capacity, slot, r, Write());
  }
}

}  // namespace gj
