// The hash: keys that are chosen to meet under one seed do not under another.
#include "cuda.hpp"
//
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "block/hash.cuh"
#include "block/unhash.cuh"

using namespace gj;

int checks = 0, wrong = 0;

void expect(bool right, const char* what, uint64_t seed) {
  checks++;
  wrong += !right;
  if (!right) printf("%s, seed %llx\n", what, (unsigned long long)seed);
}

template <int KW>
Hash hash_of(uint64_t key) {
  uint32_t word[KW];
  for (int q = 0; q < KW; q++) word[q] = (uint32_t)(key >> 32 * q);
  return hash_words(word);
}

// The most keys that share a partition of 1024, or a bucket of 1024.
template <int KW>
uint32_t most(const std::vector<uint64_t>& keys) {
  std::map<uint32_t, uint32_t> partition, bucket;
  uint32_t most = 0;
  for (uint64_t k : keys) {
    const Hash h = hash_of<KW>(k);
    most = std::max({most, ++partition[h.part >> 22], ++bucket[h.table & 1023]});
  }
  return most;
}

template <int KW>
void check() {
  constexpr uint32_t n = 2000;
  std::mt19937_64 random_bits(KW);
  gj_hash_seed = 0;
  std::vector<uint64_t> chosen;  // of one partition without a seed
  for (uint64_t k = 0; chosen.size() < n; k++)
    if (hash_of<KW>(k).part >> 22 == 0) chosen.push_back(k);
  expect(most<KW>(chosen) == n, "keys that were chosen to meet", 0);
  for (int i = 0; i < 20; i++) {
    gj_hash_seed = random_bits();
    expect(most<KW>(chosen) < 40, "keys that were chosen to meet under another seed", gj_hash_seed);
    std::set<uint64_t> hashes;  // as many as keys: the hash is a bijection for any seed
    for (uint64_t k = 0; k < n; k++) {
      const Hash h = hash_of<KW>(k << 7 | k);
      hashes.insert((uint64_t)h.part << 32 | h.table);
    }
    expect(hashes.size() == n, "keys that differ", gj_hash_seed);
  }
}

// Every key of one word comes back from its hash.
void check_inverse() {
  std::mt19937_64 random_bits(3);
  for (uint64_t seed : {(uint64_t)0, random_bits(), random_bits()}) {
    gj_hash_seed = seed;
    uint32_t lost = 0;
    for (uint32_t i = 0; i < 1 << 20; i++) {
      const uint32_t key[1] = {i < 1 << 10 ? i : i < 1 << 11 ? ~i : (uint32_t)random_bits()};
      lost += unhash(hash_words(key).part) != key[0];
    }
    expect(lost == 0, "keys from hashes", seed);
  }
}

int main() {
  check<1>();
  check<2>();
  check_inverse();
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
