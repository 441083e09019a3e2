// Merges the Bloom filters of several devices' build keys (agent/bloom.cuh) in place. Each
// device merges a part of all filters and stores it into every one of them, so that no two
// devices touch the same words.
//
// Bound: the links. A device reads its part of each other filter and writes it back.
#pragma once
#include <stdint.h>

#include "layout/send.h"

namespace gj {

// filters are the addresses of the members' filters; [from, to) is the part, in units of 16
// bytes.
template <int T>
__device__ __forceinline__ void merge_filters(const uint64_t* filters, uint32_t members, uint64_t from, uint64_t to) {
  for (uint64_t i = from + (uint64_t)blockIdx.x * T + threadIdx.x; i < to; i += (uint64_t)gridDim.x * T) {
    uint4 all = {0, 0, 0, 0};
#pragma unroll 4
    for (uint32_t m = 0; m < members; m++) {
      const uint4 v = __ldcg(reinterpret_cast<const uint4*>(filters[m]) + i);
      all.x |= v.x, all.y |= v.y, all.z |= v.z, all.w |= v.w;
    }
    for (uint32_t m = 0; m < members; m++) __stcg(reinterpret_cast<uint4*>(filters[m]) + i, all);
  }
}

}  // namespace gj
