// Runs Bloom filters on the host: no row with a match is lost, none is copied
// twice or in part, and of the others as few are left as the filter promises.
#include "bloom.hpp"

#include <cmath>
#include <random>
#include <set>
#include <string>

using namespace gj;

namespace {

std::mt19937_64 random_bits(12);

constexpr uint32_t tile = KeepLayout<1, reduction_threads, reduction_vectors>::tile;

// Keys of a side.
using Keys = std::vector<uint64_t>;

template <int KW>
std::string text_of(const Keys& keys) {
  std::string text;
  for (uint64_t k : keys) text.append(reinterpret_cast<const char*>(&k), KW * 4);
  return text;
}

template <int KW>
uint64_t masked(uint64_t key) {
  return KW == 1 ? (uint32_t)key : key;
}

int checks = 0, wrong = 0;

void expect(bool right, const std::string& what) {
  checks++;
  if (right) return;
  wrong++;
  printf("%s\n", what.c_str());
}

// Reduces, checks what is left, and returns how many rows without a match are.
template <int KW>
uint32_t check(const std::string& name, const Keys& build, const Keys& probe, uint32_t words, uint32_t capacity) {
  const std::vector<int> widths = {4, 1, 16, 2, 8};
  Memory memory;
  std::vector<std::string> column;
  Input in[2] = {{(uint32_t)build.size(), memory.take(text_of<KW>(build)), {}}, {(uint32_t)probe.size(), memory.take(text_of<KW>(probe)), {}}};
  for (int width : widths) {
    column.emplace_back(probe.size() * width, 0);
    for (char& b : column.back()) b = (char)random_bits();
    if (width == 4)
      for (uint32_t i = 0; i < probe.size(); i++) memcpy(&column.back()[4 * i], &i, 4);  // which row it is
    in[1].column.push_back(memory.take(column.back()));
  }
  const Input left = reduced<KW>(memory, in[0], in[1], widths, words, capacity);
  const uint32_t written = std::min(left.rows, capacity);
  std::set<uint64_t> partners;
  for (uint64_t k : build) partners.insert(masked<KW>(k));
  std::vector<bool> seen(probe.size());
  bool whole = true;
  for (uint32_t i = 0; i < written && whole; i++) {
    const uint32_t row = reinterpret_cast<uint32_t*>(left.column[0])[i];
    whole = row < probe.size() && !seen[row] && !memcmp(reinterpret_cast<char*>(left.key) + i * KW * 4, &probe[row], KW * 4);
    for (size_t k = 0; k < widths.size() && whole; k++)
      whole = !memcmp(reinterpret_cast<char*>(left.column[k]) + (size_t)i * widths[k], &column[k][(size_t)row * widths[k]], widths[k]);
    if (whole) seen[row] = true;
  }
  // Nothing is written behind the end.
  for (size_t k = 0; k < widths.size(); k++)
    whole &= *reinterpret_cast<uint8_t*>(left.column[k] + (uint64_t)capacity * widths[k]) == 0xa5;
  whole &= *reinterpret_cast<uint32_t*>(left.key + (uint64_t)capacity * KW * 4) == 0xa5a5a5a5u;
  uint32_t matched = 0, kept = 0;
  for (size_t i = 0; i < probe.size(); i++)
    if (partners.count(masked<KW>(probe[i]))) matched++, kept += seen[i];
  const bool all = left.rows > capacity ? left.rows >= matched : kept == matched;
  expect(whole && all, name + ", key of " + std::to_string(KW * 4) + " bytes, " + std::to_string(build.size()) + " x " + std::to_string(probe.size()) +
                           " rows, " + std::to_string(words) + " words: " + std::to_string(kept) + " of " + std::to_string(matched) + " matches, " +
                           std::to_string(left.rows) + " rows" + (whole ? "" : ", not as they were"));
  return left.rows - matched;
}

Keys random_keys(uint32_t n, uint64_t below, uint64_t from = 0) {
  Keys keys;
  for (uint32_t i = 0; i < n; i++) keys.push_back((from + random_bits() % below) * 0x9e3779b97f4a7c15ull >> 8);
  return keys;
}

// The share of rows without a match that pass a filter whose words have keys
// keys on average: each half of a word of n keys has a bit with 1 - (31/32)^2n.
double left_of(double keys) {
  double sum = 0, poisson = std::exp(-keys);
  for (int n = 0; n < 200; poisson *= keys / ++n) sum += poisson * std::pow(1 - std::pow(31. / 32, 2 * n), 4);
  return sum;
}

template <int KW>
void check_sizes() {
  for (uint32_t build : {0, 1, 31, 32, 33, 1000})
    for (uint32_t probe : {0u, 1u, 31u, 32u, 33u, tile - 1, tile, tile + 1, 5 * tile + 3})
      check<KW>("sizes", random_keys(build, 1500), random_keys(probe, 3000), build / 8 + 1, probe);
}

template <int KW>
void check_shares() {
  constexpr uint32_t build = 4000, probe = 8 * tile;
  Keys in = random_keys(build, 1u << 31), all, few;
  for (uint32_t i = 0; i < probe; i++) all.push_back(in[random_bits() % build]);
  for (uint32_t i = 0; i < probe; i++) few.push_back(i % 16 ? random_bits() : all[i]);
  expect(check<KW>("all match", in, all, build / 8, probe) == 0, "all match: more rows than there are");
  check<KW>("few match", in, few, build / 8, probe);
  check<KW>("no build rows", {}, few, 8, probe);
  expect(check<KW>("no build rows", {}, few, 8, probe) == 0, "rows are left by an empty filter");
  check<KW>("too little space", in, all, build / 8, probe / 2 + 1);
  check<KW>("no room", in, all, build / 8, 0);
}

// Keys that all meet in one word, and probe keys that are chosen to pass.
template <int KW>
void check_adversarial() {
  constexpr uint32_t words = 64;
  auto place = [](uint64_t k, uint32_t of) {
    const uint32_t word[2] = {(uint32_t)k, (uint32_t)(k >> 32)};
    uint32_t key[KW];
    std::copy(word, word + KW, key);
    return filter_bits(key, of);
  };
  Keys crowd, others, passing;
  while (crowd.size() < 300) {
    const uint64_t k = random_bits();
    (place(k, words).word == 7 ? crowd : others).push_back(k);
  }
  check<KW>("one word has all keys", crowd, others, words, others.size());
  check<KW>("one key has all rows", Keys(3000, 77), Keys(2 * tile, 77), words, 2 * tile);
  check<KW>("one word is all there is", random_keys(200, 1000), random_keys(2 * tile, 2000), 1, 2 * tile);
  Keys build = random_keys(500, 1u << 30);
  std::vector<uint2> filter(words);
  for (uint64_t k : build) {
    const FilterBits f = place(k, words);
    filter[f.word].x |= f.bits().x, filter[f.word].y |= f.bits().y;
  }
  while (passing.size() < 2 * tile) {
    const uint64_t k = random_bits();
    const FilterBits f = place(k, words);
    if (f.within(filter[f.word])) passing.push_back(k);
  }
  std::set<uint64_t> partners;
  for (uint64_t k : build) partners.insert(masked<KW>(k));
  uint32_t none = 0;
  for (uint64_t k : passing) none += !partners.count(masked<KW>(k));
  expect(check<KW>("keys that pass", build, passing, words, 2 * tile) == none, "keys that pass do not");
}

// As few rows are left as there should be, also where the build side's keys
// follow each other.
template <int KW>
void check_rate() {
  constexpr uint32_t build = 20000, probe = 200000;
  for (bool dense : {false, true})
    for (uint32_t keys_a_word : {4, 8}) {
      std::set<uint64_t> partners;
      for (uint64_t i = 0; i < build; i++) partners.insert(masked<KW>(dense ? i : random_bits()));
      Keys without;
      while (without.size() < probe) {
        const uint64_t k = dense ? build + without.size() : masked<KW>(random_bits());
        if (!partners.count(k)) without.push_back(k);
      }
      const double got = check<KW>("rate", Keys(partners.begin(), partners.end()), without, build / keys_a_word, probe) / (double)probe;
      const double want = left_of(keys_a_word);
      expect(std::abs(got - want) < 0.1 * want, "of rows without a match " + std::to_string(got) + " are left in place of " + std::to_string(want));
    }
}

template <int KW>
void check_all() {
  gj_hash_seed = random_bits();
  check_sizes<KW>();
  check_shares<KW>();
  check_adversarial<KW>();
  check_rate<KW>();
}

}  // namespace

int main() {
  check_all<1>();
  check_all<2>();
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
