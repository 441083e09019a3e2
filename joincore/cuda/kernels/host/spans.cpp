// Copies of pieces by threads, on the host: all their bytes arrive, none beside them is
// written, and the mark is set by the last block alone.
#include "cuda.hpp"
#include "memory.hpp"

#include <random>

#include "agent/spans.cuh"

using namespace gj;

namespace {

constexpr int threads = 64, units = 2;
constexpr uint64_t tile = threads * units * 16;

std::mt19937_64 random_bits(5);

// Pieces of these bytes begin at random places; returns what is wrong.
const char* copied(const std::vector<uint64_t>& bytes, uint32_t blocks) {
  Memory memory;
  uint64_t all = 64;
  for (uint64_t b : bytes) all += b + 64;
  std::string source(all, 0), target(all, 0);
  for (char& c : source) c = (char)random_bits();
  for (char& c : target) c = (char)random_bits();
  gj_spans s{};
  const uint64_t from = memory.take(source), to = memory.take(target);
  uint64_t source_at = 0, target_at = 0;
  s.count = bytes.size();
  for (size_t i = 0; i < bytes.size(); i++) {
    const uint64_t skip = random_bits() % 16;  // equal modulo 16, at different distances
    const uint64_t f = source_at + skip, t = target_at + skip + 16 * (random_bits() % 2);
    s.from[i] = from + f, s.to[i] = to + t, s.bytes[i] = bytes[i];
    target.replace(t, bytes[i], source, f, bytes[i]);
    source_at = (f + bytes[i] + 16) / 16 * 16, target_at = (t + bytes[i] + 16) / 16 * 16;
  }
  s.ended = memory.take_cleared(1), s.mark = memory.take_cleared(2), s.content = 77;
  const uint64_t* mark = reinterpret_cast<const uint64_t*>(s.mark);
  bool early = false;
  host::launch(blocks, threads, [&] {
    if (threadIdx.x == 0 && *mark != 0) early = true;
    copy_spans<threads, units>(s);
  });
  if (early) return "a block was still to come when the mark was set";
  if (*mark != 77) return "the mark is not set";
  if (*reinterpret_cast<const uint32_t*>(s.ended) != 0) return "the counter is not 0 afterwards";
  if (memcmp(reinterpret_cast<const void*>(to), target.data(), all) != 0) return "the bytes are not those expected";
  return nullptr;
}

}  // namespace

int main() {
  int checks = 0, wrong = 0;
  const std::vector<std::vector<uint64_t>> cases = {
      {},         {1},        {15},          {16},           {17},        {31},
      {tile - 1}, {tile},     {tile + 1},    {3 * tile + 5}, {0, 5},      {5, 0, 7},
      {16, 16},   {tile, 40}, {40, 2 * tile}, {1, 2, 3, 4, 5, 6, 7, 8}, {tile, tile + 16, 9, 5 * tile, 0, 33, 2 * tile - 16, 100},
  };
  for (const auto& bytes : cases)
    for (uint32_t blocks : {1u, 2u, 3u, 7u})
      for (int round = 0; round < 8; round++) {
        checks++;
        if (const char* what = copied(bytes, blocks)) {
          wrong++;
          printf("%s: %zu pieces, the first of %llu bytes, %u blocks\n", what, bytes.size(), bytes.empty() ? 0ull : (unsigned long long)bytes[0], blocks);
        }
      }
  printf("%d copies, %d wrong\n", checks, wrong);
  return wrong != 0;
}
