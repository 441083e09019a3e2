// Copies memory by threads instead of copy engines, and computes a checksum to
// verify copies.
#include <stdint.h>

// One block per multiprocessor keeps 16 KiB in flight: two megabytes on a large
// device, several times what a link carries in one round trip. More would only take
// resources from concurrent kernels.
#define LAUNCH(NAME, BLOCKS) extern "C" __constant__ const uint64_t NAME##_launch[5] = {256, BLOCKS, 0, 0, 0};

namespace {

__device__ __forceinline__ uint64_t thread() { return blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; }
__device__ __forceinline__ uint64_t threads() { return gridDim.x * (uint64_t)blockDim.x; }

// Moves n values, without keeping them in caches; a thread has four in flight.
template <class T>
__device__ void copy(T* to, const T* from, uint64_t n) {
  const uint64_t step = threads();
  uint64_t i = thread();
  for (; i + 3 * step < n; i += 4 * step) {
    const T a = __ldcs(from + i), b = __ldcs(from + i + step), c = __ldcs(from + i + 2 * step), d = __ldcs(from + i + 3 * step);
    __stcs(to + i, a), __stcs(to + i + step, b), __stcs(to + i + 2 * step, c), __stcs(to + i + 3 * step, d);
  }
  for (; i < n; i += step) __stcs(to + i, __ldcs(from + i));
}

// Moves the bytes between two addresses of equal alignment: whole units, and the
// bytes before and behind them one by one.
template <class T>
__device__ void in_units(unsigned char* to, const unsigned char* from, uint64_t bytes) {
  const uint64_t rest = (uint64_t)to % sizeof(T), head = rest ? min(bytes, sizeof(T) - rest) : 0;
  const uint64_t units = (bytes - head) / sizeof(T), tail = head + units * sizeof(T);
  copy(to, from, head);
  copy(reinterpret_cast<T*>(to + head), reinterpret_cast<const T*>(from + head), units);
  copy(to + tail, from + tail, bytes - tail);
}

}  // namespace

// to[0, bytes) = from[0, bytes). Either is device memory or host memory that the
// device can access. Bound: the link.
extern "C" __global__ void transfer_move(unsigned char* to, const unsigned char* from, uint64_t bytes) {
  const uint64_t apart = (uint64_t)to ^ (uint64_t)from;
  if (apart % 16 == 0)
    in_units<uint4>(to, from, bytes);
  else if (apart % 4 == 0)
    in_units<unsigned>(to, from, bytes);
  else
    copy(to, from, bytes);
}
LAUNCH(transfer_move, 1)

// *sum += a hash of each 8-byte word and its position, modulo 2^64: swapped words
// change the sum. Bound: device memory.
extern "C" __global__ void transfer_sum(const uint64_t* at, uint64_t words, unsigned long long* sum) {
  uint64_t total = 0;
  for (uint64_t i = thread(); i < words; i += threads()) {
    uint64_t h = (at[i] + i * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    h = (h ^ h >> 31) * 0x94d049bb133111ebull;
    total += h ^ h >> 29;
  }
  for (int d = 16; d; d /= 2) total += __shfl_down_sync(~0u, total, d);
  if (threadIdx.x % 32 == 0 && total) atomicAdd(sum, total);
}
LAUNCH(transfer_sum, 8)
