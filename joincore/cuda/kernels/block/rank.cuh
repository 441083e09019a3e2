// Ranks of a tile's rows within their partitions.
#pragma once
#include <stdint.h>

namespace gj {

// Returns the rank of the calling thread's row among the rows of partition p, which
// shared memory counts. Rows of the partition `hot` (~0: none) are ranked by a warp
// vote, so that a hot key does not serialise. All lanes of a warp call it.
__device__ __forceinline__ uint32_t rank_in_partition(uint32_t* count, uint32_t hot, uint32_t p, bool valid) {
  uint32_t rank = 0;
  if (hot != ~0u) {
    const uint32_t lane = threadIdx.x & 31, same = __ballot_sync(~0u, valid && p == hot);
    uint32_t first = 0;
    if (lane + 1 == __ffs(same)) first = atomicAdd(&count[hot], __popc(same));
    first = __shfl_sync(~0u, first, same ? __ffs(same) - 1 : 0);
    if (p == hot)
      rank = first + __popc(same & ((1u << lane) - 1));
    else if (valid)
      rank = atomicAdd(&count[p], 1);
  } else if (valid) {
    rank = atomicAdd(&count[p], 1);
  }
  return rank;
}

}  // namespace gj
