// Launch parameters of the kernels of joins over several devices, as far as they differ
// from those of one.
#pragma once

namespace gj {

constexpr int fold_threads = 256;

// Of compression: a block has 31 KB of shared memory.
constexpr int compress_threads = 256, compress_blocks = 5;

// Rows per thread of a first pass that sends rows of this many words, where that of a
// single device has `rows`. Links want longer runs than memory does.
__host__ __device__ constexpr int send_rows(int words, int rows) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (words == 5) return 12;
#endif
  return rows;
}

// Rows per unit. Runs of 8-byte rows begin at sectors of 32 bytes, since other devices get each
// part of a sector by itself. In memory of its own, a device's cache puts the parts together.
__host__ __device__ constexpr int send_unit(int words, int unit) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  if (words == 2) return 4;
#endif
  return unit;
}

}  // namespace gj
