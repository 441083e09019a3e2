// Runs programs on the host: conditions and aggregates that a Go test has compiled,
// over its rows. It reads cases from standard input, as numbers of 8 bytes, and
// writes what comes out; the test compares.
#include "cuda.hpp"
#include "memory.hpp"

#include "agent/aggregate.cuh"
#include "agent/group_table.cuh"
#include "block/condition.cuh"

using namespace gj;

namespace {

constexpr uint32_t threads = 64, blocks = 2;

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
    const uint64_t state = g.words > 1 ? 1 : 0;
    g.stride = state + g.words + g.cell_words;
    const uint64_t records = memory.take(8 * (capacity + 2) * g.stride);
    g.states = state ? records : 0, g.keys = records + 8 * state, g.cells = g.keys + 8 * g.words;
    g.firsts = memory.take(4 * (capacity + 2) * g.inputs);
    host::launch(blocks, threads, [&] { clear_groups(&g); });
  }
};

// R rows at a time, values of 64 or 128 bits, keys of one or several words.
template <int R, bool WIDE>
void run_aggregate(gj_aggregate job, uint64_t words) {
  uint64_t at = sizeof(BlockState);
  if (job.staged) at += 8 * (job.program.length + 1) + sizeof(gj_column) * job.program.column_count;
  job.passed_at = at;
  if (job.filter) at += threads / 32 * PassedRows<R>::bytes;
  job.slots_at = at;
  at += threads / 32 * (job.program.slots + (words > 1 ? words : 0)) * WarpSlots<R>::bytes_each;
  job.local_at = (at + 7) / 8 * 8;
  if (words == 1)
    host::launch(blocks, threads, [&] { aggregate<R, WIDE, true, StagedProgram>(&job); });
  else
    host::launch(blocks, threads, [&] { aggregate<R, WIDE, false, StagedProgram>(&job); });
}

void aggregates(Memory& memory) {
  gj_groups like{};
  gj_aggregate job{};
  job.program = read_program(memory);
  job.filter = number(), job.filter_columns = number();
  uint64_t filter = job.filter, wide = number();
  job.staged = number();
  const uint64_t grouped = number();  // instructions up to the key's group
  job.partitions = number(), job.partition_capacity = number();
  like.words = number(), like.inputs = number(), like.collide = number();
  like.cell_count = number(), like.cell_words = number();
  like.kinds = bytes(memory);
  uint64_t capacity = number();
  job.no_keys = number();
  job.local_capacity = number(), job.local_groups = number(), job.local_probes = number(), job.local_words = number(), job.local_wides = number(), job.copies = number();
  uint64_t rows = number();
  const uint64_t origin_first = number();
  std::string origins;
  for (uint64_t i = 0; i < like.inputs; i++) {
    const gj_origin o{0, 0, origin_first};
    origins.append(reinterpret_cast<const char*>(&o), sizeof o);
  }
  job.origins = memory.take(origins);
  Table table(memory, like, capacity);
  job.groups = reinterpret_cast<uint64_t>(&table.g);
  auto launch = [&](const gj_aggregate& job) {
    if (wide)
      run_aggregate<4, true>(job, like.words);
    else
      run_aggregate<8, false>(job, like.words);
    return *reinterpret_cast<uint64_t*>(job.left_count);
  };
  // Groups rows, and those that are left again in a larger table.
  auto group = [&](gj_aggregate job) {
    for (;;) {
      job.left = memory.take(4 * rows + 4), job.left_count = memory.take_cleared(2);
      const uint64_t left = launch(job);
      if (!left) break;
      job.mode = GJ_DIRECTLY, job.begin = 0, job.filter = filter;
      job.chosen = job.left, job.rows = left;
      capacity *= 2;
      Table larger(memory, like, capacity);
      host::launch(blocks, threads, [&] { move_groups(&table.g, &larger.g); });
      table.g = larger.g;
    }
  };
  // Rows in two launches.
  for (uint64_t part = 0; part < 2; part++) {
    job.first = part ? rows / 2 : 0, job.rows = part ? rows - rows / 2 : rows / 2, job.chosen = 0;
    if (!job.partitions) {
      group(job);
      continue;
    }
    gj_aggregate scatter = job;
    scatter.mode = GJ_SCATTER, scatter.program.length = grouped;
    scatter.partition_rows = memory.take(4 * job.partitions * job.partition_capacity);
    scatter.partition_counts = memory.take_cleared(GJ_COUNTS_APART * job.partitions);
    scatter.left = memory.take(4 * rows + 4), scatter.left_count = memory.take_cleared(2);
    const uint64_t too_many = launch(scatter);
    if (too_many) {
      gj_aggregate rest = job;
      rest.chosen = scatter.left, rest.rows = too_many;
      group(rest);
    }
    gj_aggregate gather = job;
    gather.mode = GJ_GATHER, gather.begin = filter, gather.filter = 0;
    gather.partition_rows = scatter.partition_rows, gather.partition_counts = scatter.partition_counts;
    group(gather);
  }
  // Rows of other inputs, of groups that exist.
  uint64_t failures = *reinterpret_cast<uint64_t*>(job.program.failed);
  for (uint64_t more = number(); more; more--) {
    job.program = read_program(memory);
    filter = 0, wide = number(), rows = number();
    job.filter = job.filter_columns = job.first = job.origins = 0, job.rows = rows, job.chosen = 0;
    group(job);
    failures |= *reinterpret_cast<uint64_t*>(job.program.failed);
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
  write(failures | *reinterpret_cast<uint64_t*>(failed));
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
