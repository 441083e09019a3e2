// Runs the fused kernels on the host, whole joins of every form of payload, and
// compares with a join of strings. Tiles, chunks and blocks are small, so that
// little data fills many.
#include "bloom.hpp"
#include "cuda.hpp"
#include "memory.hpp"

#include <map>
#include <random>
#include <string>

#include "agent/bypass.cuh"
#include "agent/field_source.cuh"
#include "agent/gather_packed.cuh"
#include "agent/histogram.cuh"
#include "agent/match.cuh"
#include "agent/match_listed.cuh"
#include "agent/offsets.cuh"
#include "agent/sample.cuh"
#include "agent/scatter.cuh"
#include "agent/scatter_packed.cuh"
#include "block/arena.cuh"
#include "layout/payload.cuh"

using namespace gj;

namespace {

constexpr int pass_threads = 256, pass_rows = 4, match_threads = 64, match_blocks = 3, bypass_blocks = 2, chunk = 256, buckets = 512;
constexpr uint64_t range = 600, output_chunk = 512;

enum class Mode { carry, place, pack, row_id };

struct Case {
  std::string name;
  std::vector<int> widths[2];
  uint32_t rows[2], keys;
  int first_bits, second_bits;
  Mode mode[2] = {Mode::carry, Mode::carry};
  bool hot = false;  // most probe rows have one of few keys, which go round the partitions
  bool again = false;  // the result has too little space at first
  bool unique = false;  // no two build rows have one key
  bool listed = false;  // matched by lists
  bool reduced = false;  // the probe side is what a Bloom filter leaves of it
};

struct Side {
  std::string key;
  std::vector<std::string> column;
};

std::mt19937_64 random_bits(11);

Side make_side(const Case& c, int s, int key_bytes) {
  Side side;
  for (uint32_t i = 0; i < c.rows[s]; i++) {
    uint64_t k = random_bits() % c.keys;
    if ((c.hot || c.unique) && s == 0) k = i;
    if (c.hot && s == 1 && random_bits() % 10 < 8) k = 3 + random_bits() % 3;
    k = k == 1 ? ~0ull : k * 0x9e3779b97f4a7c15ull;
    side.key.append(reinterpret_cast<char*>(&k) + 8 - key_bytes, key_bytes);
  }
  for (int width : c.widths[s]) {
    std::string column(c.rows[s] * width, 0);
    for (char& b : column) b = (char)random_bits();
    side.column.push_back(column);
  }
  return side;
}

std::vector<std::string> reference(const Case& c, const Side (&side)[2], int key_bytes) {
  auto value = [](const std::string& column, uint32_t row, int width) { return column.substr((size_t)row * width, width); };
  std::multimap<std::string, uint32_t> build;
  for (uint32_t i = 0; i < c.rows[0]; i++) build.emplace(value(side[0].key, i, key_bytes), i);
  std::vector<std::string> out;
  for (uint32_t j = 0; j < c.rows[1]; j++) {
    const auto matches = build.equal_range(value(side[1].key, j, key_bytes));
    for (auto m = matches.first; m != matches.second; ++m) {
      std::string row = m->first;
      for (size_t k = 0; k < c.widths[0].size(); k++) row += value(side[0].column[k], m->second, c.widths[0][k]);
      for (size_t k = 0; k < c.widths[1].size(); k++) row += value(side[1].column[k], j, c.widths[1][k]);
      out.push_back(row);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Where word q of a placed payload lies in the first pass's buffer.
gj_field placed(const gj_side& side, int key_words, int words, int q) {
  const uint64_t key = side.first_capacity * 4 * key_words;
  if (words == 2) return {side.first + key + 4 * q, 8, 0, 0, 0};
  return {side.first + key + side.first_capacity * 16 * (q / 4) + q % 4 * 4, 16, 0, 0, 0};
}

// The bytes of a packed row's lanes.
uint64_t packed_bytes(const std::vector<int>& widths) {
  uint64_t bytes = 0;
  for (int w : widths) bytes += w;
  return (bytes + 3) / 4 * 4;
}

// Describes a packed payload of `capacity` rows at `lanes`. Widths are in descending
// order.
std::vector<gj_packed> pack(const std::vector<int>& widths, const std::vector<uint64_t>& from, const std::vector<uint64_t>& to, uint64_t lanes,
                            uint64_t capacity) {
  std::vector<gj_packed> packed;
  uint64_t at = 0;
  for (size_t k = 0; k < widths.size(); k++) {
    const uint64_t lane = at / GJ_LANE_BYTES * GJ_LANE_BYTES, width = widths[k];
    packed.push_back({from[k], to[k], width, at - lane, lanes + capacity * lane, std::min<uint64_t>(GJ_LANE_BYTES, packed_bytes(widths) - lane)});
    at += width;
  }
  packed.resize(packed.size() + 3);
  return packed;
}

// Describes carried fields of the given widths, which the match writes.
std::vector<gj_field> carry(int words, bool beside, const std::vector<int>& widths, const std::vector<uint64_t>& from, const std::vector<uint64_t>& to) {
  std::vector<gj_field> fields;
  uint64_t at = 0;
  for (uint64_t width : {16, 8, 4, 2, 1})
    for (size_t k = 0; k < widths.size(); k++)
      if ((uint64_t)widths[k] == width) fields.push_back({from[k], width, to[k], width, width, at}), at += width;
  if (beside) return fields;  // all words are one group
  // The words that do not make up four come first, and have the narrowest fields.
  const uint64_t head = words % 4 * 4, tail = words * 4 - head;
  for (gj_field& f : fields) f.at = f.at < tail ? f.at + head : head == 12 ? (f.at - tail + 4) % 12 : f.at - tail;
  std::sort(fields.begin(), fields.end(), [](const gj_field& a, const gj_field& b) { return a.at < b.at; });
  return fields;
}

// Describes how carried fields are written to rows of `words` words in a buffer of `capacity` rows.
template <int KW>
std::vector<gj_packed> lanes_of(const std::vector<gj_field>& fields, uint64_t key, int words, uint64_t buffer, uint64_t capacity) {
  const int row = KW + words;
  std::vector<uint64_t> sizes = {row % 2 * 4u, row % 4 / 2 * 8u};
  sizes.resize(2 + row / 4, 16);
  std::vector<gj_packed> list;
  auto add = [&](uint64_t from, uint64_t bytes, uint64_t at) {
    uint64_t lane = 0;
    size_t k = 0;
    while (at >= lane + sizes[k]) lane += sizes[k++];
    list.push_back({from, 0, bytes, at - lane, buffer + capacity * lane, sizes[k]});
  };
  add(key, KW * 4, 0);
  if (list[0].lane_bytes == KW * 4) list.clear();
  for (const gj_field& f : fields) add(f.from, f.bytes, KW * 4 + f.at);
  return list;
}

// KW key words; B, S: the payload that the passes carry; MB, MS: as the match
// sees it; HB: as the bypass reads the build side's.
template <int KW, class B, class S, class MB, class MS, class HB>
bool run(const Case& c) {
  const Side side[2] = {make_side(c, 0, KW * 4), make_side(c, 1, KW * 4)};
  const auto want = reference(c, side, KW * 4);
  const int words[2] = {B::words, S::words}, units[2] = {B::unit, S::unit};
  const PayloadKind carried[2] = {B::kind, S::kind};
  const bool beside[2] = {B::beside, S::beside};
  const int bits = c.first_bits + c.second_bits;
  const uint32_t parts = 1u << bits, items = std::max(4u, parts);

  Memory memory;
  Input in[2];
  for (int s = 0; s < 2; s++) {
    in[s] = {c.rows[s], memory.take(side[s].key), {}};
    for (const std::string& column : side[s].column) in[s].column.push_back(memory.take(column));
  }
  if (c.reduced) in[1] = reduced<KW>(memory, in[0], in[1], c.widths[1], c.rows[0] / 8 + 1, c.rows[1]);
  gj_join job{};
  job.bits_first = c.first_bits, job.bits_second = c.second_bits;
  job.chunk_rows = chunk, job.range_rows = range;
  job.counters = memory.take(GJ_COUNTERS * 8);
  memset(reinterpret_cast<void*>(job.counters), 0, GJ_COUNTERS * 8);
  job.extra = memory.take(8 * (parts + 1));
  job.bypass_tail = match_blocks;
  job.tail_count = match_blocks + (c.hot ? bypass_blocks : 0);
  job.tails = memory.take(8 * job.tail_count);
  job.output_chunk = output_chunk;
  job.output_capacity = (want.size() + output_chunk - 1) / output_chunk * output_chunk + job.tail_count * output_chunk;
  job.output_key = memory.take(job.output_capacity * KW * 4);
  std::vector<gj_field> fields[2];
  std::vector<gj_packed> packed[2];
  uint64_t matched_positions[2] = {};
  std::vector<uint64_t> output[2];
  for (int s = 0; s < 2; s++) {
    gj_side& d = job.side[s];
    d.rows = in[s].rows, d.key = in[s].key;
    for (uint64_t* table : {&d.count, &d.start, &d.cursor, &d.tail}) *table = memory.take(4 * items);
    memset(reinterpret_cast<void*>(d.count), 0, 4 * items);
    for (uint64_t* table : {&d.parent_count, &d.parent_start, &d.parent_cursor, &d.parent_tail}) *table = memory.take(4 << c.first_bits);
    d.first_capacity = (d.rows + (first_align << c.first_bits) + 63) / 64 * 64;
    d.final_capacity = (d.rows + final_align * parts + 63) / 64 * 64;
    d.first = memory.take(d.first_capacity * 4 * (KW + words[s] - beside[s]));
    d.final = memory.take(d.final_capacity * 4 * (KW + (beside[s] ? words[s] - 1 : std::max(words[s], 1))));
    int word = 0;
    for (size_t k = 0; k < c.widths[s].size(); k++) {
      const uint64_t width = c.widths[s][k], from = in[s].column[k], to = memory.take(job.output_capacity * width);
      output[s].push_back(to);
      if (k < GJ_MAX_COLUMNS) d.column[k] = from, job.output_column[s][k] = to;
      if (c.mode[s] == Mode::pack || carried[s] == PayloadKind::field) continue;
      if (c.mode[s] == Mode::place) {
        gj_field f = placed(d, KW, words[s], word);
        f.to = to, f.to_stride = f.bytes = width;
        fields[s].push_back(f);
        word += units[s];
      } else if (carried[s] == PayloadKind::row_id) {
        fields[s].push_back({from, width, to, width, width});
      }
    }
    if (c.mode[s] == Mode::pack) {
      const uint64_t capacity = c.second_bits ? d.first_capacity : d.final_capacity;
      packed[s] = pack(c.widths[s], in[s].column, output[s], memory.take(capacity * packed_bytes(c.widths[s])), capacity);
      d.packed_count = packed[s].size() - 3;
      // The match writes positions into a column of 4 bytes, or they are copied.
      const auto same = std::find(c.widths[s].begin(), c.widths[s].end(), 4);
      d.positions = same != c.widths[s].end() ? output[s][same - c.widths[s].begin()] : memory.take(job.output_capacity * 4);
      matched_positions[s] = same != c.widths[s].end() ? d.positions : memory.take(job.output_capacity * 4);
      job.output_column[s][0] = matched_positions[s];
    } else if (carried[s] == PayloadKind::field) {
      fields[s] = carry(words[s], beside[s], c.widths[s], in[s].column, output[s]);
      packed[s] = lanes_of<KW>(fields[s], d.key, words[s], c.second_bits ? d.first : d.final, c.second_bits ? d.first_capacity : d.final_capacity);
      d.packed_count = packed[s].size();
    }
    d.packed = reinterpret_cast<uint64_t>(packed[s].data());
    d.fields = reinterpret_cast<uint64_t>(fields[s].data()), d.field_count = fields[s].size();
  }

  if (c.hot) {
    job.sample = memory.take(sizeof(gj_sample));
    memset(reinterpret_cast<void*>(job.sample), 0, sizeof(gj_sample));
    job.bypassed = memory.take(c.rows[1] / 8 + 16);
    host::launch(2, pass_threads, [&] { histogram<KW, pass_threads>(&job, count_build); });
    host::launch(1, 1024, [&] { sum_sample<1024>(&job, 4); });
    host::launch(2, pass_threads, [&] { histogram<KW, pass_threads>(&job, count_probe); });
    if constexpr (S::kind == PayloadKind::column && HB::kind == PayloadKind::column) host::launch(bypass_blocks, match_threads, [&] { bypass<KW, HB, S, match_threads, 4>(&job); });
  } else {
    host::launch(3, pass_threads, [&] { histogram<KW, pass_threads>(&job, count_build | count_probe); });
  }
  host::launch(14, 1024, [&] { offsets<1024>(&job, 4); });
  // One pass of whole units a partition, one of any rows, as the tuning has both.
  auto first = [&](const auto& source, const gj_side* s) {
    using Source = std::remove_cvref_t<decltype(source)>;
    scatter<KW, Source::W, pass_threads, pass_rows, 8, 256>(source, first_target(&job, s));
  };
  auto whole = [&](int i, auto payload) {
    using P = decltype(payload);
    if constexpr (P::beside) return first(BesideSource<P, pass_rows>(&job.side[i]), &job.side[i]);
    // Fields are read by either of two passes.
    if constexpr (P::kind == PayloadKind::field && KW + P::words <= 5)
      if (!c.reduced) return first(FieldSource<KW, P>(&job.side[i]), &job.side[i]);
    if (c.mode[i] == Mode::pack || P::kind == PayloadKind::field)
      scatter_packed<KW, pass_threads, pass_rows, 256, 32 << 10>(&job.side[i], PackedTarget(&job, &job.side[i]));
    else
      first(ColumnSource<KW, P>(&job.side[i]), &job.side[i]);
  };
  host::launch(2, pass_threads, [&] { whole(0, B()); });
  host::launch(2, pass_threads, [&] {
    if (c.hot) return first(ColdSource<KW, S>(&job, &job.side[1]), &job.side[1]);
    whole(1, S());
  });
  auto second = [&](int i, auto payload) {
    const gj_side* s = &job.side[i];
    using P = decltype(payload);
    constexpr int W = KW + P::words - P::beside;
    if constexpr (P::beside) return scatter<0, W, pass_threads, pass_rows, W == 1 ? 8 : 1, 256>(BufferSource<W>(&job, s), second_of_rest(&job, s));
    if (c.mode[i] == Mode::place || c.mode[i] == Mode::pack)
      scatter<KW, KW + 1, pass_threads, pass_rows, 1, 256>(PlaceSource<KW>(&job, s), second_target(&job, s));
    else
      scatter<KW, W, pass_threads, pass_rows, 1, 256>(BufferSource<W>(&job, s), second_target(&job, s));
  };
  if (c.second_bits) {
    host::launch(2, pass_threads, [&] { second(0, B()); });
    host::launch(2, pass_threads, [&] { second(1, S()); });
  }
  auto match_and_close = [&] {
    host::launch(match_blocks, match_threads, [&] {
      if constexpr (!MB::beside && !MS::beside)
        if (c.listed) return match_listed<KW, MB, MS, match_threads, chunk, buckets, 2>(&job);
      match<KW, MB, MS, match_threads, chunk, buckets, 2>(&job);
    });
    auto bytes = [](auto payload) { return payload.kind == PayloadKind::column ? payload.unit * 4 : 0; };
    auto columns = [&](int s) { return c.mode[s] == Mode::pack ? 1 : (int)c.widths[s].size(); };
    host::launch(3, 1024, [&] { close_output<1024>(&job, KW * 4, {columns(0), columns(1)}, {bytes(MB()), bytes(MS())}); });
    const uint64_t rows = reinterpret_cast<uint64_t*>(job.counters)[GJ_OUTPUT_ROWS];
    for (int s = 0; s < 2; s++) {
      if (c.mode[s] != Mode::pack) continue;
      const uint64_t most = job.output_capacity > output_chunk ? want.size() : 0;
      if (matched_positions[s] != job.side[s].positions) host::launch(3, 64, [&] { copy_positions(&job, &job.side[s], most, matched_positions[s]); });
      host::launch(3, 160, [&] { gather_packed<160, 2>(&job, &job.side[s], most); });
    }
    return rows;
  };
  uint64_t first_rows = want.size();
  if (c.again) {
    // What does not fit is counted; then the match is run again over what it has left.
    const uint64_t capacity = job.output_capacity;
    job.output_capacity = output_chunk;
    first_rows = match_and_close();
    job.output_capacity = capacity;
    memset(reinterpret_cast<void*>(job.counters), 0, GJ_COUNTERS * 8);
  }
  const uint64_t rows = match_and_close();
  std::vector<std::string> got;
  for (uint64_t i = 0; i < rows && rows == want.size(); i++) {
    std::string row(reinterpret_cast<char*>(job.output_key) + i * KW * 4, KW * 4);
    for (int s = 0; s < 2; s++)
      for (size_t k = 0; k < output[s].size(); k++) row.append(reinterpret_cast<char*>(output[s][k]) + i * c.widths[s][k], c.widths[s][k]);
    got.push_back(row);
  }
  std::sort(got.begin(), got.end());
  const uint64_t around = reinterpret_cast<uint64_t*>(job.counters)[GJ_BYPASSED];
  const bool right = rows == want.size() && first_rows == rows && got == want && (!c.hot || around > in[1].rows / 2);
  if (!right)
    printf("%s%s%s, key of %d bytes, %u x %u rows, %u keys, bits %d+%d: %llu rows of %zu, %llu bypassed\n", c.name.c_str(), c.listed ? ", listed" : "", c.reduced ? ", reduced" : "", KW * 4, c.rows[0], c.rows[1], c.keys,
           c.first_bits, c.second_bits, (unsigned long long)rows, want.size(), (unsigned long long)around);
  return right;
}

template <int WORDS, int UNIT = 1>
using Columns = Payload<PayloadKind::column, WORDS, UNIT>;
template <int WORDS>
using Fields = Payload<PayloadKind::field, WORDS>;
template <int WORDS>
using Beside = Payload<PayloadKind::field, WORDS, 1, true>;
using RowId = Payload<PayloadKind::row_id, 1>;
using Positions = Columns<1>;  // of packed payload

int checks = 0, wrong = 0;

template <int KW, class B, class S, class MB = B, class MS = S, class HB = B>
void check(Case c) {
  gj_hash_seed = random_bits();
  const bool can_list = MB::fetched || MS::fetched;
  for (int how = 0; how < 3; how++) {
    c.listed = how == 1, c.reduced = how == 2;
    if (c.listed && !can_list || c.reduced && (KW == 2 || B::beside || S::beside)) continue;  // host/bloom.cpp reduces by keys of both widths
    checks++;
    wrong += !run<KW, B, S, MB, MS, HB>(c);
  }
}

template <int KW>
void check_all() {
  struct Size {
    uint32_t rows[2], keys;
    int first_bits, second_bits;
  };
  // One partition, one pass, two passes, few keys that match often.
  for (const Size& z : {Size{{1500, 2500}, 2000, 0, 0}, Size{{1500, 2500}, 2000, 5, 0}, Size{{1500, 2500}, 2000, 4, 4}, Size{{300, 400}, 40, 3, 3}}) {
    auto of = [&](const char* name, std::vector<int> build, std::vector<int> probe, Mode b = Mode::carry, Mode s = Mode::carry) {
      return Case{name, {build, probe}, {z.rows[0], z.rows[1]}, z.keys, z.first_bits, z.second_bits, {b, s}};
    };
    check<KW, Columns<2>, Columns<2>>(of("columns", {4, 4}, {4, 4}));
    check<KW, Columns<1>, Columns<6>>(of("fewer columns than fit", {4}, {4, 4, 4, 4, 4}));
    check<KW, RowId, RowId>(of("row ids", {1, 2, 4, 8, 16}, {16, 4, 4, 1, 4}));
    Case small = of("result with too little space", {4, 4}, {4, 2});
    small.again = true;
    check<KW, Fields<2>, RowId>(small);
    check<KW, RowId, Columns<4>>(of("row ids and columns", {8, 8, 4}, {4, 4, 4, 4}));
    check<KW, Columns<4, 2>, RowId>(of("wide columns and row ids", {8, 8}, {4, 2, 4, 4}));
    check<KW, Fields<4>, Fields<8>>(of("fields", {1, 8, 2}, {16, 4, 1}));
    check<KW, Fields<4>, Fields<8>>(of("fields, bytes", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 4, 8, 16}));
    check<KW, Fields<6>, Fields<6>>(of("fields of 6 words", {16, 1, 2, 2}, {8, 8, 4, 1, 1}));
    check<KW, Fields<1>, Fields<3>>(of("fields of odd words", {1, 2}, {1, 8, 2}));
    check<KW, Fields<3>, Fields<1>>(of("fields of odd words, bytes", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {2}));
    check<KW, Columns<0>, Fields<4>>(of("keys and fields", {}, {8, 2, 4}));
    check<KW, Fields<1>, Columns<0>>(of("fields and keys", {1, 1}, {}));
    check<KW, Columns<0>, Columns<0>>(of("keys alone", {}, {}));
    check<KW, Columns<2, 2>, Columns<0>>(of("wide columns and keys", {8}, {}));
    if constexpr (KW == 1) {
      check<KW, Fields<5>, Fields<7>>(of("fields of 5 and 7 words", {8, 8, 1, 1, 1}, {16, 8, 2, 1}));
    }
    check<KW, Fields<8>, Fields<2>>(of("fields, several to a word", {2, 2, 2, 2, 2, 2, 2, 1, 1, 1}, {1, 2, 2}));
    check<KW, Positions, Positions>(of("both packed", {16, 16, 8, 4, 4, 2, 1, 1}, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, Mode::pack, Mode::pack));
    if (!z.second_bits) continue;
    check<KW, Positions, Positions>(of("packed bytes", {2, 2, 2, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Mode::pack, Mode::pack));
    check<KW, Positions, Positions>(of("several lanes", {16, 16, 16, 16, 16, 8}, {8, 8, 8, 8, 8, 8, 8, 8, 8, 2, 1}, Mode::pack, Mode::pack));
    Case twice = of("packed, with too little space", {4, 4, 4, 4, 4, 4}, {8, 8, 8});
    twice.again = true, twice.mode[0] = twice.mode[1] = Mode::pack;
    check<KW, Positions, Positions>(twice);
    check<KW, Positions, Columns<1>>(of("build side packed", {8, 4}, {4}, Mode::pack));
    check<KW, Columns<4>, Positions>(of("probe side packed", {4, 4, 4, 4}, {16, 8, 8, 8, 2}, Mode::carry, Mode::pack));
    if constexpr (KW == 1) check<KW, Columns<2>, Columns<2>, Columns<2>, RowId>(of("probe side placed", {4, 4}, {4, 4}, Mode::carry, Mode::place));
    check<KW, Columns<4>, Columns<4, 2>, RowId, RowId>(of("both placed", {4, 4, 4, 4}, {8, 8}, Mode::place, Mode::place));
  }
  // One match a row at most: of most rows, of few.
  for (uint32_t keys : {1600, 15000}) {
    auto of = [&](const char* name, std::vector<int> build, std::vector<int> probe, Mode s = Mode::carry) {
      Case c{name, {build, probe}, {1500, 2500}, keys, 3, 2, {Mode::carry, s}};
      c.unique = true;
      return c;
    };
    check<KW, Columns<2>, Columns<2>>(of("unique keys", {4, 4}, {4, 4}));
    check<KW, Columns<4>, Columns<8>>(of("unique keys, many columns", {4, 4, 4, 4}, {4, 4, 4, 4, 4, 4, 4}));
    check<KW, Columns<4, 2>, Columns<2, 2>>(of("unique keys, wide columns", {8, 8}, {8}));
    check<KW, Fields<2>, Fields<8>>(of("unique keys, fields", {2, 4}, {8, 4, 16}));
    check<KW, RowId, Columns<1>>(of("unique keys, row ids", {4, 4, 1, 4}, {4}));
    check<KW, Columns<1>, Columns<4>, Columns<1>, RowId>(of("unique keys, probe side placed", {4}, {4, 4, 4, 4}, Mode::place));
  }
  for (uint32_t build : {0, 1, 33})
    for (uint32_t probe : {0, 1, 33, 1025}) check<KW, Columns<1>, Columns<1>>({"sizes", {{4}, {4}}, {build, probe}, 40, 2, 2});
  check<KW, Columns<2>, Columns<2>>({"hot keys", {{4, 4}, {4, 4}}, {2000, 20000}, 2500, 3, 3, {}, true});
  check<KW, RowId, Columns<2>, RowId, Columns<2>, Columns<2>>({"hot keys, row ids", {{4, 4}, {4, 4}}, {2000, 20000}, 2500, 6, 0, {}, true});
}

// Bytes beside the rests of hashes, next to payload of every kind that is matched with them;
// then with keys that match often, with several chunks of one key, without rows, and with a
// result that has too little space at first.
void check_beside() {
  struct Size {
    uint32_t rows[2], keys;
    int second_bits;
    bool unique, again;
  };
  auto of = [](const char* name, std::vector<int> build, std::vector<int> probe, const Size& z) {
    Case c{name, {build, probe}, {z.rows[0], z.rows[1]}, z.keys, 8, z.second_bits};
    c.unique = z.unique, c.again = z.again;
    return c;
  };
  const Size unique{{1500, 2500}, 1600, 2, true, false};
  check<1, Beside<1>, Beside<1>>(of("a byte beside hashes", {1}, {1}, unique));
  check<1, Beside<2>, Beside<2>>(of("5 bytes beside hashes", {1, 1, 1, 1, 1}, {4, 1}, unique));
  check<1, Beside<2>, Beside<1>>(of("5 bytes and 1", {1, 2, 2}, {1}, unique));
  check<1, Beside<1>, Columns<1>>(of("a byte and a column", {1}, {4}, unique));
  check<1, Columns<1>, Beside<2>>(of("a column and 5 bytes", {4}, {1, 4}, unique));
  check<1, Fields<1>, Beside<1>>(of("fields and a byte", {1, 1, 1}, {1}, unique));
  check<1, Beside<2>, Fields<1>>(of("5 bytes and fields", {2, 1, 1, 1}, {2}, unique));
  check<1, Columns<0>, Beside<1>>(of("keys and a byte", {}, {1}, unique));
  check<1, Columns<0>, Beside<4>>(of("keys and 13 bytes", {}, {1, 8, 4}, unique));
  check<1, Beside<3>, Beside<4>>(of("9 bytes and 13", {8, 1}, {4, 1, 2, 2, 4}, unique));
  check<1, Beside<3>, Columns<0>>(of("9 bytes and keys", {1, 2, 2, 4}, {}, unique));
  for (const Size& z : {Size{{2500, 7001}, 900, 1, false, false}, Size{{900, 900}, 5, 1, false, true}, Size{{0, 33}, 40, 1, false, false}, Size{{33, 0}, 40, 1, false, false}}) {
    check<1, Beside<1>, Beside<2>>(of("1 byte and 5, not unique", {1}, {1, 2, 1, 1}, z));
    check<1, Beside<2>, Columns<1>>(of("5 bytes and a column, not unique", {2, 2, 1}, {4}, z));
  }
}

// The histogram of more partitions than shared memory has words for, where one
// key has more rows than half a word counts.
template <int KW>
void check_halves() {
  constexpr int bits = 16;
  constexpr uint32_t rows = 200003;
  Memory memory;
  std::string keys;
  std::vector<uint32_t> want(1 << bits);
  for (uint32_t i = 0; i < rows; i++) {
    const uint64_t k = i % 8 < 3 ? 77 : i % 8 < 5 ? 78 : random_bits();
    const uint32_t word[2] = {(uint32_t)k, (uint32_t)(k >> 32)};
    uint32_t key[KW];
    std::copy(word, word + KW, key);
    keys.append(reinterpret_cast<const char*>(key), KW * 4);
    want[hash_words(key).part >> (32 - bits)]++;
  }
  gj_join job{};
  job.bits_first = bits / 2, job.bits_second = bits / 2;
  job.side[0].rows = rows;
  job.side[0].key = memory.take(keys);
  job.side[0].count = memory.take(4 << bits);
  memset(reinterpret_cast<void*>(job.side[0].count), 0, 4 << bits);
  host::launch(1, pass_threads, [&] { histogram<KW, pass_threads>(&job, count_build); });
  checks++;
  if (!memcmp(want.data(), reinterpret_cast<void*>(job.side[0].count), 4 << bits)) return;
  wrong++;
  printf("histogram of 2^%d partitions, key of %d bytes\n", bits, KW * 4);
}

}  // namespace

int main() {
  check_halves<1>();
  check_halves<2>();
  check_all<1>();
  check_all<2>();
  check_beside();
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
