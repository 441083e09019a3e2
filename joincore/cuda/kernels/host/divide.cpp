// Division on the host: each row is in its partition with all its values, those that are
// stored in 4 bytes are restored, and the range of a column is found.
#include "cuda.hpp"
#include "memory.hpp"

#include <random>

#include "agent/divide.cuh"

using namespace gj;

namespace {

constexpr int threads = GJ_DIVIDE_FAN, each = 2;
constexpr uint64_t tile = threads * each;

std::mt19937_64 random_bits(11);

template <class V>
std::string text(const std::vector<V>& v) {
  return std::string(reinterpret_cast<const char*>(v.data()), sizeof(V) * v.size());
}

template <class V>
V at(uint64_t address, uint64_t i) {
  V v;
  memcpy(&v, reinterpret_cast<const V*>(address) + i, sizeof v);
  return v;
}

// Places rows of partitions with an 8-byte column that is stored in 4 bytes, one that is
// not, one of 4 bytes and the row numbers; returns what is wrong.
const char* placed(uint64_t rows, uint64_t partitions, uint64_t base) {
  Memory memory;
  std::vector<uint8_t> partition(rows);
  std::vector<uint64_t> near(rows), far(rows);
  std::vector<uint32_t> small(rows), count(GJ_DIVIDE_FAN);
  for (uint64_t i = 0; i < rows; i++) {
    partition[i] = (uint8_t)(random_bits() % partitions);
    count[partition[i]]++;
    near[i] = base + (uint32_t)random_bits(), far[i] = random_bits(), small[i] = (uint32_t)random_bits();
  }
  if (rows > 1) near[0] = base, near[1] = base + 0xffffffffu;
  const uint64_t capacity = rows + partitions * GJ_DIVIDE_ALIGN;
  const uint64_t to[4] = {memory.take(4 * capacity), memory.take(8 * capacity), memory.take(4 * capacity), memory.take(4 * capacity)};
  const std::vector<gj_moved> moved = {
      {memory.take(text(near)), to[0], 8, 1, base}, {memory.take(text(far)), to[1], 8, 0, 0}, {memory.take(text(small)), to[2], 4, 0, 0}, {0, to[3], 4, 0, 0}};
  gj_divide d{};
  d.rows = rows, d.partition = memory.take(text(partition)), d.count = memory.take(text(count)), d.cursor = memory.take_cleared(GJ_DIVIDE_FAN);
  d.first = 1000, d.moved = memory.take(text(moved)), d.moved_count = moved.size();
  host::launch(1, threads, [&] { divide_start<threads>(&d); });
  host::launch(3, threads, [&] { divide_place<threads, each>(&d); });
  gj_widen widen{to[0], memory.take(8 * capacity), capacity, base};
  host::launch(2, threads, [&] { divide_widen<threads>(widen); });
  std::vector<bool> seen(rows);
  uint64_t start = 0;
  for (uint64_t p = 0; p < partitions; p++) {
    for (uint64_t i = start; i < start + count[p]; i++) {
      const uint64_t row = at<uint32_t>(to[3], i) - d.first;
      if (row >= rows || seen[row] || partition[row] != p) return "a row is twice, or in another partition";
      seen[row] = true;
      if (at<uint64_t>(widen.to, i) != near[row]) return "a value of 4 bytes is not restored";
      if (at<uint64_t>(to[1], i) != far[row] || at<uint32_t>(to[2], i) != small[row]) return "a value is another row's";
    }
    start = (start + count[p] + GJ_DIVIDE_ALIGN - 1) / GJ_DIVIDE_ALIGN * GJ_DIVIDE_ALIGN;
  }
  return nullptr;
}

// Finds the range of values around a number; returns what is wrong.
const char* ranged(uint64_t rows, uint64_t middle, uint64_t spread) {
  Memory memory;
  std::vector<int64_t> values(rows);
  for (int64_t& v : values) v = (int64_t)(middle + random_bits() % spread);
  const gj_range d{memory.take(text(values)), rows, memory.take_cleared(4)};
  host::launch(3, threads, [&] { divide_range<threads>(d); });
  const uint64_t top = 1ull << 63, greatest = at<uint64_t>(d.greatest, 0) ^ top, least = ~at<uint64_t>(d.greatest, 1) ^ top;
  if (rows == 0) return (int64_t)least > (int64_t)greatest ? nullptr : "there is a range without values";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (int64_t)greatest == *high && (int64_t)least == *low ? nullptr : "the range is another one";
}

}  // namespace

int main() {
  int checks = 0, wrong = 0;
  auto expect = [&](const char* what, uint64_t rows, uint64_t a, uint64_t b) {
    checks++;
    if (what) wrong++, printf("%llu rows, %llx, %llx: %s\n", (unsigned long long)rows, (unsigned long long)a, (unsigned long long)b, what);
  };
  for (uint64_t rows : {uint64_t(0), uint64_t(1), uint64_t(31), uint64_t(33), tile - 1, tile, tile + 1, 7 * tile + 5}) {
    for (uint64_t partitions : {1, 2, 64, 256}) {
      for (uint64_t base : {0ull, 12345678901ull, ~0ull - 5, 1ull << 63}) expect(placed(rows, partitions, base), rows, partitions, base);
    }
    for (uint64_t middle : {0ull, ~0ull - 100, 1ull << 63, (1ull << 63) - 200}) {
      for (uint64_t spread : {1ull, 150ull, 1ull << 40}) {
        if ((int64_t)(middle + spread) >= (int64_t)middle) expect(ranged(rows, middle, spread), rows, middle, spread);
      }
    }
  }
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
