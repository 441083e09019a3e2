// First passes that send rows to the buffers of several devices, on the host: each
// receiver gets exactly the rows that are for it, in one piece a partition.
#include "cuda.hpp"
#include "memory.hpp"

#include <array>
#include <random>

#include "agent/histogram.cuh"
#include "agent/merge_filters.cuh"
#include "agent/send.cuh"
#include "agent/send_packed.cuh"

using namespace gj;

namespace {

constexpr int threads = 256, rows_each = 4, blocks = 3, fan = 256;

std::mt19937_64 random_bits(11);
int checks = 0, wrong = 0;

void expect(bool right, const char* what, int words, int unit, uint32_t members, uint32_t rows) {
  checks++;
  if (right) return;
  wrong++;
  printf("%s: rows of %d words, units of %d, %u members, %u rows\n", what, words, unit, members, rows);
}

// How rows are sent: whole, or as keys and lanes.
enum class How { whole, packed };

// One device: its rows as columns, and its buffers.
template <int KW, class P, How how>
struct Member {
  static constexpr int W = KW + P::words, row_words = how == How::packed ? KW : W;
  using Words = std::array<uint32_t, W>;
  Memory memory;
  gj_join job{};
  gj_side& side = job.side[0];
  std::vector<Words> rows;
  std::vector<uint32_t> parent;  // rows by partition of the first pass
  uint64_t buffer = 0, lanes = 0, capacity = 0, first_row;
  std::vector<gj_packed> packed;

  Member(uint32_t n, int first_bits, int second_bits, bool hot, uint64_t before) : rows(n), parent(1u << first_bits), first_row(before) {
    job.bits_first = first_bits, job.bits_second = second_bits;
    std::string key, column[P::words + 1];
    for (uint32_t i = 0; i < n; i++) {
      for (uint32_t& w : rows[i]) w = (uint32_t)random_bits();
      if (hot && i % 3)
        for (int q = 0; q < KW; q++) rows[i][q] = 5;
      key.append(reinterpret_cast<char*>(&rows[i]), 4 * KW);
      if (P::kind == PayloadKind::row_id) rows[i][KW] = (uint32_t)first_row + i;
      for (int c = 0; c < P::words; c++) column[c].append(reinterpret_cast<char*>(&rows[i][KW + c]), 4);
    }
    side.rows = n;
    side.key = memory.take(key);
    for (int c = 0; c < P::words; c++) {
      const uint64_t at = memory.take(column[c]), lane = 4 * c / GJ_LANE_BYTES * GJ_LANE_BYTES;
      if constexpr (how == How::packed)
        packed.push_back({at, 0, 4, 4 * c - lane, lane, std::min<uint64_t>(GJ_LANE_BYTES, 4 * P::words - lane)});
      else
        side.column[c] = at;
    }
    side.packed_count = packed.size();
    packed.resize(packed.size() + 3);
    side.packed = reinterpret_cast<uint64_t>(packed.data());
    side.count = memory.take_cleared(std::max(4u, 1u << (first_bits + second_bits)));
    host::launch(2, threads, [&] { histogram_side<KW, threads, false, false>(&job, 0, blockIdx.x, gridDim.x); });
    host::launch(2, threads, [&] { fold_counts<threads>(count(), first_bits, second_bits, parent.data()); });
  }
  const uint32_t* count() const { return reinterpret_cast<const uint32_t*>(side.count); }
  uint32_t partition(const Words& row) const {
    uint32_t key[KW];
    std::copy(row.begin(), row.begin() + KW, key);
    return hash_words(key).part >> (32 - job.bits_first);
  }
};

// The rows of one partition that are at row `at` of a member's buffers, in order.
template <class M>
std::vector<typename M::Words> read(const M& m, uint32_t at, uint32_t rows) {
  std::vector<typename M::Words> out(rows);
  for (uint32_t i = 0; i < rows; i++) {
    Row<M::row_words> r;
    Lanes<M::row_words>::load(reinterpret_cast<const char*>(m.buffer), m.capacity, at + i, r, Shared());
    std::copy(r.word, r.word + M::row_words, out[i].begin());
    for (int w = M::row_words; w < M::W; w++) {
      const gj_packed& v = m.packed[w - M::row_words];
      memcpy(&out[i][w], reinterpret_cast<const char*>(m.lanes + v.lane * m.capacity + (at + i) * v.lane_bytes + v.offset), 4);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

template <int KW, class P, int UNIT, How how = How::whole>
void check(uint32_t members, uint32_t rows, int first_bits, int second_bits, bool hot) {
  gj_hash_seed = random_bits();
  using M = Member<KW, P, how>;
  constexpr int W = M::W;
  const uint32_t parents = 1u << first_bits;
  std::vector<std::unique_ptr<M>> all;
  uint64_t before = 3;
  for (uint32_t m = 0; m < members; m++) {
    all.push_back(std::make_unique<M>(m + 1 == members && m ? 0 : rows + 7 * m, first_bits, second_bits, hot, before));
    before += all[m]->rows.size();
  }
  // A set of receivers for each partition and sender: none, one or several.
  std::vector<std::vector<uint32_t>> to(members, std::vector<uint32_t>(parents));
  for (auto& list : to)
    for (uint32_t& set : list) set = random_bits() % 3 ? 1u << random_bits() % members : (uint32_t)random_bits() & ((1u << members) - 1);
  struct Tables {
    std::vector<uint32_t> full, front, rest, cursor, tail;
  };
  std::vector<Tables> tables(members);
  std::vector<std::vector<uint32_t>> start(members, std::vector<uint32_t>(parents)), got(start);
  for (uint32_t m = 0; m < members; m++) {
    Tables& t = tables[m];
    t.front.resize(members * parents), t.rest.resize(members * parents), t.cursor.resize(parents), t.tail = all[m]->parent;
    for (uint32_t n : all[m]->parent) t.full.push_back(n / UNIT * UNIT);
  }
  for (uint32_t r = 0; r < members; r++) {
    uint32_t at = 0;
    for (uint32_t p = 0; p < parents; p++) {
      start[r][p] = at;
      for (uint32_t s = 0; s < members; s++)
        if (to[s][p] >> r & 1) tables[s].front[r * parents + p] = at, at += tables[s].full[p];
      for (uint32_t s = 0; s < members; s++)
        if (to[s][p] >> r & 1) tables[s].rest[r * parents + p] = at - tables[s].full[p], at += all[s]->parent[p] - tables[s].full[p];
      got[r][p] = at - start[r][p];
      at = (at + first_align - 1) / first_align * first_align;
    }
    all[r]->capacity = (at + 63) / 64 * 64;
    all[r]->buffer = all[r]->memory.take(all[r]->capacity * 4 * M::row_words);
    all[r]->lanes = all[r]->memory.take(all[r]->capacity * 4 * (W - M::row_words));
  }
  for (uint32_t s = 0; s < members; s++) {
    gj_send send{};
    Tables& t = tables[s];
    for (uint32_t m = 0; m < members; m++) send.base[m] = all[m]->buffer, send.lanes[m] = all[m]->lanes, send.capacity[m] = all[m]->capacity;
    send.members = members;
    auto at = [](const std::vector<uint32_t>& list) { return reinterpret_cast<uint64_t>(list.data()); };
    send.to = at(to[s]), send.full = at(t.full), send.front = at(t.front), send.rest = at(t.rest), send.cursor = at(t.cursor), send.tail = at(t.tail);
    send.first_row = all[s]->first_row;
    if constexpr (how == How::packed) {
      static PackedPlaces<fan> places;
      host::launch(blocks, threads, [&] { scatter_packed<KW, threads, rows_each, fan, 32 << 10>(&all[s]->side, SendPackedTarget<fan>(&all[s]->job, &send, &places)); });
    } else {
      static SendPlaces<W, fan> places;
      host::launch(blocks, threads, [&] {
        scatter<KW, W, threads, rows_each, UNIT, fan>(SentSource<KW, P>(&all[s]->side, &send), SendTarget<W, fan>(&all[s]->job, &send, &places));
      });
    }
  }
  auto say = [&](bool right, const char* what) { expect(right, what, W, UNIT, members, rows); };
  std::vector<uint64_t> counts;
  for (auto& m : all) counts.push_back(m->side.count);
  for (uint32_t r = 0; r < members; r++) {
    bool same = true;
    for (uint32_t p = 0; p < parents; p++) {
      std::vector<typename M::Words> want;
      for (uint32_t s = 0; s < members; s++)
        if (to[s][p] >> r & 1)
          for (const auto& row : all[s]->rows)
            if (all[s]->partition(row) == p) want.push_back(row);
      std::sort(want.begin(), want.end());
      same = same && read(*all[r], start[r][p], got[r][p]) == want;
    }
    say(same, "rows received");
    std::vector<uint32_t> from(parents), merged(parents << second_bits), sums(parents);
    for (uint32_t p = 0; p < parents; p++)
      for (uint32_t s = 0; s < members; s++) from[p] |= (to[s][p] >> r & 1) << s;
    host::launch(2, threads, [&] { merge_counts<threads>(counts.data(), from.data(), first_bits, second_bits, merged.data()); });
    host::launch(2, threads, [&] { fold_counts<threads>(merged.data(), first_bits, second_bits, sums.data()); });
    say(sums == got[r], "merged histograms");
  }
}

// Every device ends with all filters' bits.
void check_filters(uint32_t members, uint64_t units) {
  Memory memory;
  std::vector<std::vector<uint32_t>> all(members);
  std::vector<uint32_t> want(4 * units);
  std::vector<uint64_t> address;
  for (auto& filter : all) {
    for (uint64_t i = 0; i < 4 * units; i++) filter.push_back((uint32_t)(random_bits() & random_bits() & random_bits())), want[i] |= filter[i];
    address.push_back(memory.take(std::string(reinterpret_cast<char*>(filter.data()), 16 * units)));
  }
  for (uint32_t m = 0; m < members; m++)
    host::launch(blocks, threads, [&] { merge_filters<threads>(address.data(), members, units * m / members, units * (m + 1) / members); });
  for (uint32_t m = 0; m < members; m++) expect(!memcmp(reinterpret_cast<void*>(address[m]), want.data(), 16 * units), "merged filter", 4, 1, members, (uint32_t)units);
}

}  // namespace

int main() {
  using Columns = Payload<PayloadKind::column, 2>;
  for (uint32_t members : {1, 2, 3, 8})
    for (uint32_t rows : {0, 1, 33, 1025, 3000}) {
      check<1, Columns, 8>(members, rows, 3, 2, rows > 2000);
      check<1, Columns, 1>(members, rows, 4, 1, false);
    }
  check<1, Payload<PayloadKind::column, 4>, 4>(2, 3000, 8, 2, false);
  check<2, Payload<PayloadKind::column, 4>, 4>(16, 1500, 3, 2, true);
  check<2, Payload<PayloadKind::column, 1>, 8>(4, 2000, 2, 2, false);
  check<1, Payload<PayloadKind::column, 0>, 8>(2, 3000, 5, 1, true);
  check<1, Payload<PayloadKind::row_id, 1>, 1>(3, 3000, 4, 1, false);
  check<2, Payload<PayloadKind::row_id, 1>, 8>(2, 2000, 3, 2, true);
  for (uint32_t members : {1, 2, 8}) {
    check<1, Payload<PayloadKind::column, 9>, 1, How::packed>(members, 3000, 4, 2, members == 2);
    check<2, Payload<PayloadKind::column, 19>, 1, How::packed>(members, 1500, 3, 2, false);
  }
  for (uint32_t members : {1, 2, 3, 8})
    for (uint64_t units : {1, 7, 5000}) check_filters(members, units);
  printf("%d checks, %d wrong\n", checks, wrong);
  return wrong != 0;
}
