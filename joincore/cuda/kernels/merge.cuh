// The merge join of two sides sorted by the top bits of their keys' hashes:
// inner join, any number of matches.
//
// Merge path (Green, McColl, Bader; Odeh et al.) cuts both sides into tiles of
// N rows in all, build rows before probe rows of the same bits, so all partners
// of a tile's probe rows end in the tile. They may begin before it: a tile also
// sees the `max_group + 1` build rows before its own. A probe row finds the
// first row of its bits in a table of the tile, the whole hash says which are
// its partners. A tile claims the room for its results at once: the result is
// dense, its tiles in any order.
//
// Probe rows with more build rows of their bits than max_group are left to
// join_groups: a hot key's rows spread over all blocks.
//
// Bound: reads each side's keys and columns once, writes each output row once.
// Measured on an H200, 2^27 with 2^28 rows of 4-byte keys: 7.1 ms with one payload
// column a side and 0.7 more for each further pair, where the bytes take 1.5: the
// steps of a tile wait for each other, and two blocks a multiprocessor hide too little.
#pragma once
#include "result.cuh"
#include "scan.cuh"
#include "sorted.cuh"

namespace gj {

constexpr uint32_t max_group = 127, group_build = 1024, group_probe = 256;  // rows of a slice of a group
constexpr int slice_bits = 38;                                             // of gj_merge.grouped

// splits[i]: build rows among the first i * N rows of the merged order; a thread a split.
template <int KW, int N>
__device__ __forceinline__ void split_sides(const gj_merge* merge) {
  const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i > merge->tiles) return;
  const Order order(merge->bits);
  const uint64_t builds = merge->rows[0], probes = merge->rows[1], diagonal = min(i * N, builds + probes);
  uint64_t low = diagonal > probes ? diagonal - probes : 0, high = min(diagonal, builds);
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (order(hashed_key<KW>(merge->key[0], middle)) <= order(hashed_key<KW>(merge->key[1], diagonal - 1 - middle)))
      low = middle + 1;
    else
      high = middle;
  }
  reinterpret_cast<uint32_t*>(merge->splits)[i] = (uint32_t)low;
}

// Leaves the tile's probe rows of the order of row `probe` to join_groups. One thread of them calls it.
template <int KW>
__device__ __noinline__ void leave_group(const gj_merge* merge, uint64_t probe, uint64_t probe_end, uint64_t build_end) {
  const Order of(merge->bits);
  const uint32_t order = of(hashed_key<KW>(merge->key[1], probe));
  const uint64_t first = find<KW>(merge->key[0], 0, build_end, of, order, false);
  gj_group g{0, first, find<KW>(merge->key[0], first, build_end, of, order, true) - first, probe,
             find<KW>(merge->key[1], probe, probe_end, of, order, true) - probe};
  const uint64_t slices = (g.build_rows + group_build - 1) / group_build * ((g.probe_rows + group_probe - 1) / group_probe);
  const uint64_t at = atomicAdd(reinterpret_cast<unsigned long long*>(merge->grouped), 1ull << slice_bits | slices);
  g.first_slice = at & ((1ull << slice_bits) - 1);
  reinterpret_cast<gj_group*>(merge->groups)[at >> slice_bits] = g;
}

// Dynamic shared memory: the hashes of the tile's build rows and those before,
// the first build row by order, then the rows of N results.
template <int KW, int T, int IPT>
struct MergeLayout {
  static constexpr int N = T * IPT, rows = N + max_group + 1, first = rows * KW * 4, pairs = (first + (rows + 4) * 2 + 15) / 16 * 16, bytes = pairs + N * 8;
};

// Joins the tiles, each N rows of both sides. Persistent blocks take every gridDim-th.
template <int KW, int T, int IPT>
__device__ __forceinline__ void merge_join(const gj_merge* descriptor) {
  constexpr int N = T * IPT, WARPS = T / 32, EMPTY = -1;
  using Layout = MergeLayout<KW, T, IPT>;
  static_assert(Layout::rows < 1 << 16);
  extern __shared__ uint4 shared[];
  HashedKey<KW>* build = reinterpret_cast<HashedKey<KW>*>(shared);
  uint16_t* first_of = reinterpret_cast<uint16_t*>(reinterpret_cast<char*>(shared) + Layout::first);
  uint32_t* pair[2];
  pair[0] = reinterpret_cast<uint32_t*>(reinterpret_cast<char*>(shared) + Layout::pairs), pair[1] = pair[0] + N;
  __shared__ gj_merge merge;
  __shared__ uint32_t order_first, order_last;
  __shared__ ChunkClaim<IPT * WARPS> room;
  copy_descriptor<T>(descriptor, &merge);
  __syncthreads();
  const uint32_t t = threadIdx.x, lane = t & 31, warp = t / 32;
  const Order of(merge.bits);
  const uint32_t* splits = reinterpret_cast<const uint32_t*>(merge.splits);
  const uint64_t all = merge.rows[0] + merge.rows[1];

  uint64_t tile = blockIdx.x, build_first = 0, build_end = 0;
  if (tile < merge.tiles) build_first = __ldg(splits + tile), build_end = __ldg(splits + tile + 1);
  while (tile < merge.tiles) {
    const uint64_t probe_first = tile * N - build_first, probe_end = min((tile + 1) * N, all) - build_end;
    const uint64_t build_seen = build_first - min(build_first, (uint64_t)max_group + 1), build_all = build_end;
    const uint32_t builds = (uint32_t)(build_end - build_seen), probes = (uint32_t)(probe_end - probe_first);

    HashedKey<KW> probe[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) probe[j] = j * T + t < probes ? hashed_key<KW>(merge.key[1], probe_first + j * T + t) : HashedKey<KW>{};
    for (uint32_t i = t; i < builds; i += T) build[i] = hashed_key<KW>(merge.key[0], build_seen + i);
    tile += gridDim.x;
    if (tile < merge.tiles) build_first = __ldg(splits + tile), build_end = __ldg(splits + tile + 1);
    if (t == 0) order_first = of(probe[0]);
#pragma unroll
    for (int j = 0; j < IPT; j++)
      if (j * T + t + 1 == probes) order_last = of(probe[j]);
    __syncthreads();
    if (!probes || !builds) continue;

    // The orders of the tile's probe rows are cut into at most as many ranges
    // as there are build rows. The hash spreads keys evenly: a range is mostly
    // one order.
    const uint32_t low = order_first, width = order_last - low;
    const uint32_t narrow = width >= builds ? min(32 - __clz(width / builds), 31) : 0, ranges = (width >> narrow) + 1;
    auto range = [&](const HashedKey<KW>& h) {
      const uint32_t o = of(h);
      return o < low ? EMPTY : (int)min(o - low >> narrow, ranges);
    };
    for (uint32_t i = t; i < builds; i += T) {
      const int r = range(build[i]);
      for (int q = i ? range(build[i - 1]) : EMPTY; q < r; q++) first_of[q + 1] = (uint16_t)i;
    }
    for (int q = range(build[builds - 1]) + 1 + (int)t; q <= (int)ranges; q += T) first_of[q] = (uint16_t)builds;
    __syncthreads();

    uint32_t match[IPT];  // first partner << 16 | partners
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      match[j] = 0;
      if (j * T + t >= probes) continue;
      const uint32_t o = of(probe[j]), r = o - low >> narrow;
      uint32_t k = first_of[r];
      if (narrow)
        for (uint32_t end = first_of[r + 1]; k < end;) {
          const uint32_t middle = (k + end) / 2;
          if (of(build[middle]) < o)
            k = middle + 1;
          else
            end = middle;
        }
      const bool first = k < builds && build[k] == probe[j], second = k + 1 < builds && build[k + 1] == probe[j];
      match[j] = (first ? k : k + 1) << 16 | (first + second);
      if (k + 2 < builds && of(build[k + 2]) == o) {
        const uint32_t stop = min(k + max_group + 1, builds);
        uint32_t at = k + 2;
        for (; at < stop && of(build[at]) == o; at++)
          if (build[at] == probe[j]) match[j] = (match[j] & 0xffff ? match[j] : at << 16) + 1;
        if (at - k > max_group) {
          match[j] = 0;
          const uint64_t row = probe_first + j * T + t;
          if (row == probe_first || of(hashed_key<KW>(merge.key[1], row - 1)) != o) leave_group<KW>(descriptor, row, probe_end, build_all);
        }
      }
    }

    // Where a row's results begin: by chunk of 32 rows, in the order of the probe side.
    uint32_t before[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t n = match[j] & 0xffff;
      uint32_t upto;
      if (!__any_sync(~0u, n > 1)) {
        const uint32_t some = __ballot_sync(~0u, n);
        before[j] = __popc(some & ((1u << lane) - 1)), upto = __popc(some);
      } else {
        const uint32_t sum = warp_inclusive(n);
        before[j] = sum - n, upto = __shfl_sync(~0u, sum, 31);
      }
      if (lane == 0) room.chunk[j * WARPS + warp] = upto;
    }
    __syncthreads();
    room.claim(merge.result);
    __syncthreads();

    const uint32_t total = room.total;
    for (uint32_t window = 0; window < total; window += N) {
#pragma unroll
      for (int j = 0; j < IPT; j++) {
        const uint32_t n = match[j] & 0xffff;
        for (uint32_t k = match[j] >> 16, at = before[j] + room.chunk[j * WARPS + warp] - window, done = 0; done < n; k++)
          if (n == 1 || build[k] == probe[j]) {
            if (at < N) pair[0][at] = (uint32_t)build_seen + k, pair[1][at] = (uint32_t)probe_first + j * T + t;
            at++, done++;
          }
      }
      __syncthreads();
      write_result<T>(merge.result, {pair[0], pair[1]}, room.base + window, min(total - window, (uint32_t)N));
      __syncthreads();
    }
  }
}

}  // namespace gj
