#include "check.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <unordered_map>

#include "join.hpp"

namespace {

using Row = std::vector<uint64_t>;

struct Side {
  std::vector<uint64_t> key;
  std::vector<std::vector<uint64_t>> column;
};

Side random_side(std::mt19937_64& random, uint64_t rows, uint64_t domain, int key_bytes, int columns, int bytes) {
  Side s;
  s.column.resize(columns);
  const uint64_t key_mask = key_bytes == 8 ? ~0ull : 0xffffffffull, mask = bytes == 8 ? ~0ull : 0xffffffffull;
  for (uint64_t i = 0; i < rows; i++) {
    // Key 0, the largest key and keys that share their low or high half are among them.
    const uint64_t k = random() % domain;
    s.key.push_back((k == 0 ? 0 : k == 1 ? ~0ull : k % 2 ? k : k << 32 | k >> 1) & key_mask);
    for (auto& c : s.column) c.push_back(random() & mask);
  }
  return s;
}

std::vector<Row> reference(const Side side[2]) {
  std::unordered_multimap<uint64_t, size_t> build;
  for (size_t i = 0; i < side[0].key.size(); i++) build.emplace(side[0].key[i], i);
  std::vector<Row> out;
  for (size_t j = 0; j < side[1].key.size(); j++) {
    auto range = build.equal_range(side[1].key[j]);
    for (auto m = range.first; m != range.second; ++m) {
      Row r{side[1].key[j]};
      for (auto& c : side[0].column) r.push_back(c[m->second]);
      for (auto& c : side[1].column) r.push_back(c[j]);
      out.push_back(r);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Buffer {
  CUdeviceptr at = 0;
  size_t bytes;
  explicit Buffer(size_t n) : bytes(n + 256) {
    CU(cuMemAlloc, &at, bytes);
    CU(cuMemsetD8, at, 0xa5, bytes);
  }
  ~Buffer() { CU(cuMemFree, at); }
  Buffer(const Buffer&) = delete;
};

void upload(CUdeviceptr to, const std::vector<uint64_t>& v, int bytes) {
  std::vector<unsigned char> raw(v.size() * bytes);
  for (size_t i = 0; i < v.size(); i++) memcpy(&raw[i * bytes], &v[i], bytes);
  if (!raw.empty()) CU(cuMemcpyHtoD, to, raw.data(), raw.size());
}

std::vector<uint64_t> download(CUdeviceptr from, uint64_t rows, int bytes) {
  std::vector<unsigned char> raw(rows * bytes);
  if (!raw.empty()) CU(cuMemcpyDtoH, raw.data(), from, raw.size());
  std::vector<uint64_t> v(rows, 0);
  for (size_t i = 0; i < rows; i++) memcpy(&v[i], &raw[i * bytes], bytes);
  return v;
}

struct Try {
  uint64_t rows[2], domain;
  int key_bytes, columns[2], bytes, bits;
  bool small_output, by_row_id = false;
};

bool one(const driver::Module& kernels, const Try& t, uint64_t seed) {
  std::mt19937_64 random(seed);
  Side side[2];
  for (int s = 0; s < 2; s++) side[s] = random_side(random, t.rows[s], t.domain, t.key_bytes, t.columns[s], t.bytes);
  const auto want = reference(side);
  Shape shape{{t.rows[0], t.rows[1]}, t.key_bytes, {t.columns[0], t.columns[1]}, t.bytes, t.small_output ? 1000 : want.size(), t.by_row_id};
  PartitionedJoin join(kernels, shape, t.bits);
  std::vector<std::unique_ptr<Buffer>> columns;
  std::vector<CUdeviceptr> input[2];
  for (int s = 0; s < 2; s++) {
    auto add = [&](const std::vector<uint64_t>& v, int bytes) {
      columns.push_back(std::make_unique<Buffer>(v.size() * bytes));
      upload(columns.back()->at, v, bytes);
      input[s].push_back(columns.back()->at);
    };
    add(side[s].key, t.key_bytes);
    for (auto& c : side[s].column) add(c, t.bytes);
  }
  constexpr size_t guard = 1 << 20;
  Buffer arena(join.arena_bytes() + guard);
  join.bind(arena.at, input);
  join.enqueue(nullptr);
  CU(cuCtxSynchronize);
  const Result result = join.result();
  std::string wrong;
  if (result.rows != want.size()) wrong = "returned " + std::to_string(result.rows) + " rows instead of " + std::to_string(want.size());
  for (uint64_t b : download(arena.at + join.arena_bytes(), guard / 8, 8))
    if (b != 0xa5a5a5a5a5a5a5a5ull) wrong = "wrote behind its arena";
  if (wrong.empty() && !t.small_output) {
    const auto at = join.output();
    std::vector<Row> got(want.size());
    for (size_t c = 0; c < at.size(); c++) {
      const auto v = download(at[c], want.size(), c ? t.bytes : t.key_bytes);
      for (size_t i = 0; i < v.size(); i++) got[i].push_back(v[i]);
    }
    std::sort(got.begin(), got.end());
    for (size_t i = 0; i < want.size() && wrong.empty(); i++)
      if (got[i] != want[i]) wrong = "differs at sorted row " + std::to_string(i);
  }
  if (wrong.empty()) return true;
  printf("seed %llu: %llu x %llu rows, %llu keys of %d bytes, %d+%d columns of %d bytes, %d bits%s%s: %s\n", (unsigned long long)seed,
         (unsigned long long)t.rows[0], (unsigned long long)t.rows[1], (unsigned long long)t.domain, t.key_bytes, t.columns[0], t.columns[1], t.bytes, t.bits,
         t.small_output ? ", small output" : "", t.by_row_id ? ", by row id" : "", wrong.c_str());
  return false;
}

}  // namespace

bool check_joins(const driver::Module& kernels) {
  std::random_device device;
  const uint64_t seed = device();
  printf("seed %llu\n", (unsigned long long)seed);
  uint64_t done = 0, failed = 0;
  auto run = [&](const Try& t) {
    failed += !one(kernels, t, seed + done);
    done++;
  };
  // Every kernel variant, in one pass and in two.
  for (int key : {4, 8})
    for (int bytes : {4, 8})
      for (int b : {0, 1, 2, 3, 4})
        for (int p : {0, 1, 2, 3, 4}) {
          const bool all = key == 4 && bytes == 4;
          if (!all && (b % 4 == 3 || !b || p % 4 == 3 || !p)) continue;
          for (int bits : {-1, 10})
            for (bool by_row_id : {false, true}) run({{20000, 30000}, 15000, key, {b, p}, bytes, bits, false, by_row_id});
        }
  // Sizes around warps and tiles.
  for (uint64_t r : {0, 1, 31, 32, 33, 511, 512, 8191, 8192, 8193})
    for (uint64_t s : {0, 1, 31, 32, 33, 8191, 8192, 8193})
      for (int bits : {-1, 9}) run({{r, s}, r + s + 1, 4, {2, 2}, 4, bits, false});
  // Duplicates: few keys on both sides, build sides of several chunks, one key.
  for (uint64_t domain : {1, 2, 7, 100, 1000})
    for (int key : {4, 8})
      for (int bits : {-1, 0, 4, 12}) {
        const uint64_t rows = domain < 100 ? 1500 : 12000;
        run({{rows, rows}, domain, key, {2, 2}, key, bits, false});
        run({{20000, domain < 100 ? 30u : 300u}, domain, key, {1, 1}, key, bits, false});
        run({{domain < 100 ? 30u : 300u, 60000}, domain, key, {1, 1}, key, bits, false});
      }
  // Results that do not fit are counted, and nothing is written out of place.
  for (int bits : {-1, 10}) run({{3000, 3000}, 10, 4, {2, 2}, 4, bits, true});
  printf("%llu joins, %llu wrong\n", (unsigned long long)done, (unsigned long long)failed);
  return failed == 0;
}
