// Launch parameters of partitioned hash joins by compute capability. They change
// speed, never results.
#pragma once

namespace gj {

// A scatter kernel: threads per block, rows per thread, blocks per multiprocessor,
// rows per unit, maximum partitions. A tile's rows are held in registers, so wider
// rows need shorter tiles.
struct Scatter {
  int threads, rows, blocks, unit, fan;
};

// By words per row.
__host__ __device__ constexpr Scatter scatter_first(int words) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return {512, words <= 2 ? 24 : words == 3 ? 20 : words <= 5 ? 12 : words <= 8 ? 8 : 6, 1, 1, 256};
#else
  return words == 1   ? Scatter{512, 24, 1, 8, 256}
         : words == 2 ? Scatter{512, 28, 1, 1, 256}
         : words == 3 ? Scatter{512, 16, 1, 8, 256}
         : words == 4 ? Scatter{512, 12, 1, 2, 256}
         : words == 5 ? Scatter{512, 10, 1, 4, 256}
         : words == 6 ? Scatter{512, 9, 1, 4, 256}
         : words <= 8 ? Scatter{512, 8, 1, 2, 256}
                      : Scatter{512, 6, 1, 2, 256};
#endif
}

// The first pass of fields, of which a thread reads four rows at a time.
__host__ __device__ constexpr Scatter scatter_fields(int words) {
  Scatter tuned = scatter_first(words);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (words == 2) return {512, 8, 2, 1, 256};
  if (words == 3) return {512, 8, 2, 4, 256};
  if (words == 5) return {512, 12, 1, 4, 256};
#endif
  tuned.rows = tuned.rows / 4 * 4;
  return tuned;
}

// The first pass of rows with a byte beside the rest of the hash, by their words. Rows in
// shared memory no longer show their partition, so a pass writes units of several.
__host__ __device__ constexpr Scatter scatter_beside(int words) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return {512, words == 1 ? 24 : words == 2 ? 16 : words == 3 ? 12 : 8, 1, words == 1 ? 8 : 4, 256};
#else
  return words == 1   ? Scatter{512, 24, 1, 8, 256}
         : words == 2 ? Scatter{512, 24, 1, 4, 256}
         : words == 3 ? Scatter{512, 16, 1, 8, 256}
                      : Scatter{512, 12, 1, 4, 256};
#endif
}

__host__ __device__ constexpr Scatter scatter_second(int words) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return scatter_first(words);
#else
  return words == 1   ? Scatter{512, 24, 1, 8, 256}
         : words == 2 ? Scatter{512, 28, 1, 1, 256}
         : words == 3 ? Scatter{512, 24, 1, 1, 256}
         : words == 4 ? Scatter{512, 16, 1, 1, 256}
         : words == 5 ? Scatter{512, 14, 1, 1, 256}
         : words == 6 ? Scatter{512, 13, 1, 1, 256}
         : words <= 8 ? Scatter{512, 8, 1, 1, 256}
                      : Scatter{512, 6, 1, 1, 256};
#endif
}

// The first pass of a list of values: threads, most rows per thread, blocks per
// multiprocessor, most partitions, bytes of dynamic shared memory.
constexpr int pack_threads = 1024, pack_rows = 4, pack_blocks = 1, pack_fan = 256;
__host__ __device__ constexpr int pack_shared() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return 144 << 10;
#else
  return 208 << 10;
#endif
}

// The gather of packed payload: threads, blocks per multiprocessor, rows per thread.
constexpr int packed_threads = 256, packed_blocks = 5, packed_rows = 2;

// A match kernel: threads per block, probe rows per thread, build rows per chunk,
// buckets, blocks per multiprocessor.
struct Match {
  int threads, rows, chunk, buckets, blocks;
};

// Kernels that gather payload are faster with fewer warps: an H200 serves 38 G random
// reads a second with 20 warps and 34 G with 24.
// Fields are staged several words at a time, for which wide probe rows leave less memory.
// A wide build side leaves memory for one block, which has as many threads as it can.
__host__ __device__ constexpr Match match_tuning(int build_words, int probe_words, bool fetches, bool fields) {
  if (fetches && build_words <= 6 && probe_words <= 6) return Match{640, build_words <= 3 ? 2 : 1, 4608, 8192, 1};
  if (build_words <= 3) return Match{384, probe_words <= 3 ? 4 : fields && probe_words > (build_words == 3 ? 6 : 8) ? 1 : 2, 4608, 8192, 2};
  if (build_words <= 6 && probe_words <= 6) return Match{384, 2, 2304, 4096, 2};
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return Match{384, 2, 2304, 4096, 1};
#else
  return Match{640, 2, 2304, 4096, 1};
#endif
}
// The same for a match with a match list, which gathers for few of its rows.
__host__ __device__ constexpr Match listed_tuning(int build_words, int probe_words) {
  if (probe_words > 6) return build_words <= 3 ? Match{384, 1, 4608, 8192, 2} : Match{384, 2, 2304, 4096, 1};
  return build_words <= 3 ? Match{512, probe_words <= 3 ? 2 : 1, 4608, 8192, 2} : Match{512, 1, 2304, 4096, build_words <= 6 ? 2 : 1};
}

// Bytes of shared memory of a multiprocessor, and those reserved for each block in
// addition to its own.
constexpr int multiprocessor_shared = 228 << 10, block_shared = 2 << 10;

constexpr int sample_threads = 1024, histogram_threads = 1024, offsets_threads = 1024, close_threads = 1024, offsets_slices = 16;
constexpr int bypass_threads = 384, bypass_blocks = 2, bypass_rows = 4;
constexpr int filter_threads = 1024, filter_blocks = 2, reduce_threads = 384, reduce_blocks = 3, reduce_vectors = 2;

}  // namespace gj
