// The sort's, the merge's and the no-partitioning join's numbers. They change
// speed, never results.
#pragma once

namespace gj {

// One radix pass: rows a thread, blocks a multiprocessor. It has a thread a digit value.
struct Radix {
  int rows, blocks;
};
// Values of at most 4 bytes, or of any width; many rows, or few, where short
// tiles keep all multiprocessors busy.
__host__ __device__ constexpr Radix radix_tuning(bool wide, bool many) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return {many ? (wide ? 14 : 24) : 8, 1};
#else
  return {many ? (wide ? 24 : 32) : 8, 1};
#endif
}

// A merge, by words of a key: threads a block, rows a thread, blocks a
// multiprocessor. More rows are more values in flight, and more shared memory.
struct Merge {
  int threads, rows, blocks;
};
__host__ __device__ constexpr Merge merge_tuning(int key_words) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return {512, 4, 2};
#else
  return {384, 8, key_words == 1 ? 3 : 2};
#endif
}

constexpr int count_threads = 512, split_threads = 128, gather_threads = 256, gather_blocks = 3, table_threads = 256, table_rows = 4, table_blocks = 4;

}  // namespace gj
