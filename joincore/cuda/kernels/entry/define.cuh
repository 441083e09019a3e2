// Defines kernels. Each kernel NAME has a NAME_launch, uint64[5] in constant memory:
// threads per block, blocks per multiprocessor, bytes of dynamic shared memory, rows
// (a scatter's tile, a match's chunk) and the most partitions that a scatter writes
// to.
#pragma once
#include <stdint.h>

#define LAUNCH(NAME, THREADS, BLOCKS, SHARED, ROWS, FAN) \
  extern "C" __constant__ const uint64_t NAME##_launch[5] = {(uint64_t)(THREADS), (uint64_t)(BLOCKS), (uint64_t)(SHARED), (uint64_t)(ROWS), (uint64_t)(FAN)};
