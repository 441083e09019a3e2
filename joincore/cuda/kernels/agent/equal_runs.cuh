// Joins long equal runs: build and probe rows with the same sort bits that are too
// many for one tile of the merge join. Each run is cut into slices, which all
// blocks share, so that a hot key on both sides does not serialise.
//
// Bound: compares each build row of a run with each of its probe rows; writes each
// output row once.
#pragma once
#include "agent/merge.cuh"

namespace gj {

// Joins the runs that merge_join deferred. A block draws a slice, which is a range
// of build rows by a range of probe rows, and compares all pairs.
template <int KW, int T, int IPT>
__device__ __forceinline__ void join_equal_runs(const gj_merge* descriptor) {
  constexpr int N = T * IPT;
  using Layout = MergeLayout<KW, T, IPT>;
  static_assert(slice_build + slice_probe <= Layout::rows && slice_probe < 1 << 16 && IPT <= 32);
  extern __shared__ uint4 shared[];
  HashedKey<KW>*build = reinterpret_cast<HashedKey<KW>*>(shared), *probe = build + slice_build;
  NearRows pairs{reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(shared) + Layout::pairs)};
  __shared__ gj_merge merge;
  __shared__ gj_equal_run run;
  __shared__ uint32_t sums[32];
  __shared__ uint64_t slice, base;
  copy_descriptor<T>(descriptor, &merge);
  __syncthreads();
  const uint32_t t = threadIdx.x;
  const uint64_t deferred = *reinterpret_cast<const uint64_t*>(merge.deferred), runs = deferred >> slice_bits, slices = deferred & ((1ull << slice_bits) - 1);
  const gj_equal_run* all = reinterpret_cast<const gj_equal_run*>(merge.runs);
  while (true) {
    if (t == 0) {
      slice = atomicAdd(reinterpret_cast<unsigned long long*>(merge.slice), 1);
      if (slice < slices) {
        uint64_t low = 0, high = runs;  // the last run with first_slice <= slice
        while (high - low > 1) {
          const uint64_t middle = (low + high) / 2;
          (all[middle].first_slice <= slice ? low : high) = middle;
        }
        run = all[low];
      }
    }
    __syncthreads();
    if (slice >= slices) return;
    const uint32_t ranges = (uint32_t)((run.build_rows + slice_build - 1) / slice_build), part = (uint32_t)(slice - run.first_slice);
    const uint32_t build_skip = part % ranges * slice_build, probe_skip = part / ranges * slice_probe;
    const uint32_t build_first = (uint32_t)run.build + build_skip, probe_first = (uint32_t)run.probe + probe_skip;
    const uint32_t builds = min((uint32_t)run.build_rows - build_skip, slice_build), probes = min((uint32_t)run.probe_rows - probe_skip, slice_probe);
    pairs.first[0] = build_first, pairs.first[1] = probe_first;
    for (uint32_t i = t; i < builds; i += T) build[i] = hashed_key<KW>(merge.key[0], build_first + i);
    for (uint32_t i = t; i < probes; i += T) probe[i] = hashed_key<KW>(merge.key[1], probe_first + i);
    __syncthreads();
    for (uint32_t window = 0; window < builds * probes; window += N) {
      uint32_t equal = 0;  // one bit per pair
#pragma unroll
      for (int j = 0; j < IPT; j++) {
        const uint32_t i = window + j * T + t;
        if (i < builds * probes && build[i % builds] == probe[i / builds]) equal |= 1u << j;
      }
      uint32_t total, at = block_exclusive<T>((uint32_t)__popc(equal), sums, total);
      if (t == 0) base = atomicAdd(reinterpret_cast<unsigned long long*>(merge.result.rows), total);
#pragma unroll
      for (int j = 0; j < IPT; j++)
        if (equal >> j & 1) {
          const uint32_t i = window + j * T + t;
          pairs.set(at++, i % builds, i / builds);
        }
      __syncthreads();
      write_result<T, IPT>(merge.result, pairs, base, total);
      __syncthreads();
    }
  }
}

}  // namespace gj
