// Generates inputs on the device and computes the checksum of a join's result, for
// tests and benchmarks.
//
// A key is a bijection of its key index over the full key width, so keys are not
// dense. Alternatively `dense` keys are a permutation of 0..dense-1; an index
// beyond that is its own key. Build row i has key index i mod distinct. A probe
// row's key index is drawn below `domain`, uniformly or by Zipf's law; only indexes
// below `distinct` occur in the build side. Payload values are a hash of (side,
// column, row). The expected result therefore follows from the formulas without a
// join. The checksum is the sum over all output rows of a hash of their values.
// their values.
#include <stdint.h>

namespace {

__device__ __forceinline__ uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// A permutation of 0..n-1: applies one of the next power of two until the value is below n.
__device__ __forceinline__ uint64_t permuted(uint64_t x, uint64_t n) {
  const int bits = n > 1 ? 64 - __clzll(n - 1) : 1;
  const uint64_t mask = ~0ull >> (64 - bits);
  do {
    x = (x * 0x9e3779b97f4a7c15ull + 0x7654321) & mask;
    x ^= x >> (bits + 1) / 2;
    x = x * 0xd1342543de82ef95ull & mask;
    x ^= x >> (bits + 1) / 2;
  } while (x >= n);
  return x;
}

__device__ __forceinline__ uint64_t key_of(uint64_t index, int bytes, uint64_t dense) {
  if (dense) return index < dense ? permuted(index, dense) : index;
  if (bytes == 8) return mix(index * 0x9e3779b97f4a7c15ull + 0x1234567);
  uint32_t x = (uint32_t)index;
  x = x * 0x9e3779b1u + 0x7654321u;
  x ^= x >> 15;
  x *= 0x2c1b3c6du;
  x ^= x >> 12;
  x *= 0x297a2d39u;
  return x ^ x >> 15;
}

// The low word of a payload value; of a 16-byte value, word `word`.
__device__ __forceinline__ uint64_t payload(uint64_t side, uint64_t column, uint64_t row, uint64_t word, uint64_t bytes) {
  const uint64_t v = mix((side * 64 + column * 2 + word + 1) << 40 ^ (row * 0x9e3779b97f4a7c15ull));
  return bytes >= 8 ? v : v & ((1ull << 8 * bytes) - 1);
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

// An array of values and its width.
struct Column {
  uint64_t at, bytes;
  __device__ __forceinline__ uint64_t words() const { return bytes > 8 ? 2 : 1; }
  __device__ __forceinline__ void put(uint64_t row, uint64_t word, uint64_t v) const {
    switch (bytes) {
      case 1: reinterpret_cast<uint8_t*>(at)[row] = (uint8_t)v; return;
      case 2: reinterpret_cast<uint16_t*>(at)[row] = (uint16_t)v; return;
      case 4: reinterpret_cast<uint32_t*>(at)[row] = (uint32_t)v; return;
      default: reinterpret_cast<uint64_t*>(at)[row * words() + word] = v;
    }
  }
  __device__ __forceinline__ uint64_t get(uint64_t row, uint64_t word) const {
    switch (bytes) {
      case 1: return reinterpret_cast<const uint8_t*>(at)[row];
      case 2: return reinterpret_cast<const uint16_t*>(at)[row];
      case 4: return reinterpret_cast<const uint32_t*>(at)[row];
      default: return reinterpret_cast<const uint64_t*>(at)[row * words() + word];
    }
  }
};

__device__ void add_up(unsigned long long* sum, uint64_t s, uint64_t n) {
  for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d), n += __shfl_down_sync(~0u, n, d);
  if (threadIdx.x % 32 == 0 && n) atomicAdd(sum, s), atomicAdd(sum + 1, n);
}

}  // namespace

// Makes the tables of a sequence of joins differ by their number. The tables of a
// single join have number 0.
__device__ __forceinline__ uint64_t numbered(uint64_t row, uint64_t number) { return row ^ number << 36; }

#define LAUNCH(NAME) extern "C" __constant__ const uint64_t NAME##_launch[5] = {256, 8, 0, 0, 0};

// Fills a table. side 0: build, 1: probe; columns: the key first; zipf_bits: the
// exponent as the bits of a double, 0 for uniform; number: position in a sequence of
// joins, or 0; dense: the number of dense keys, or 0.
extern "C" __global__ void data_fill(uint64_t side, uint64_t rows, const Column* column, uint64_t count, uint64_t domain, uint64_t zipf_bits,
                                     uint64_t number, uint64_t dense) {
  const double s = __longlong_as_double(zipf_bits);
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    column[0].put(i, 0, key_of(side ? probe_index(numbered(i, number), domain, s) : i % domain, column[0].bytes, dense));
    for (uint64_t c = 1; c < count; c++)
      for (uint64_t w = 0; w < column[c].words(); w++) column[c].put(i, w, payload(side, c, numbered(i, number), w, column[c].bytes));
  }
}
LAUNCH(data_fill)

// Adds to sum[0] the hash of every row that the join must return, to sum[1] their
// number. The columns are the sides' own; only their widths are read.
extern "C" __global__ void data_expect(uint64_t build_rows, uint64_t probe_rows, const Column* build, uint64_t build_count, const Column* probe,
                                       uint64_t probe_count, uint64_t distinct, uint64_t domain, uint64_t zipf_bits, uint64_t dense, unsigned long long* sum) {
  const double s = __longlong_as_double(zipf_bits);
  uint64_t total = 0, n = 0;
  for (uint64_t j = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; j < probe_rows; j += (uint64_t)gridDim.x * blockDim.x) {
    const uint64_t index = probe_index(j, domain, s);
    if (index >= distinct) continue;
    const uint64_t k = key_of(index, build[0].bytes, dense);
    for (uint64_t i = index; i < build_rows; i += distinct) {
      uint64_t h = chain(0, k);
      for (uint64_t c = 1; c < build_count; c++)
        for (uint64_t w = 0; w < build[c].words(); w++) h = chain(h, payload(0, c, i, w, build[c].bytes));
      for (uint64_t c = 1; c < probe_count; c++)
        for (uint64_t w = 0; w < probe[c].words(); w++) h = chain(h, payload(1, c, j, w, probe[c].bytes));
      total += h, n++;
    }
  }
  add_up(sum, total, n);
}
LAUNCH(data_expect)

// The same for the rows that a join returned; columns: key, build's, probe's.
extern "C" __global__ void data_sum(uint64_t rows, const Column* column, uint64_t count, unsigned long long* sum) {
  uint64_t total = 0, n = 0;
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) {
    uint64_t h = 0;
    for (uint64_t c = 0; c < count; c++)
      for (uint64_t w = 0; w < column[c].words(); w++) h = chain(h, column[c].get(i, w));
    total += h, n++;
  }
  add_up(sum, total, n);
}
LAUNCH(data_sum)

// row[i] = i: row numbers as a column of 4 bytes.
extern "C" __global__ void data_number(uint32_t* row, uint64_t rows) {
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) row[i] = (uint32_t)i;
}
LAUNCH(data_number)

// to[i] = from[row[i]]: gathers a foreign key for the next join.
extern "C" __global__ void data_fetch(const uint32_t* row, uint64_t rows, const uint32_t* from, uint32_t* to) {
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < rows; i += (uint64_t)gridDim.x * blockDim.x) to[i] = __ldg(from + row[i]);
}
LAUNCH(data_fetch)

// The expected result of a sequence of joins of `facts` rows with tables 1..joins:
// for each fact its row number and the payload of its match in each table.
extern "C" __global__ void data_expect_sequence(uint64_t facts, uint64_t joins, uint64_t domain, unsigned long long* sum) {
  uint64_t total = 0, n = 0;
  for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < facts; i += (uint64_t)gridDim.x * blockDim.x) {
    uint64_t h = chain(0, i);
    for (uint64_t j = 1; j <= joins; j++) h = chain(h, payload(0, 1, numbered(probe_index(numbered(i, j), domain, 0), j), 0, 4));
    total += h, n++;
  }
  add_up(sum, total, n);
}
LAUNCH(data_expect_sequence)
