// Runs the sort-merge join's and the no-partitioning join's kernels on the
// host, whole joins, and compares with a join of maps. Payloads of every width
// are drawn from the row's number, so that a result row says where it is from.
#include "cuda.hpp"
#include "memory.hpp"

#include <map>
#include <random>
#include <string>

// The other parts of CUDA that these kernels use.
inline int __ffsll(uint64_t v) { return __builtin_ffsll((long long)v); }

#include "agent/count.cuh"
#include "agent/equal_runs.cuh"
#include "agent/merge.cuh"
#include "agent/npj.cuh"
#include "agent/radix.cuh"
#include "agent/spread.cuh"

using namespace gj;

namespace {

// Tiles as short as the kernels allow: little data fills many.
constexpr int pass_rows = 2, merge_threads = 256, merge_rows = 8, table_threads = 256, table_rows = 4, gather_threads = 64;

struct Case {
  std::string name;
  uint32_t rows[2];
  std::vector<uint64_t> keys[2];
  std::vector<int> widths[2];
  int bits;                 // that are sorted
  bool ids = false;         // row numbers are sorted, payload is gathered by them
  uint64_t short_of = 0;    // the first attempt's result has memory for this number of rows less
};

std::string payload(int side, uint32_t row, int width) {
  uint64_t v[2] = {row * 0x9e3779b97f4a7c15ull + side, row + 77ull * side};
  return std::string(reinterpret_cast<char*>(v), width);
}

using Rows = std::map<std::string, int>;

Rows reference(const Case& c, int key_bytes) {
  std::multimap<uint64_t, uint32_t> build;
  const uint64_t mask = key_bytes == 4 ? ~0u : ~0ull;
  for (uint32_t i = 0; i < c.rows[0]; i++) build.emplace(c.keys[0][i] & mask, i);
  Rows rows;
  for (uint32_t j = 0; j < c.rows[1]; j++) {
    const uint64_t key = c.keys[1][j] & mask;
    const auto partners = build.equal_range(key);
    for (auto p = partners.first; p != partners.second; ++p) {
      std::string row(reinterpret_cast<const char*>(&key), key_bytes);
      for (int w : c.widths[0]) row += payload(0, p->second, w);
      for (int w : c.widths[1]) row += payload(1, j, w);
      rows[row]++;
    }
  }
  return rows;
}

uint64_t count(const Rows& rows) {
  uint64_t n = 0;
  for (const auto& r : rows) n += r.second;
  return n;
}

// A join's inputs and its result in the device's memory.
struct Join {
  Memory memory;
  uint64_t key[2];
  std::vector<uint64_t> column[2], output;
  uint64_t output_key;
  gj_result result{}, gather{};

  Join(const Case& c, int key_bytes, uint64_t rows) {
    for (int s = 0; s < 2; s++) {
      std::string keys;
      for (uint64_t k : c.keys[s]) keys.append(reinterpret_cast<char*>(&k), key_bytes);
      key[s] = memory.take(keys);
      for (int w : c.widths[s]) {
        std::string values;
        for (uint32_t i = 0; i < c.rows[s]; i++) values += payload(s, i, w);
        column[s].push_back(memory.take(values));
        output.push_back(memory.take(rows * w));
      }
    }
    output_key = memory.take(rows * key_bytes);
  }
  // Describes a result of rows rows whose columns come from `from`, or by the numbers in ids[side].
  // Row numbers lie in a column that is gathered last.
  void describe(const Case& c, int key_bytes, uint64_t capacity, uint64_t key_from, const std::vector<uint64_t> (&from)[2], const uint64_t (&ids)[2], bool by_id) {
    result = gather = {};
    result.rows = gather.rows = memory.take_cleared(2);
    result.capacity = gather.capacity = capacity;
    result.column[result.columns++] = {1, (uint64_t)key_bytes, key_from, 0, 1, output_key};
    for (size_t s = 0, o = 0; s < 2; s++) {
      const size_t first = o, host = first + (c.widths[s][0] < c.widths[s][1] && c.widths[s][0] < 4);
      const uint64_t index = output[host], step = c.widths[s][host - first] / 4;
      if (by_id) result.column[result.columns++] = {(uint64_t)s, 4, ids[s], 0, step, index};
      for (size_t k = 0; k < c.widths[s].size(); k++, o++) {
        const uint64_t width = c.widths[s][k];
        if (!by_id)
          result.column[result.columns++] = {(uint64_t)s, width, from[s][k], 0, 1, output[o]};
        else if (first + k != host)
          gather.column[gather.columns++] = {(uint64_t)s, width, column[s][k], index, step, output[o]};
      }
      if (by_id) gather.column[gather.columns++] = {(uint64_t)s, (uint64_t)c.widths[s][host - first], column[s][host - first], index, step, output[host]};
    }
  }
  uint64_t rows() const { return *reinterpret_cast<uint64_t*>(result.rows); }
  void gather_columns() {
    for (uint32_t c = 0; c < gather.columns; c++) host::launch(3, gather_threads, [&] { gather_result<gather_threads>(&gather, c); });
  }
  Rows read(const Case& c, int key_bytes, uint64_t n) const {
    Rows got;
    for (uint64_t i = 0; i < n; i++) {
      std::string row(reinterpret_cast<char*>(output_key) + i * key_bytes, key_bytes);
      for (size_t s = 0, o = 0; s < 2; s++)
        for (int w : c.widths[s]) row.append(reinterpret_cast<char*>(output[o++]) + i * w, w);
      got[row]++;
    }
    return got;
  }
};

// Sorts both sides and merges them.
template <int KW>
bool sort_merge(const Case& c) {
  const Rows want = reference(c, KW * 4);
  const uint64_t rows = count(want);
  Join join(c, KW * 4, rows);
  gj_sort sort{};
  constexpr int N = GJ_SORT_FAN * pass_rows;
  constexpr int VB = 8;
  for (int low = 32 - c.bits; low < 32; low += 9) sort.shift[sort.passes] = low, sort.mask[sort.passes++] = (1u << std::min(9, 32 - low)) - 1;
  uint64_t tiles = 0;
  for (int s = 0; s < 2; s++) {
    gj_sort_side& side = sort.side[s];
    side.rows = c.rows[s];
    auto add = [&](uint64_t from, uint64_t bytes) {
      gj_sort_column& column = side.column[side.columns++];
      column.bytes = bytes, column.at[0] = from;
      for (uint32_t p = 1; p <= sort.passes; p++) column.at[p] = join.memory.take(side.rows * bytes);
    };
    add(join.key[s], KW * 4);
    if (c.ids)
      add(0, 4);
    else
      for (size_t k = 0; k < c.widths[s].size(); k++) add(join.column[s][k], c.widths[s][k]);
    tiles += (side.rows + N - 1) / N;
  }
  sort.histogram = join.memory.take_cleared(2 * sort.passes * GJ_SORT_FAN);
  sort.tickets = join.memory.take_cleared(GJ_SORT_PASSES);
  sort.status = join.memory.take_cleared(tiles * GJ_SORT_FAN * 2);
  host::launch(5, 64, [&] { count_digits<KW, 64>(&sort); });
  for (uint32_t p = 0; p < sort.passes; p++) host::launch(2, GJ_SORT_FAN, [&] { radix_pass<KW, GJ_SORT_FAN, pass_rows, VB>(&sort, p); });

  gj_merge merge{};
  constexpr int tile = merge_threads * merge_rows;
  merge.bits = c.bits;
  merge.tiles = (c.rows[0] + c.rows[1] + tile - 1) / tile;
  merge.splits = join.memory.take(4 * (merge.tiles + 1));
  merge.runs = join.memory.take(sizeof(gj_equal_run) * (c.rows[0] / 128 + merge.tiles));
  std::vector<uint64_t> sorted[2];
  uint64_t ids[2] = {};
  for (int s = 0; s < 2; s++) {
    const gj_sort_side& side = sort.side[s];
    merge.rows[s] = side.rows, merge.key[s] = side.column[0].at[sort.passes];
    if (c.ids) ids[s] = side.column[1].at[sort.passes];
    for (uint32_t k = 1; k < side.columns; k++) sorted[s].push_back(side.column[k].at[sort.passes]);
  }
  auto run = [&](uint64_t capacity) {
    join.describe(c, KW * 4, capacity, merge.key[1], sorted, ids, c.ids);
    merge.result = join.result;
    merge.deferred = join.memory.take_cleared(2), merge.slice = join.memory.take_cleared(2);
    host::launch((uint32_t)merge.tiles / 32 + 1, 32, [&] { split_sides<KW, tile>(&merge); });
    host::launch(3, merge_threads, [&] { merge_join<KW, merge_threads, merge_rows>(&merge); });
    host::launch(2, merge_threads, [&] { join_equal_runs<KW, merge_threads, merge_rows>(&merge); });
    join.gather_columns();
    return join.rows();
  };
  const uint64_t first = c.short_of ? run(rows - std::min(rows, c.short_of)) : rows, got = run(rows);
  return first == rows && got == rows && join.read(c, KW * 4, rows) == want;
}

// Enters the build side into one table and probes it. Where the keys' range is
// known before, the table may have no more words than that.
template <int KW>
bool table(const Case& c, bool known) {
  const Rows want = reference(c, KW * 4);
  const uint64_t rows = count(want);
  Join join(c, KW * 4, rows);
  gj_table table{};
  for (int s = 0; s < 2; s++) table.rows[s] = c.rows[s], table.key[s] = join.key[s];
  uint64_t range[3] = {~0ull, ~0ull, 0};
  for (uint32_t i = 0; i < c.rows[0]; i++) {
    const uint64_t mask = KW == 1 ? ~0u : ~0ull, key = c.keys[0][i] & mask, before = c.keys[0][i - (i > 0)] & mask;
    range[0] = std::min(range[0], key), range[1] = std::min(range[1], ~key);
    range[2] += std::max(key, before) - std::min(key, before) < 8;
  }
  const uint64_t span = ~range[1] - range[0], unknown[3] = {~0ull, ~0ull, 0};
  const bool array = known && span < 2 * c.rows[0];
  table.slots = array ? (span + 16) / 16 * 8 : (c.rows[0] + c.rows[0] / 3 + 8) / 8 * 8;
  table.table = join.memory.take(table.slots * 8), table.range = join.memory.take(24);
  memset(reinterpret_cast<void*>(table.table), 0xff, array ? 4 * span + 4 : table.slots * 8);
  memcpy(reinterpret_cast<void*>(table.range), known ? range : unknown, 24);
  table.next = join.memory.take(c.rows[0] * 4), table.repeats = join.memory.take_cleared(2);
  if (!known) host::launch(2, table_threads, [&] { key_range<KW, table_threads>(&table); });
  if (memcmp(reinterpret_cast<void*>(table.range), range, 24) != 0) return false;
  host::launch(2, table_threads, [&] { enter_rows<KW, table_threads>(&table); });
  const uint64_t ids[2] = {};
  auto run = [&](uint64_t capacity) {
    join.describe(c, KW * 4, capacity, table.key[1], join.column, ids, c.ids);
    table.result = join.result;
    host::launch(2, table_threads, [&] { probe_rows<KW, table_threads, table_rows>(&table); });
    join.gather_columns();
    return join.rows();
  };
  const uint64_t first = c.short_of ? run(rows - std::min(rows, c.short_of)) : rows, got = run(rows);
  return first == rows && got == rows && join.read(c, KW * 4, rows) == want;
}

int full = 0, probed = 0;  // tables with a unit that has too few slots, and others

// Enters the build side into a table in the memory of several devices, each of which has a part
// of the rows, of another size, and every so many units. The first and the last one probe it with
// the whole probe side. load: slots a row. If that is 1, a unit may have too few slots, which ends the join.
// hosted: each unit of which the number is a multiple of it lies on the host. Devices make these in turn, two at a
// time, in memory from which they are copied; 0: there are none.
template <int KW>
bool spread_table(const Case& c, uint32_t devices, uint32_t unit_bits, uint32_t load, uint32_t hosted) {
  const Rows want = reference(c, KW * 4);
  const uint64_t rows = count(want);
  Join join(c, KW * 4, rows);
  gj_spread spread{};
  std::vector<uint32_t> first(devices + 1, c.rows[0]);
  for (uint32_t d = 0; d < devices; d++) first[d] = d * d * (uint64_t)c.rows[0] / (devices * devices);  // the first one has few or none
  auto part = [&](uint64_t column, uint32_t d, uint64_t width) {
    return join.memory.take(std::string(reinterpret_cast<char*>(column) + first[d] * width, (first[d + 1] - first[d]) * width));
  };
  const uint64_t unit_slots = 1ull << unit_bits, units = std::max<uint64_t>(1, (load * c.rows[0] + unit_slots - 1) / unit_slots);
  spread.table.rows[1] = c.rows[1], spread.table.key[1] = join.key[1], spread.table.slots = units * unit_slots;
  spread.table.repeats = join.memory.take_cleared(2), spread.full = join.memory.take_cleared(2);
  spread.devices = devices, spread.unit_bits = unit_bits, spread.row_bits = 32;
  while (1ull << (32 - spread.row_bits) < devices) spread.row_bits--;
  for (uint32_t d = 0; d < devices; d++) {
    spread.rows[d] = first[d + 1] - first[d], spread.key[d] = part(join.key[0], d, KW * 4), spread.next[d] = join.memory.take(spread.rows[d] * 4);
    memset(reinterpret_cast<void*>(spread.next[d]), 0xff, spread.rows[d] * 4);
  }
  std::vector<uint64_t> unit, bases;
  for (uint64_t u = 0; u < units; u++) {
    unit.push_back(join.memory.take(unit_slots * 8));
    memset(reinterpret_cast<void*>(unit[u]), 0xff, unit_slots * 8);
  }
  std::vector<gj_spread> of(devices, spread);
  std::vector<std::vector<uint64_t>> own(devices, std::vector<uint64_t>(units));
  std::vector<std::vector<uint64_t>> made(devices);  // units of the host, by the device that makes them
  for (uint64_t u = 0, turn = 0; u < units; u++) {
    if (hosted && u % hosted == 0)
      made[turn++ % devices].push_back(u);
    else
      own[u % devices][u] = unit[u];
  }
  for (uint32_t d = 0; d < devices; d++) {
    auto enter = [&](const std::vector<uint64_t>& list) {
      of[d].own = d, of[d].unit = reinterpret_cast<uint64_t>(list.data());
      host::launch(2, table_threads, [&] { enter_spread<KW, table_threads>(&of[d]); });
    };
    enter(own[d]);
    const uint64_t buffer = join.memory.take(2 * unit_slots * 8);
    for (size_t first = 0; first < made[d].size(); first += 2) {
      std::vector<uint64_t> some(units);
      memset(reinterpret_cast<void*>(buffer), 0xff, 2 * unit_slots * 8);
      for (size_t k = 0; k < 2 && first + k < made[d].size(); k++) some[made[d][first + k]] = buffer + k * unit_slots * 8;
      enter(some);
      for (uint64_t u = 0; u < units; u++)
        if (some[u]) memcpy(reinterpret_cast<void*>(unit[u]), reinterpret_cast<void*>(some[u]), unit_slots * 8);
    }
  }
  (*reinterpret_cast<uint32_t*>(spread.full) ? full : probed)++;
  if (*reinterpret_cast<uint32_t*>(spread.full)) return load == 1;
  for (size_t k = 0; k < c.widths[0].size(); k++)
    for (uint32_t d = 0; d < devices; d++) bases.push_back(part(join.column[0][k], d, c.widths[0][k]));
  for (uint32_t d = 0; d < devices; d += std::max(devices - 1, 1u)) {
    of[d].unit = reinterpret_cast<uint64_t>(unit.data());
    const uint64_t ids[2] = {};
    auto run = [&](uint64_t capacity) {
      join.describe(c, KW * 4, capacity, spread.table.key[1], join.column, ids, true);
      for (uint64_t k = 0; k < join.gather.columns; k++) {
        gj_result_column& column = join.gather.column[k];
        for (size_t i = 0; column.side == 0 && i < c.widths[0].size(); i++)
          if (column.from == join.column[0][i]) {
            column.from = reinterpret_cast<uint64_t>(&bases[i * devices]);
            break;
          }
      }
      of[d].table.result = join.result;
      host::launch(2, table_threads, [&] { probe_rows<KW, table_threads, table_rows, SpreadSlots<KW>>(&of[d]); });
      for (uint32_t k = 0; k < join.gather.columns; k++) {
        if (join.gather.column[k].side == 0)
          host::launch(3, gather_threads, [&] { gather_spread<gather_threads>(&join.gather, k, spread.row_bits); });
        else
          host::launch(3, gather_threads, [&] { gather_result<gather_threads>(&join.gather, k); });
      }
      return join.rows();
    };
    const uint64_t some = c.short_of ? run(rows - std::min(rows, c.short_of)) : rows, got = run(rows);
    if (some != rows || got != rows || join.read(c, KW * 4, rows) != want) return false;
  }
  return true;
}

int checks = 0, wrong = 0, spreads = 0;
std::mt19937_64 random_bits(5);

template <int KW>
void check(const Case& c) {
  gj_hash_seed = random_bits();
  const bool right[] = {sort_merge<KW>(c), table<KW>(c, false), table<KW>(c, true)};
  const char* name[] = {"sort and merge", "table", "table of a known range"};
  for (int a = 0; a < 3; a++) {
    checks++;
    wrong += !right[a];
    if (!right[a]) printf("%s, %s, key of %d bytes, %u x %u rows, %d bits%s\n", name[a], c.name.c_str(), KW * 4, c.rows[0], c.rows[1], c.bits, c.ids ? ", by id" : "");
  }
  // Two tables of each case: of as many slots as rows or of twice as many, in units of one line or
  // more, over each number of devices.
  static const struct { uint32_t bits, load; } shape[] = {{3, 1}, {6, 1}, {6, 2}, {8, 1}, {8, 2}, {13, 1}, {13, 2}};
  for (int i = 0; i < 2; i++, spreads++) {
    const uint32_t devices = 1 + spreads % GJ_SPREAD_DEVICES, hosted = spreads % 4;  // none, all, every second, every third
    const auto [bits, load] = shape[spreads % 7];
    checks++;
    if (spread_table<KW>(c, devices, bits, load, hosted)) continue;
    wrong++;
    printf("spread over %u devices, every %u on the host, units of %u slots, %u slots a row, %s, key of %d bytes, %u x %u rows\n", devices, hosted, 1u << bits, load, c.name.c_str(), KW * 4, c.rows[0], c.rows[1]);
  }
}

Case make(std::string name, uint32_t build, uint32_t probe, int bits, std::function<uint64_t(int side, uint32_t row)> key) {
  Case c{name, {build, probe}, {}, {{4, 16}, {8, 1, 2}}, bits};
  for (int s = 0; s < 2; s++)
    for (uint32_t i = 0; i < c.rows[s]; i++) c.keys[s].push_back(key(s, i));
  return c;
}

template <int KW>
void check_all() {
  auto spread = [](uint64_t keys) {
    return [keys](int, uint32_t) {
      const uint64_t k = random_bits() % keys;
      return k == 1 ? ~0ull : k * 0x9e3779b97f4a7c15ull;
    };
  };
  for (uint32_t build : {0, 1, 2047})
    for (uint32_t probe : {0, 33, 2049}) check<KW>(make("sizes", build, probe, 9, spread(build + probe + 1)));
  for (bool ids : {false, true})
    for (int bits : {10, 18}) {
      if (KW == 2 && bits == 10) continue;
      auto run = [&](Case c, uint64_t short_of = 0) {
        c.ids = ids, c.short_of = short_of;
        check<KW>(c);
      };
      run(make("several partners", 2500, 4000, bits, spread(2000)));
      run(make("few matches", 2500, 4000, bits, [](int, uint32_t) { return random_bits() % 30000 * 0x9e3779b97f4a7c15ull; }), 5);
      run(make("dense", 1500, 2500, bits, [](int s, uint32_t i) { return s ? random_bits() % 1900 + 7 : i + 7; }));
      run(make("half dense", 1200, 2500, bits, [](int s, uint32_t i) { return s ? random_bits() % 3000 : 2 * (i * 7 % 1200) + 100; }), 3);
      run(make("dense to the end", 1000, 1500, bits, [](int s, uint32_t i) { return ~0ull - (s ? random_bits() % 1300 : i); }));
      run(make("too wide an array", 500, 800, bits, [](int s, uint32_t i) { return s ? random_bits() % 3000 : 6 * i; }));
      run(make("long and short runs", 2200, 2200, bits, [](int s, uint32_t i) { return s ? random_bits() % 500 : i < 900 ? i % 8 : i; }), 1000);
    }
  for (uint32_t build : {8, 64, 256}) check<KW>(make("a full unit", build, 600, 9, [build](int s, uint32_t i) { return s ? random_bits() % (2 * build) : i; }));
  check<KW>(make("one key", 300, 400, 9, spread(1)));
  check<KW>(make("one bit", 700, 300, 1, spread(700)));
  check<KW>(make("hot on both sides", 2000, 2000, 9, [](int, uint32_t) { return random_bits() % 10 < 1 ? 5 : random_bits() % 6000; }));
}

}  // namespace

int main() {
  check_all<1>();
  check_all<2>();
  printf("%d checks, %d wrong; %d tables in several memories, %d of them full\n", checks, wrong, full + probed, full);
  return wrong != 0 || full == 0 || probed < 2 * full;
}
