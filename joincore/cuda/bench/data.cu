// Inputs made on the device, and the checksum of a join's result.
//
// Keys are a bijection of the key's index over the full key width, never
// dense. Build row i has key index i mod distinct. A probe row's key index is
// drawn uniformly below `domain`, or by a Zipf law over `domain`; only indices
// below `distinct` occur in the build side. Payloads are a hash of (side,
// column, row). So what a join must return follows from the formulas, without
// any join: a sum over output rows of a hash of all their values.
#include <stdint.h>

namespace {

__device__ __forceinline__ uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

__device__ __forceinline__ uint64_t key_of(uint64_t index, int bytes) {
  if (bytes == 8) return mix(index * 0x9e3779b97f4a7c15ull + 0x1234567);
  uint32_t x = (uint32_t)index;
  x = x * 0x9e3779b1u + 0x7654321u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 12;
  x *= 0x297a2d39u;
  return x ^ x >> 15;
}

__device__ __forceinline__ uint64_t payload(uint64_t side, uint64_t column, uint64_t row, int bytes) {
  uint64_t v = mix((side * 64 + column + 1) << 40 ^ (row * 0x9e3779b97f4a7c15ull));
  return bytes == 8 ? v : (uint32_t)v;
}

__device__ __forceinline__ double uniform(uint64_t x) { return ((mix(x) >> 11) + 0.5) * 0x1p-53; }

// Zipf by rejection from the integral of x^-s (Hoermann and Derflinger).
__device__ uint64_t zipf(uint64_t row, uint64_t domain, double s) {
  auto H = [s](double x) { return s == 1 ? log(x) : (pow(x, 1 - s) - 1) / (1 - s); };
  auto inverse = [s](double y) { return s == 1 ? exp(y) : pow(1 + y * (1 - s), 1 / (1 - s)); };
  const double low = H(1.5) - 1, high = H(domain + 0.5);
  for (uint64_t t = 0;; t++) {
    double u = high + uniform(row * 0x9e3779b97f4a7c15ull + t * 0xd1342543de82ef95ull + 99) * (low - high);
    double x = inverse(u);
    double k = floor(x + 0.5);
    k = k < 1 ? 1 : k > domain ? domain : k;
    if (u >= H(k + 0.5) - pow(k, -s)) return (uint64_t)k - 1;
  }
}

__device__ __forceinline__ uint64_t probe_index(uint64_t row, uint64_t domain, double s) {
  return s > 0 ? zipf(row, domain, s) : mix(row * 0x9e3779b97f4a7c15ull + 0x5bd1e995) % domain;
}

__device__ __forceinline__ uint64_t chain(uint64_t h, uint64_t v) { return mix(h * 0x9e3779b97f4a7c15ull + v + 1); }

__device__ __forceinline__ void put(uint64_t column, uint64_t row, uint64_t v, int bytes) {
  if (bytes == 8)
    reinterpret_cast<uint64_t*>(column)[row] = v;
  else
    reinterpret_cast<uint32_t*>(column)[row] = (uint32_t)v;
}
__device__ __forceinline__ uint64_t get(uint64_t column, uint64_t row, int bytes) {
  return bytes == 8 ? reinterpret_cast<const uint64_t*>(column)[row] : reinterpret_cast<const uint32_t*>(column)[row];
}

__device__ void add_up(unsigned long long* sum, uint64_t s, uint64_t n) {
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d), n += __shfl_down_sync(~0u, n, d);
  if (threadIdx.x % 32 == 0 && n) atomicAdd(sum, s), atomicAdd(sum + 1, n);
}

}  // namespace

// side 0: build, 1: probe; columns: device array of addresses, the key first;
// zipf_bits: the factor as the bits of a double, 0 for uniform.
extern "C" __global__ void data_fill(uint64_t side, uint64_t rows, const uint64_t* columns, uint64_t count, uint64_t key_bytes, uint64_t bytes,
                                     uint64_t domain, uint64_t zipf_bits) {
  const double s = __longlong_as_double(zipf_bits);
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    put(columns[0], i, key_of(side ? probe_index(i, domain, s) : i % domain, key_bytes), key_bytes);
    for (uint64_t c = 0; c < count; c++) put(columns[1 + c], i, payload(side, c, i, bytes), bytes);
  }
}

// sum[0] += hash of every row that the join must return, sum[1] += their number.
extern "C" __global__ void data_expect(uint64_t build_rows, uint64_t probe_rows, uint64_t build_columns, uint64_t probe_columns, uint64_t key_bytes,
                                       uint64_t bytes, uint64_t distinct, uint64_t domain, uint64_t zipf_bits, unsigned long long* sum) {
  const double s = __longlong_as_double(zipf_bits);
  uint64_t total = 0, n = 0;
  for (uint64_t j = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; j < probe_rows; j += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t index = probe_index(j, domain, s);
    if (index >= distinct) continue;
    const uint64_t k = key_of(index, key_bytes);
    for (uint64_t i = index; i < build_rows; i += distinct) {
      uint64_t h = k;
      for (uint64_t c = 0; c < build_columns; c++) h = chain(h, payload(0, c, i, bytes));
      for (uint64_t c = 0; c < probe_columns; c++) h = chain(h, payload(1, c, j, bytes));
      total += h, n++;
    }
  }
  add_up(sum, total, n);
}

// The same of the rows that a join returned; columns: key, build's, probe's.
extern "C" __global__ void data_sum(uint64_t rows, const uint64_t* columns, uint64_t count, uint64_t key_bytes, uint64_t bytes, unsigned long long* sum) {
  uint64_t total = 0, n = 0;
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    uint64_t h = get(columns[0], i, key_bytes);
    for (uint64_t c = 1; c < count; c++) h = chain(h, get(columns[c], i, bytes));
    total += h, n++;
  }
  add_up(sum, total, n);
}
