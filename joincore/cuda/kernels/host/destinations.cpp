// Partition passes that write by tables of destinations, on the host: into the
// side's own buffers, and into allocations that lie apart, in any order, and
// with too little space.
#include "cuda.hpp"
#include "memory.hpp"

#include <array>
#include <random>

#include "agent/destination.cuh"
#include "agent/histogram.cuh"
#include "entry/partition.cuh"

using namespace gj;

namespace {

constexpr int threads = 256, rows_each = 4, blocks = 3, fan = 256;
constexpr uint32_t origin = 0x60000000;

std::mt19937_64 random_bits(7);
int checks = 0, wrong = 0;

void expect(bool right, const char* what, int words, int first_bits, int second_bits, uint32_t rows) {
  checks++;
  if (right) return;
  wrong++;
  printf("%s: rows of %d words, bits %d+%d, %u rows\n", what, words, first_bits, second_bits, rows);
}

// A side of one join with its columns on the host.
template <int KW, class P>
struct Bed {
  static constexpr int W = KW + P::words, lanes = LaneList<W>::count;
  using Words = std::array<uint32_t, W>;
  Memory memory;
  gj_join job{};
  gj_side& side = job.side[0];
  std::vector<Words> rows;
  uint32_t partitions;

  Bed(uint32_t n, int first_bits, int second_bits, bool hot) : rows(n), partitions(1u << (first_bits + second_bits)) {
    job.bits_first = first_bits, job.bits_second = second_bits, job.chunk_rows = job.range_rows = 1;
    job.extra = memory.take(8 * (partitions + 5));
    std::string key, column[GJ_MAX_COLUMNS];
    for (uint32_t i = 0; i < n; i++) {
      for (uint32_t& w : rows[i]) w = (uint32_t)random_bits();
      if (hot && i % 3)
        for (int q = 0; q < KW; q++) rows[i][q] = 5;
      if (P::kind == PayloadKind::row_id) rows[i][KW] = origin + i;
      key.append(reinterpret_cast<char*>(&rows[i]), 4 * KW);
      for (int c = 0; c < P::words; c++) column[c].append(reinterpret_cast<char*>(&rows[i][KW + c]), 4);
    }
    side.rows = n;
    side.key = memory.take(key);
    if (P::kind == PayloadKind::row_id)
      side.column[1] = origin;
    else
      for (int c = 0; c < P::words; c++) side.column[c] = memory.take(column[c]);
    const uint32_t items = std::max(4u, partitions);
    for (uint64_t* table : {&side.count, &side.start, &side.cursor, &side.tail}) *table = memory.take_cleared(items);
    for (uint64_t* table : {&side.parent_count, &side.parent_start, &side.parent_cursor, &side.parent_tail}) *table = memory.take(4 << first_bits);
    job.side[1] = side;
    job.side[1].rows = 0;
    job.side[1].count = memory.take_cleared(items);
    for (uint64_t* table : {&job.side[1].start, &job.side[1].cursor, &job.side[1].tail}) *table = memory.take(4 * items);
    for (uint64_t* table : {&job.side[1].parent_count, &job.side[1].parent_start, &job.side[1].parent_cursor, &job.side[1].parent_tail})
      *table = memory.take(4 << first_bits);
    side.first_capacity = (n + (first_align << first_bits) + 63) / 64 * 64;
    side.final_capacity = (n + final_align * partitions + 63) / 64 * 64;
    side.first = memory.take(side.first_capacity * 4 * W);
    side.final = memory.take(side.final_capacity * 4 * W);
    host::launch(2, threads, [&] { histogram_side<KW, threads, false, false>(&job, 0, blockIdx.x, gridDim.x); });
    host::launch(4, threads, [&] { offsets<threads>(&job, 1); });
  }

  const uint32_t* count() const { return reinterpret_cast<const uint32_t*>(side.count); }

  // The rows of each partition in order.
  std::vector<std::vector<Words>> want() const {
    std::vector<std::vector<Words>> out(partitions);
    for (const Words& row : rows) {
      uint32_t key[KW];
      std::copy(row.begin(), row.begin() + KW, key);
      out[partitions > 1 ? hash_words(key).part >> (32 - job.bits_first - job.bits_second) : 0].push_back(row);
    }
    for (auto& p : out) std::sort(p.begin(), p.end());
    return out;
  }

  // The rows that a table's destinations have.
  std::vector<std::vector<Words>> got(const gj_destination* table) const {
    std::vector<std::vector<Words>> out(partitions);
    for (uint32_t p = 0; p < partitions; p++) {
      for (uint32_t i = 0; i < count()[p]; i++) {
        Words row;
        for (int l = 0, w = 0; l < lanes; l++) {
          const int bytes = LaneList<W>::bytes(l);
          memcpy(&row[w], reinterpret_cast<const char*>(table[p * lanes + l].at) + (size_t)i * bytes, bytes);
          w += bytes / 4;
        }
        out[p].push_back(row);
      }
      std::sort(out[p].begin(), out[p].end());
    }
    return out;
  }

  // Both passes; false: nothing was written, for a partition lacks space.
  bool run(const gj_destination* parents, const gj_destination* table, uint64_t& lacking) {
    lacking = nothing_lacks;
    host::launch(2, threads, [&] { find_lacking(&job, &side, table, lanes, &lacking); });
    if (lacking != nothing_lacks) return false;
    static Places<W, fan> places;
    auto first = [&](const auto& source) {
      host::launch(blocks, threads, [&] {
        scatter<KW, W, threads, rows_each, 8, fan>(source, first_table<W, fan>(&job, &side, job.bits_second ? parents : table, &places));
      });
    };
    if constexpr (P::kind == PayloadKind::row_id)
      first(KeyedRows<KW>(&side));
    else
      first(ColumnSource<KW, P>(&side));
    if (job.bits_second)
      host::launch(blocks, threads, [&] {
        scatter<KW, W, threads, rows_each, 1, fan>(BufferSource<W>(&job, &side), second_table<W, fan>(&job, &side, table, &places));
      });
    return true;
  }
};

template <int KW, class P>
void check(uint32_t rows, int first_bits, int second_bits, bool hot) {
  gj_hash_seed = random_bits();
  using Rig = Bed<KW, P>;
  auto say = [&](bool right, const char* what) { expect(right, what, Rig::W, first_bits, second_bits, rows); };
  uint64_t lacking;
  Rig own(rows, first_bits, second_bits, hot);
  std::vector<gj_destination> parents(Rig::lanes << first_bits), table(Rig::lanes * own.partitions);
  host::launch(2, threads, [&] { own_destinations<Rig::W>(&own.job, &own.side, parents.data(), table.data()); });
  say(own.run(parents.data(), table.data(), lacking), "own buffers lack space");
  say(own.got(table.data()) == own.want(), "own buffers");
  uint64_t end = 0;  // partitions lie one after the other
  for (uint32_t p = 0; p < own.partitions; p++) {
    const uint64_t at = table[p * Rig::lanes].at;
    say(at >= end && at >= own.side.final, "own buffers overlap");
    end = at + (uint64_t)own.count()[p] * LaneList<Rig::W>::bytes(0);
  }

  // Allocations of just the size, apart; their ends stay as they were.
  std::vector<uint32_t> order(own.partitions);
  for (uint32_t p = 0; p < own.partitions; p++) order[p] = p;
  std::shuffle(order.begin(), order.end(), random_bits);
  Rig apart(rows, first_bits, second_bits, hot);
  for (uint32_t p : order)
    for (int l = 0; l < Rig::lanes; l++) table[p * Rig::lanes + l] = {apart.memory.take((size_t)apart.count()[p] * LaneList<Rig::W>::bytes(l)), apart.count()[p]};
  host::launch(2, threads, [&] { own_destinations<Rig::W>(&apart.job, &apart.side, parents.data(), nullptr); });
  say(apart.run(parents.data(), table.data(), lacking), "allocations lack space");
  say(apart.got(table.data()) == apart.want(), "allocations apart");
  bool clean = true;
  for (uint32_t p = 0; p < apart.partitions; p++)
    for (int l = 0; l < Rig::lanes; l++) {
      const char* behind = reinterpret_cast<const char*>(table[p * Rig::lanes + l].at) + (size_t)apart.count()[p] * LaneList<Rig::W>::bytes(l);
      for (int i = 0; i < 256; i++) clean = clean && behind[i] == (char)0xa5;
    }
  say(clean, "written behind an allocation");

  // Two partitions lack rows: the first one is named.
  Rig small(rows, first_bits, second_bits, false);
  std::vector<uint32_t> full;
  for (uint32_t p = 0; p < small.partitions; p++) {
    if (small.count()[p] > 1) full.push_back(p);
    for (int l = 0; l < Rig::lanes; l++) table[p * Rig::lanes + l] = {small.memory.take((size_t)small.count()[p] * LaneList<Rig::W>::bytes(l)), small.count()[p]};
  }
  if (full.size() < 2) return;
  const uint32_t first = full[(full.size() - 1) / 2], last = full.back();
  table[first * Rig::lanes + Rig::lanes - 1].rows -= 2;
  table[last * Rig::lanes].rows -= 1;
  say(!small.run(parents.data(), table.data(), lacking) && lacking == ((uint64_t)first << 32 | 2), "who lacks space");
}

}  // namespace

int main() {
  using RowId = Payload<PayloadKind::row_id, 1>;
  for (uint32_t rows : {0, 1, 33, 1025}) {
    check<1, RowId>(rows, 3, 0, false);
    check<2, RowId>(rows, 3, 2, false);
  }
  check<1, RowId>(3000, 3, 3, true);
  check<2, RowId>(3000, 3, 0, true);
  check<1, RowId>(3000, 8, 0, false);
  check<1, Payload<PayloadKind::column, 3>>(3000, 3, 3, true);
  check<2, Payload<PayloadKind::column, 4>>(3000, 3, 2, false);
  check<1, Payload<PayloadKind::column, 4>>(3000, 4, 0, false);
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
