// Compression of rows, on the host. Cases come from compress_test.go, which compares the chunks with
// those of package packing; that rows come back, and that no other byte is written, is
// compared here.
//
// Numbers are 8 bytes. Input: cases, and for each of them its seed, words of a key and of a row, shared bits,
// blocks, parcels, and parts: for each of these its parcel, partition, number of rows and rows of words of 4 bytes. Output: for each case
// the number of rows or bytes that are wrong; then for each parcel its chunks, units in use, places and units.
#include "cuda.hpp"
#include "memory.hpp"

#include <random>

#include "agent/compress.cuh"

using namespace gj;

namespace {

constexpr int threads = 64;

std::mt19937_64 random_bits(3);

uint64_t number() {
  uint64_t v = 0;
  if (fread(&v, 1, sizeof v, stdin) != sizeof v) exit(2);
  return v;
}

void write(const void* from, size_t bytes) { fwrite(from, 1, bytes, stdout); }
void write_number(uint64_t v) { write(&v, sizeof v); }

// A buffer of rows, with lanes as in layout/row.cuh.
struct Rows {
  std::vector<uint8_t> memory;
  std::vector<gj_row_word> words;

  Rows(uint32_t count, uint64_t capacity) : memory(4 * count * capacity) {
    for (uint8_t& b : memory) b = (uint8_t)random_bits();
    uint64_t at = reinterpret_cast<uint64_t>(memory.data());
    for (uint32_t w = 0; w < count;) {
      const uint32_t lane = w == 0 && count % 2 ? 1 : w < 2 && count % 4 / 2 ? 2 : 4;
      for (uint32_t q = 0; q < lane; q++) words.push_back({at + 4 * q, 4 * lane});
      at += 4 * lane * capacity, w += lane;
    }
  }
  uint32_t& word(uint32_t w, uint64_t row) { return *reinterpret_cast<uint32_t*>(words[w].at + row * words[w].stride); }
};

template <int KW>
void check(uint32_t words, uint32_t shared, uint32_t blocks) {
  const uint64_t parcels = number();
  std::vector<gj_row_part> parts(number());
  std::vector<std::vector<uint32_t>> content;
  uint64_t chunks = 0, next = 3;
  std::vector<gj_parcel> parcel(parcels);
  std::vector<uint64_t> of(parcels);  // chunks
  for (gj_row_part& p : parts) {
    p.parcel = number(), p.partition = number(), p.rows = number();
    p.row = next, p.chunk = chunks;
    if (of[p.parcel] == 0) parcel[p.parcel].chunk = chunks;
    const uint64_t n = (p.rows + GJ_CHUNK_ROWS - 1) / GJ_CHUNK_ROWS;
    chunks += n, of[p.parcel] += n, next += p.rows + 1 + random_bits() % 40;
    content.emplace_back(p.rows * words);
    if (fread(content.back().data(), 4, content.back().size(), stdin) != content.back().size()) exit(2);
  }
  Rows from(words, next), to(words, next);
  for (size_t i = 0; i < parts.size(); i++)
    for (uint64_t r = 0; r < parts[i].rows; r++)
      for (uint32_t w = 0; w < words; w++) from.word(w, parts[i].row + r) = content[i][r * words + w];
  const Rows before = from;
  Memory memory;
  for (uint64_t i = 0; i < parcels; i++) {
    parcel[i].places = memory.take_cleared(of[i]), parcel[i].used = memory.take_cleared(1);
    uint64_t bytes = 0;
    for (const gj_row_part& p : parts)
      if (p.parcel == i) bytes += p.rows * words * 4 + (p.rows + GJ_CHUNK_ROWS - 1) / GJ_CHUNK_ROWS * 2 * GJ_CHUNK_UNIT;
    parcel[i].data = memory.take(bytes);
  }
  gj_compression c{};
  auto at = [](const auto& list) { return reinterpret_cast<uint64_t>(list.data()); };
  c.words = at(from.words), c.word_count = words, c.shared_bits = shared, c.parts = at(parts), c.part_count = parts.size();
  c.parcels = at(parcel), c.chunks = chunks;
  static CompressShared s;
  memset((void*)&s, 0xcd, sizeof s);
  host::launch(blocks, threads, [&] { compress_rows<KW, threads>(&c, s); });
  uint64_t wrong = memcmp(from.memory.data(), before.memory.data(), from.memory.size()) != 0;
  // Where they arrive, rows are in other places.
  Rows expected = to;
  uint64_t row = 1;
  for (size_t i = 0; i < parts.size(); i++) {
    parts[i].row = row, row += parts[i].rows;
    for (uint64_t r = 0; r < parts[i].rows; r++)
      for (uint32_t w = 0; w < words; w++)
        memcpy(expected.memory.data() + (to.words[w].at - at(to.memory)) + (parts[i].row + r) * to.words[w].stride, &content[i][r * words + w], 4);
  }
  c.words = at(to.words);
  static ChunkColumns columns;
  memset((void*)&columns, 0xcd, sizeof columns);
  host::launch(blocks, threads, [&] { expand_rows<KW, threads>(&c, columns); });
  wrong += memcmp(to.memory.data(), expected.memory.data(), to.memory.size()) != 0;
  write_number(wrong);
  for (uint64_t i = 0; i < parcels; i++) {
    const uint32_t used = *reinterpret_cast<const uint32_t*>(parcel[i].used);
    write_number(of[i]), write_number(used);
    write(reinterpret_cast<const void*>(parcel[i].places), 4 * of[i]);
    write(reinterpret_cast<const void*>(parcel[i].data), (size_t)used * GJ_CHUNK_UNIT);
  }
}

}  // namespace

int main() {
  for (uint64_t cases = number(); cases; cases--) {
    gj_hash_seed = number();
    const uint64_t key_words = number(), words = number(), shared = number(), blocks = number();
    if (key_words == 1)
      check<1>((uint32_t)words, (uint32_t)shared, (uint32_t)blocks);
    else
      check<2>((uint32_t)words, (uint32_t)shared, (uint32_t)blocks);
  }
}
