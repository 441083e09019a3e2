// Copies pieces of memory by threads, of the own device or of others, and tells the host
// by a word of its memory: it need not ask the driver.
//
// Threads have UNITS loads of 16 bytes in flight. Bound: the link between two devices, or
// device memory.
#pragma once
#include "layout/spans.h"

namespace gj {

// Bytes one by one, fewer than 16.
__device__ __forceinline__ void copy_bytes(uint8_t* to, const uint8_t* from, uint32_t bytes) {
  if (threadIdx.x < bytes) to[threadIdx.x] = from[threadIdx.x];
}

// One piece. Its tiles are dealt to the blocks in turn, beginning with block `first`; returns
// the block whose turn is next.
template <int THREADS, int UNITS>
__device__ __forceinline__ uint32_t copy_span(uint8_t* to, const uint8_t* from, uint64_t bytes, uint32_t first) {
  const uint32_t before = (uint32_t)((16 - (uint64_t)to % 16) % 16);
  const uint64_t head = bytes < before ? bytes : before, units = (bytes - head) / 16, tail = bytes - head - 16 * units;
  if (blockIdx.x == first) {
    copy_bytes(to, from, (uint32_t)head);
    copy_bytes(to + bytes - tail, from + bytes - tail, (uint32_t)tail);
  }
  uint4* t = reinterpret_cast<uint4*>(to + head);
  const uint4* f = reinterpret_cast<const uint4*>(from + head);
  constexpr uint64_t tile = THREADS * UNITS;
  const uint64_t tiles = (units + tile - 1) / tile;
  for (uint64_t i = (blockIdx.x + gridDim.x - first) % gridDim.x; i < tiles; i += gridDim.x) {
    const uint64_t at = i * tile + threadIdx.x;
    uint4 v[UNITS];
    if (i * tile + tile <= units) {
#pragma unroll
      for (int u = 0; u < UNITS; u++) v[u] = __ldcs(f + at + u * THREADS);
#pragma unroll
      for (int u = 0; u < UNITS; u++) __stcs(t + at + u * THREADS, v[u]);
    } else {
      for (uint64_t j = at; j < units; j += THREADS) __stcs(t + j, __ldcs(f + j));
    }
  }
  return (uint32_t)((first + tiles) % gridDim.x);
}

template <int THREADS, int UNITS>
__device__ __forceinline__ void copy_spans(const gj_spans& s) {
  uint32_t first = 0;
  for (uint64_t i = 0; i < s.count; i++)
    first = copy_span<THREADS, UNITS>(reinterpret_cast<uint8_t*>(s.to[i]), reinterpret_cast<const uint8_t*>(s.from[i]), s.bytes[i], first);
  __threadfence_system();  // each thread's stores, before the block counts
  __syncthreads();
  if (threadIdx.x) return;
  uint32_t* ended = reinterpret_cast<uint32_t*>(s.ended);
  if (atomicAdd(ended, 1u) + 1 < gridDim.x) return;
  *ended = 0;
  __threadfence_system();
  *reinterpret_cast<volatile uint64_t*>(s.mark) = s.content;
}

}  // namespace gj
