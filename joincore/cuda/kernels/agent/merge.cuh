// Merge join of two sides sorted by the top bits of their keys' hashes: inner
// join, any number of matches.
//
// Merge path (Green, McColl, Bader; Odeh et al.) cuts both sides into tiles of N
// rows in total. Among equal bits build rows precede probe rows, so the build
// partners of a tile's probe rows never lie behind the tile. They may begin before
// it: a tile also reads the `max_run + 1` build rows that precede its own. A
// probe row finds the first build row of its bits through a table of the tile; the
// whole hash then decides which rows are partners. A tile reserves space for all
// its results at once: the result is dense, its tiles in any order.
//
// Probe rows with more than max_run build rows of the same bits are deferred to
// join_equal_runs, which spreads the rows of a hot key over all blocks.
//
// Bound: reads each side's keys and columns once, writes each output row once.
// Measured on an H200, 2^27 with 2^28 rows of 4-byte keys and one payload column a
// side (1.5 ms by bytes moved), by blocks per multiprocessor:
//
//   threads  rows each  blocks  ms
//   384      8          3       6.4
//   512      8          2       6.8
//   384      8          2       7.3  (no register spills)
//   384      12         2       7.5
//
// 8-byte keys take 10.0 ms with two blocks and 16.0 with three. Materialising a
// column is bound by the values in flight: 1.1 ms with 4 per thread, 0.75 with 8.
// 0.75 with 8.
#pragma once
#include "block/result.cuh"
#include "block/scan.cuh"
#include "block/sorted.cuh"

namespace gj {

constexpr uint32_t max_run = 127, slice_build = 1024, slice_probe = 256;  // the longest run a tile joins; rows of a slice
constexpr int slice_bits = 38;                                             // of gj_merge.deferred

// splits[i]: build rows among the first i * N rows of the merged order; one thread per split.
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

// Defers the tile's rows with the order of `probe`, the first such probe row of the
// tile, to join_equal_runs. Called by one thread.
template <int KW>
__device__ __noinline__ void defer_run(const gj_merge* merge, uint32_t probe, uint32_t probe_end, uint32_t build_end) {
  const Order of(merge->bits);
  const uint32_t order = of(hashed_key<KW>(merge->key[1], probe));
  const uint64_t first = find<KW>(merge->key[0], 0, build_end, of, order, false);
  gj_equal_run g{0, first, find<KW>(merge->key[0], first, build_end, of, order, true) - first, probe,
             find<KW>(merge->key[1], probe, probe_end, of, order, true) - probe};
  const uint64_t slices = (g.build_rows + slice_build - 1) / slice_build * ((g.probe_rows + slice_probe - 1) / slice_probe);
  const uint64_t at = atomicAdd(reinterpret_cast<unsigned long long*>(merge->deferred), 1ull << slice_bits | slices);
  g.first_slice = at & ((1ull << slice_bits) - 1);
  reinterpret_cast<gj_equal_run*>(merge->runs)[at >> slice_bits] = g;
}

// The row ranges of a tile; empty for a tile number beyond the last.
struct MergeTile {
  uint32_t build = 0, build_end = 0, probe = 0, probe_end = 0;
  __device__ __forceinline__ MergeTile(const gj_merge& merge, uint64_t tile, uint32_t n) {
    if (tile >= merge.tiles) return;
    const uint32_t* split = reinterpret_cast<const uint32_t*>(merge.splits) + tile;
    build = __ldg(split), build_end = __ldg(split + 1);
    probe = (uint32_t)(tile * n - build), probe_end = (uint32_t)(min((tile + 1) * n, merge.rows[0] + merge.rows[1]) - build_end);
  }
};

// The matches of a probe row: its first partner in the tile, the number of
// partners, and the number of results of the rows before it in its chunk of 32.
struct Match {
  static constexpr uint32_t count_bits = 7, before_bits = 12, first_bits = 32 - count_bits - before_bits;
  static_assert(max_run < 1 << count_bits && 31 * max_run < 1 << before_bits);
  uint32_t bits;
  __device__ __forceinline__ Match(uint32_t first, uint32_t count, uint32_t before) : bits(first << (count_bits + before_bits) | count << before_bits | before) {}
  __device__ __forceinline__ uint32_t first() const { return bits >> (count_bits + before_bits); }
  __device__ __forceinline__ uint32_t count() const { return bits >> before_bits & ((1u << count_bits) - 1); }
  __device__ __forceinline__ uint32_t before() const { return bits & ((1u << before_bits) - 1); }
};

// Dynamic shared memory: the hashes of the tile's build rows and of those before
// it, the hashes of its probe rows, each probe row's matches, the first build row
// by order, and the row numbers of N results.
template <int KW, int T, int IPT>
struct MergeLayout {
  static constexpr int N = T * IPT, rows = N + max_run + 1, probe = rows * KW * 4, match = probe + N * KW * 4, pairs = match + N * 4,
                       first = pairs + N * 4, bytes = first + (rows + 4) * 2;
  static_assert(rows <= 1 << Match::first_bits);
};

// Writes the hashes of n keys from row `first` on to shared memory, U in flight per thread.
template <int KW, int T, int U>
__device__ __forceinline__ void load_hashed(uint64_t keys, uint32_t first, uint32_t n, HashedKey<KW>* to) {
  for (uint32_t i = threadIdx.x; i < n; i += U * T) {
    RawKey<KW> key[U];
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < n) key[u] = raw_key<KW>(keys, first + i + u * T);
#pragma unroll
    for (int u = 0; u < U; u++)
      if (i + u * T < n) to[i + u * T] = hashed(key[u]);
  }
}

// The first of the tile's build rows in [low, high) whose order is not below `order`.
template <int KW>
__device__ __forceinline__ uint32_t find_order(const HashedKey<KW>* build, uint32_t low, uint32_t high, const Order& of, uint32_t order) {
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (of(build[middle]) < order)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Exclusive sum of n over the warp's 32 rows; sum receives the total.
__device__ __forceinline__ uint32_t chunk_exclusive(uint32_t n, uint32_t& sum) {
  if (__any_sync(~0u, n > 1)) {
    const uint32_t inclusive = warp_inclusive(n);
    sum = __shfl_sync(~0u, inclusive, 31);
    return inclusive - n;
  }
  const uint32_t some = __ballot_sync(~0u, n);
  sum = __popc(some);
  return __popc(some & ((1u << (threadIdx.x & 31)) - 1));
}

// Joins all tiles of N rows. Persistent blocks take every gridDim-th tile. The
// state of a thread's rows is in shared memory, which leaves registers free for
// values in flight.
template <int KW, int T, int IPT>
__device__ __forceinline__ void merge_join(const gj_merge* descriptor) {
  constexpr int N = T * IPT, EMPTY = -1;
  using Layout = MergeLayout<KW, T, IPT>;
  extern __shared__ uint4 shared[];
  char* room_of = reinterpret_cast<char*>(shared);
  HashedKey<KW>*build = reinterpret_cast<HashedKey<KW>*>(room_of), *probe = reinterpret_cast<HashedKey<KW>*>(room_of + Layout::probe);
  Match* match = reinterpret_cast<Match*>(room_of + Layout::match);
  uint16_t* first_of = reinterpret_cast<uint16_t*>(room_of + Layout::first);
  NearRows pairs{reinterpret_cast<uint32_t*>(room_of + Layout::pairs), {}};
  __shared__ gj_merge merge;
  __shared__ uint32_t left, left_row[Layout::rows / (max_run + 1) + 1];
  __shared__ ChunkClaim<N / 32> claim;
  copy_descriptor<T>(descriptor, &merge);
  __syncthreads();
  const uint32_t t = threadIdx.x;
  const Order of(merge.bits);

  uint64_t tile = blockIdx.x;
  MergeTile next(merge, tile, N);
  while (tile < merge.tiles) {
    const MergeTile here = next;
    tile += gridDim.x;
    const uint32_t seen = here.build - min(here.build, max_run + 1), builds = here.build_end - seen, probes = here.probe_end - here.probe;
    pairs.first[0] = seen, pairs.first[1] = here.probe;

    load_hashed<KW, T, IPT>(merge.key[1], here.probe, probes, probe);
    load_hashed<KW, T, 2>(merge.key[0], seen, builds, build);
    next = MergeTile(merge, tile, N);
    if (t == 0) left = 0;
    __syncthreads();
    if (!probes || !builds) continue;

    // The tile's range of orders is cut into at most as many intervals as it has
    // build rows. The hash spreads keys evenly, so most intervals hold one order.
    const uint32_t low = of(probe[0]), width = of(probe[probes - 1]) - low;
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

#pragma unroll 1
    for (uint32_t row = t; row < N; row += T) {
      uint32_t first = 0, count = 0;
      if (row < probes) {
        const HashedKey<KW> mine = probe[row];
        const uint32_t o = of(mine), r = o - low >> narrow;
        uint32_t k = first_of[r], end = first_of[r + 1];
        bool leave = false;
        if (end - k > max_run) {  // a long run of one order, or several orders in the interval
          k = find_order<KW>(build, k, end, of, o);
          const uint32_t stop = min(k + max_run + 1, end);
          for (end = k; end < stop && of(build[end]) == o;) end++;
          leave = end - k > max_run;
        }
        if (leave) {
          if (!row || of(probe[row - 1]) != o) left_row[atomicAdd(&left, 1)] = here.probe + row;
        } else {
#pragma unroll 1
          for (; k < end; k++)
            if (build[k] == mine) {
              first = count ? first : k;
              count++;
            }
        }
      }
      uint32_t sum;
      const uint32_t before = chunk_exclusive(count, sum);
      match[row] = Match(first, count, before);
      if (t % 32 == 0) claim.chunk[row / 32] = sum;
    }
    __syncthreads();
    for (uint32_t i = t; i < left; i += T) defer_run<KW>(descriptor, left_row[i], here.probe_end, here.build_end);
    claim.claim(merge.result);
    __syncthreads();

    const uint32_t total = claim.total;
    for (uint32_t window = 0; window < total; window += N) {
#pragma unroll 1
      for (uint32_t row = t; row < N; row += T) {
        const Match m = match[row];
        const uint32_t n = m.count();
        uint32_t at = m.before() + claim.chunk[row / 32] - window;
        for (uint32_t k = m.first(), done = 0; done < n; k++)
          if (n == 1 || build[k] == probe[row]) {
            if (at < N) pairs.set(at, k, row);
            at++, done++;
          }
      }
      __syncthreads();
      write_result<T, IPT>(merge.result, pairs, claim.base + window, min(total - window, (uint32_t)N));
      __syncthreads();
    }
  }
}

}  // namespace gj
