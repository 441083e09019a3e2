// Hot keys of joins over several devices, on the host: the devices' samples become one,
// the build row of each hot key is found, and every probe row is bypassed or kept.
#include "cuda.hpp"
#include "memory.hpp"

#include <map>
#include <random>
#include <set>

#include "agent/histogram.cuh"
#include "agent/hot.cuh"
#include "agent/keep.cuh"

using namespace gj;

namespace {

constexpr int threads = 256, vectors = 2;
constexpr uint32_t often = 4;

std::mt19937_64 random_bits(13);
int checks = 0, wrong = 0;

void expect(bool right, const char* what, int words, uint32_t members, uint32_t rows) {
  checks++;
  if (right) return;
  wrong++;
  printf("%s: keys of %d words, %u members, %u probe rows\n", what, words, members, rows);
}

template <int KW>
struct Keys {
  std::vector<uint64_t> list;
  std::string text() const {
    std::string t;
    for (uint64_t k : list) t.append(reinterpret_cast<const char*>(&k), 4 * KW);
    return t;
  }
};

template <int KW>
uint64_t key_at(uint64_t at, uint64_t i) {
  uint64_t k = 0;
  memcpy(&k, reinterpret_cast<const char*>(at) + i * 4 * KW, 4 * KW);
  return k;
}

// One device: keys of both sides, and a build column of 8 bytes that follows from the key.
template <int KW>
struct Member {
  Keys<KW> build, probe;
  gj_join job{};
  std::string column;
  std::vector<gj_field> fields;
  uint64_t hot_keys, hot_column;
};

template <int KW>
void check_hot(uint32_t members, uint32_t rows) {
  gj_hash_seed = random_bits();
  Memory memory;
  std::vector<Member<KW>> all(members);
  std::map<uint64_t, uint32_t> in_build;
  // Keys below 8 are half of the probe rows; 3 has two build rows on different devices, 5
  // two on one of them, and 6 none.
  for (uint32_t k = 0; k < 3000; k++)
    if (k != 6) all[k % members].build.list.push_back(k);
  all[4 % members].build.list.push_back(3);
  all[5 % members].build.list.push_back(5);
  for (auto& m : all)
    for (uint64_t k : m.build.list) in_build[k]++;
  for (uint32_t i = 0; i < rows; i++) all[random_bits() % 3 ? 0 : random_bits() % members].probe.list.push_back(i % 2 ? random_bits() % 8 : random_bits() % 100000);
  uint64_t before = 0;
  std::string sampled;
  for (auto& m : all) {
    m.job.side[1].rows = m.probe.list.size(), m.job.side[1].key = memory.take(m.probe.text());
    const uint32_t n = (uint32_t)((before + m.probe.list.size()) * GJ_SAMPLE_SLOTS / rows - before * GJ_SAMPLE_SLOTS / rows);
    before += m.probe.list.size();
    const uint64_t to = memory.take(n * 4 * KW);
    host::launch(3, threads, [&] { sample_keys<KW>(&m.job, n, to); });
    bool drawn = true;
    for (uint32_t i = 0; i < n; i++) {
      const uint64_t low = (uint64_t)i * m.probe.list.size() / n, high = ((uint64_t)i + 1) * m.probe.list.size() / n;
      bool found = false;
      for (uint64_t r = low; r <= high && r < m.probe.list.size(); r++) found = found || m.probe.list[r] == key_at<KW>(to, i);
      drawn = drawn && found;
    }
    expect(drawn, "sampled keys", KW, members, rows);
    sampled.append(reinterpret_cast<const char*>(to), n * 4 * KW);
  }
  expect(sampled.size() == GJ_SAMPLE_SLOTS * 4 * KW, "size of the sample", KW, members, rows);
  std::map<uint64_t, uint32_t> count;
  for (uint32_t i = 0; i < GJ_SAMPLE_SLOTS; i++) count[key_at<KW>(reinterpret_cast<uint64_t>(sampled.data()), i)]++;
  std::vector<const gj_sample*> samples;
  for (auto& m : all) {
    m.job.bits_first = 3, m.job.bits_second = 2;
    m.job.side[0].rows = m.build.list.size(), m.job.side[0].key = memory.take(m.build.text());
    m.job.side[0].count = memory.take_cleared(32);
    m.job.side[1].rows = GJ_SAMPLE_SLOTS, m.job.side[1].key = memory.take(sampled);
    m.job.sample = memory.take_cleared(sizeof(gj_sample) / 4);
    for (uint64_t k : m.build.list) k *= 1000003, m.column.append(reinterpret_cast<const char*>(&k), 8);
    m.hot_keys = memory.take(GJ_HOT_KEYS * 4 * KW), m.hot_column = memory.take(GJ_HOT_KEYS * 8);
    m.fields = {{memory.take(m.column), 8, m.hot_column, 8, 8}};
    m.job.side[0].fields = reinterpret_cast<uint64_t>(m.fields.data()), m.job.side[0].field_count = 1;
    host::launch(2, threads, [&] { histogram_side<KW, threads, false, true>(&m.job, 0, blockIdx.x, gridDim.x); });
    host::launch(1, threads, [&] { sum_sample<threads>(&m.job, often); });
    host::launch(1, threads, [&] { copy_hot_rows<KW>(&m.job, m.hot_keys); });
    samples.push_back(reinterpret_cast<const gj_sample*>(m.job.sample));
  }
  bool equal = true, right = true;
  std::set<uint64_t> hot;
  for (uint32_t slot = 0; slot < GJ_SAMPLE_SLOTS; slot++) {
    uint32_t matches = 0, owner = 0;
    for (uint32_t m = 0; m < members; m++) {
      equal = equal && samples[m]->entry[slot] == samples[0]->entry[slot] && samples[m]->count[slot] == samples[0]->count[slot];
      matches += samples[m]->matches[slot];
      if (samples[m]->matches[slot]) owner = m;
    }
    if (samples[0]->count[slot] < often || matches != 1) continue;
    const uint32_t h = samples[owner]->hot[slot];
    const uint64_t key = key_at<KW>(all[owner].hot_keys, h);
    right = right && count[key] == samples[0]->count[slot] && in_build[key] == 1 && reinterpret_cast<uint64_t*>(all[owner].hot_column)[h] == key * 1000003;
    hot.insert(key);
  }
  expect(equal, "equal samples", KW, members, rows);
  expect(right, "hot build rows", KW, members, rows);
  expect(!hot.empty() && !hot.count(3) && !hot.count(5) && !hot.count(6), "hot keys", KW, members, rows);
}

// Rows that the bypass has not joined are kept, each once.
template <int KW>
void check_cold(uint32_t rows) {
  Memory memory;
  gj_join job{};
  Keys<KW> keys;
  std::string column;
  std::vector<uint32_t> mask(rows / 32 + 1);
  std::map<uint64_t, int> want;
  for (uint32_t i = 0; i < rows; i++) {
    keys.list.push_back(KW == 1 ? i : random_bits() << 32 | i);
    column.append(reinterpret_cast<const char*>(&i), 4);
    if (random_bits() % 8)
      mask[i / 32] |= 1u << i % 32;
    else
      want[i]++;
  }
  if (rows % 32) mask[rows / 32] |= 0u - (1u << rows % 32);
  job.side[1].rows = rows, job.side[1].key = memory.take(keys.text());
  job.counters = memory.take_cleared(GJ_COUNTERS * 2);
  job.bypassed = reinterpret_cast<uint64_t>(mask.data());
  const uint64_t to = memory.take(want.size() * 4 * KW), moved = memory.take(want.size() * 4);
  gj_field field = {memory.take(column), 4, moved, 4, 4};
  job.side[1].fields = reinterpret_cast<uint64_t>(&field), job.side[1].field_count = 1;
  host::launch(3, threads, [&] { keep_rows<KW, threads, vectors>(&job, ColdKeeps<KW>(&job), to, want.size()); });
  std::map<uint64_t, int> got;
  bool together = true;
  for (size_t i = 0; i < want.size(); i++) {
    const uint32_t row = reinterpret_cast<uint32_t*>(moved)[i];
    got[row]++;
    together = together && row < rows && key_at<KW>(to, i) == keys.list[row];
  }
  expect(reinterpret_cast<uint64_t*>(job.counters)[GJ_KEPT] == want.size(), "number of cold rows", KW, 1, rows);
  expect(got == want && together, "cold rows", KW, 1, rows);
}

}  // namespace

int main() {
  for (uint32_t members : {1, 2, 3, 8}) check_hot<1>(members, 20000), check_hot<2>(members, 8192);
  for (uint32_t rows : {0, 1, 31, 32, 33, 2047, 2048, 2049, 30001}) check_cold<1>(rows), check_cold<2>(rows);
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
