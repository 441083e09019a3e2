// Runs programs on the host: conditions and aggregates that a Go test has compiled,
// over its rows. It reads cases from standard input, as numbers of 8 bytes, and
// writes what comes out; the test compares.
#include "cuda.hpp"
#include "memory.hpp"

#include "agent/aggregate.cuh"
#include "block/condition.cuh"

using namespace gj;

namespace {

constexpr uint32_t threads = 32, rows_each = 4, blocks = 2;

uint64_t number() {
  uint64_t v;
  if (fread(&v, 8, 1, stdin) != 1) exit(1);
  return v;
}

void write(const void* from, size_t bytes) { fwrite(from, 1, bytes, stdout); }
void write(uint64_t v) { write(&v, 8); }

// Bytes in memory of the device; none: address 0.
uint64_t bytes(Memory& memory) {
  std::string content(number(), 0);
  if (content.empty()) return 0;
  if (fread(content.data(), 1, content.size(), stdin) != content.size()) exit(1);
  return memory.take(content);
}

gj_program read_program(Memory& memory) {
  gj_program p;
  p.length = number();
  p.slots = number();
  p.code = bytes(memory);
  p.constants = bytes(memory);
  p.column_count = number();
  std::string columns;
  for (uint64_t i = 0; i < p.column_count; i++) {
    gj_column c;
    c.width = number(), c.probe = number();
    c.values = bytes(memory), c.validity = bytes(memory), c.positions = bytes(memory);
    columns.append(reinterpret_cast<char*>(&c), sizeof c);
  }
  p.columns = memory.take(columns);
  p.failed = memory.take_cleared(2);
  return p;
}

// A condition on pairs of rows.
void condition(Memory& memory) {
  const gj_program p = read_program(memory);
  const uint64_t rows = number();
  const uint32_t* pairs = reinterpret_cast<const uint32_t*>(bytes(memory));
  std::string passed(rows, 0);
  host::launch(1, 32, [&] {
    for (uint64_t i = threadIdx.x; i < rows; i += 32) passed[i] = passes(&p, Pair{pairs[2 * i], pairs[2 * i + 1]});
  });
  write(*reinterpret_cast<uint64_t*>(p.failed));
  write(passed.data(), passed.size());
}

struct Table {
  gj_groups g;
  Table(Memory& memory, const gj_groups& like, uint64_t capacity) : g(like) {
    g.capacity = capacity, g.limit = capacity - capacity / 4, g.probes = capacity;
    g.count = memory.take(8), g.special = memory.take(8);
    g.keys = memory.take(8 * capacity * g.words), g.states = memory.take(4 * capacity);
    g.cells = memory.take(8 * (capacity + 2) * g.cell_words), g.firsts = memory.take(4 * (capacity + 2) * g.inputs);
    host::launch(blocks, threads, [&] { clear_groups(&g); });
  }
};

void run_aggregate(const gj_aggregate& job, uint64_t words) {
  if (words == 1)
    host::launch(blocks, threads, [&] { aggregate<threads, rows_each, true>(&job); });
  else
    host::launch(blocks, threads, [&] { aggregate<threads, rows_each, false>(&job); });
}

void aggregates(Memory& memory) {
  gj_groups like{};
  gj_aggregate job{};
  job.program = read_program(memory);
  like.words = number(), like.inputs = number(), like.collide = number();
  like.cell_count = number(), like.cell_words = number();
  like.kinds = bytes(memory);
  uint64_t capacity = number();
  job.no_keys = number();
  job.local_capacity = number(), job.local_words = number(), job.local_wides = number(), job.copies = number();
  const uint64_t rows = number(), origin_first = number();
  std::string origins;
  for (uint64_t i = 0; i < like.inputs; i++) {
    const gj_origin o{0, 0, origin_first};
    origins.append(reinterpret_cast<const char*>(&o), sizeof o);
  }
  job.origins = memory.take(origins);
  Table table(memory, like, capacity);
  job.groups = reinterpret_cast<uint64_t>(&table.g);
  job.left = memory.take(4 * rows + 4);
  // Rows in two launches, and those that are left again.
  for (uint64_t part = 0; part < 2; part++) {
    job.first = part ? rows / 2 : 0, job.rows = part ? rows - rows / 2 : rows / 2, job.chosen = 0;
    for (;;) {
      job.left_count = memory.take_cleared(2);
      run_aggregate(job, like.words);
      const uint64_t left = *reinterpret_cast<uint64_t*>(job.left_count);
      if (!left) break;
      job.chosen = job.left, job.rows = left;
      job.left = memory.take(4 * rows + 4);
      capacity *= 2;
      Table larger(memory, like, capacity);
      host::launch(blocks, threads, [&] { move_groups(&table.g, &larger.g); });
      table.g = larger.g;
    }
  }
  std::vector<uint32_t> list;
  for (uint64_t s = 0; s < table.g.capacity + 2; s++)
    if (has_group(&table.g, s)) list.push_back((uint32_t)s);
  const uint64_t failed = memory.take_cleared(2);
  write(list.size() == *reinterpret_cast<uint64_t*>(table.g.count) ? list.size() : ~0ull);
  const uint64_t results = number();
  for (uint64_t i = 0; i < results; i++) {
    gj_result r{};
    r.groups = job.groups, r.list = reinterpret_cast<uint64_t>(list.data()), r.rows = list.size();
    r.kind = number(), r.width = number(), r.word = number(), r.shift = number(), r.digits = number(), r.null = number();
    r.out = memory.take(r.width * r.rows), r.validity = memory.take(r.rows), r.failed = failed;
    host::launch(blocks, threads, [&] { make_result(&r); });
    write(reinterpret_cast<void*>(r.out), r.width * r.rows);
    write(reinterpret_cast<void*>(r.validity), r.rows);
  }
  write(*reinterpret_cast<uint64_t*>(job.program.failed) | *reinterpret_cast<uint64_t*>(failed));
}

}  // namespace

int main() {
  gj_hash_seed = number();
  for (uint64_t left = number(); left; left--) {
    Memory memory;
    if (number())
      aggregates(memory);
    else
      condition(memory);
  }
}
