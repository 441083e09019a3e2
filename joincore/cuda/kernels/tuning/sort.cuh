// Launch parameters of the sort-merge join and of the join without partitions. They
// change speed, never results.
#pragma once

namespace gj {

// A radix pass: rows per thread, blocks per multiprocessor. One thread per digit value.
struct Radix {
  int rows, blocks;
};
// wide: values of more than 4 bytes. many: many rows; with few rows, short tiles keep
// all multiprocessors busy.
__host__ __device__ constexpr Radix radix_tuning(bool wide, bool many) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  return {many ? (wide ? 14 : 24) : 8, 1};
#else
  return {many ? (wide ? 24 : 32) : 8, 1};
#endif
}

// A merge, by words of a key: threads per block, rows per thread, blocks per
// multiprocessor. More rows mean more values in flight and more shared memory.
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
