// The kernels that joins by row id share. Package rowid launches them. The fifth
// number of NAME_launch (entry/define.cuh) may be the lanes of a destination table.
#include "agent/convert.cuh"
#include "agent/destination.cuh"
#include "agent/histogram.cuh"
#include "agent/keys.cuh"
#include "agent/partners.cuh"
#include "agent/select.cuh"
#include "agent/wholetable.cuh"
#include "entry/define.cuh"
#include "entry/partition.cuh"
#include "tuning/join.cuh"

using namespace gj;

constexpr int simple_threads = 256, simple_blocks = 8;
constexpr int select_threads = 256, select_rows_each = 16, select_blocks = 4;

// gj_unpack(bits, rows, to), gj_pack(valid, rows, shift, to): bitmaps to bytes and back.
extern "C" __global__ void __launch_bounds__(simple_threads) gj_unpack(const uint32_t* bits, uint64_t rows, uint8_t* to) { unpack(bits, rows, to); }
LAUNCH(gj_unpack, simple_threads, simple_blocks, 0, 0, 0)
extern "C" __global__ void __launch_bounds__(simple_threads) gj_pack(const uint8_t* valid, uint64_t rows, uint64_t shift, uint32_t* to) {
  pack(valid, rows, shift, to);
}
LAUNCH(gj_pack, simple_threads, simple_blocks, 0, 0, 0)

// gj_spans(offsets, heap, heap bytes, rows, to): offsets to spans.
extern "C" __global__ void __launch_bounds__(simple_threads)
    gj_spans(const uint32_t* offsets, uint64_t heap, uint64_t heap_bytes, uint64_t rows, ulonglong2* to) {
  make_spans(offsets, heap, heap_bytes, rows, to);
}
LAUNCH(gj_spans, simple_threads, simple_blocks, 0, 0, 0)

// gj_compose(outer, inner, rows, out): out[i] = inner[outer[i]].
extern "C" __global__ void __launch_bounds__(simple_threads) gj_compose(const uint32_t* outer, const uint32_t* inner, uint64_t rows, uint32_t* out) {
  compose(outer, inner, rows, out);
}
LAUNCH(gj_compose, simple_threads, simple_blocks, 0, 0, 0)

// gj_number(positions, first, rows, out): out[i] = first + positions[i], or first + i without positions.
extern "C" __global__ void __launch_bounds__(simple_threads) gj_number(const uint32_t* positions, uint64_t first, uint64_t rows, uint32_t* out) {
  for_rows<8>(rows, [&](uint64_t i) { __stcs(out + i, (uint32_t)first + (positions ? __ldcs(positions + i) : (uint32_t)i)); });
}
LAUNCH(gj_number, simple_threads, simple_blocks, 0, 0, 0)

// gj_take_<bytes>(values, validity, positions, from, rows, out, valid): gathers a column.
#define TAKE(B, V)                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(simple_threads)                                                                                \
      gj_take_##B(const V* values, const uint8_t* validity, const uint32_t* positions, uint64_t from, uint64_t rows, V* out, uint8_t* valid) { \
    take_values(values, validity, positions, from, rows, out, valid);                                                                      \
  }                                                                                                                                           \
  LAUNCH(gj_take_##B, simple_threads, simple_blocks, 0, 0, 0)
TAKE(1, uint8_t)
TAKE(2, uint16_t)
TAKE(4, uint32_t)
TAKE(8, uint2)
TAKE(16, uint4)

// gj_select_*(rows, scan, out, total, ...): the numbers of the selected rows, in order:
#define SELECT(NAME) LAUNCH(gj_select_##NAME, select_threads, select_blocks, 0, select_threads * select_rows_each, 0)

// those for which a condition is true;
extern "C" __global__ void __launch_bounds__(select_threads)
    gj_select_condition(uint64_t rows, uint64_t* scan, uint32_t* out, uint64_t* total, const gj_program* program) {
  select_rows<select_threads, select_rows_each>(
      rows, scan, total, [&](uint32_t row) { return passes(program, Pair{0, row}); }, [&](uint32_t row, uint64_t at) { __stcs(out + at, row); });
}
SELECT(condition)

// those that have a key;
extern "C" __global__ void __launch_bounds__(select_threads)
    gj_select_keyed(uint64_t rows, uint64_t* scan, uint32_t* out, uint64_t* total, const gj_part* part, uint64_t parts) {
  select_rows<select_threads, select_rows_each>(
      rows, scan, total, [&](uint32_t row) { return has_key(part, (uint32_t)parts, row); }, [&](uint32_t row, uint64_t at) { __stcs(out + at, row); });
}
SELECT(keyed)

// those from row `first` on whose mark is `want`.
extern "C" __global__ void __launch_bounds__(select_threads)
    gj_select_marked(uint64_t rows, uint64_t* scan, uint32_t* out, uint64_t* total, const uint32_t* marks, uint64_t first, uint64_t want) {
  select_rows<select_threads, select_rows_each>(
      rows, scan, total, [&](uint32_t row) { return marked(marks, (uint32_t)first + row) == (want != 0); },
      [&](uint32_t row, uint64_t at) { __stcs(out + at, (uint32_t)first + row); });
}
SELECT(marked)

// gj_normalise_k<key words>(keys).
#define NORMALISE(K)                                                                                                          \
  extern "C" __global__ void __launch_bounds__(simple_threads) gj_normalise_k##K(const gj_keys* keys) { normalise<K>(keys); } \
  LAUNCH(gj_normalise_k##K, simple_threads, simple_blocks, 0, 0, 0)
NORMALISE(1)
NORMALISE(2)

// gj_arrange(partition, join): one warp. Its launch `rows` are the size of a gj_join.
extern "C" __global__ void __launch_bounds__(32) gj_arrange(const gj_partition* p, gj_join* join) { arrange(p, join); }
LAUNCH(gj_arrange, 32, 1, 0, sizeof(gj_join), 0)

// Partitioning of keys and row numbers. gj_histogram_k<key words>(join, side) needs
// dynamic shared memory of 4 bytes per partition, 2 if there are more than 2^15, and
// at least 16 in total. gj_offsets(join) runs as many blocks as its launch `rows`.
#define HISTOGRAM(K)                                                                                                         \
  extern "C" __global__ void __launch_bounds__(histogram_threads, 1) gj_histogram_k##K(const gj_join* join, uint64_t side) { \
    if (join->bits_first + join->bits_second > word_counter_bits)                                                            \
      histogram_side<K, histogram_threads, true, false>(join, (int)side, blockIdx.x, gridDim.x);                             \
    else                                                                                                                     \
      histogram_side<K, histogram_threads, false, false>(join, (int)side, blockIdx.x, gridDim.x);                            \
  }                                                                                                                          \
  LAUNCH(gj_histogram_k##K, histogram_threads, 1, 0, 0, 0)
HISTOGRAM(1)
HISTOGRAM(2)
extern "C" __global__ void __launch_bounds__(offsets_threads, 1) gj_offsets(const gj_join* join) { offsets<offsets_threads>(join, offsets_slices); }
LAUNCH(gj_offsets, offsets_threads, 1, 0, 3 * offsets_slices + 2, 0)

// gj_own_destinations_k<key words>(join, side, parents, partitions).
#define OWN_DESTINATIONS(K)                                                                             \
  extern "C" __global__ void __launch_bounds__(simple_threads)                                          \
      gj_own_destinations_k##K(const gj_join* join, uint64_t side, gj_destination* parents, gj_destination* partitions) { \
    own_destinations<K + 1>(join, &join->side[side], parents, partitions);                              \
  }                                                                                                     \
  LAUNCH(gj_own_destinations_k##K, simple_threads, simple_blocks, 0, 0, LaneList<K + 1>::count)
OWN_DESTINATIONS(1)
OWN_DESTINATIONS(2)

// gj_find_lacking(join, side, table, lanes, lacking).
extern "C" __global__ void __launch_bounds__(simple_threads)
    gj_find_lacking(const gj_join* join, uint64_t side, const gj_destination* table, uint64_t lanes, uint64_t* lacking) {
  find_lacking(join, &join->side[side], table, (uint32_t)lanes, lacking);
}
LAUNCH(gj_find_lacking, simple_threads, simple_blocks, 0, 0, 0)

// gj_first_k<key words>(join, side, table, lacking): from keys and row numbers.
// gj_second_k<key words>(join, side, table, lacking): from the first pass's buffer.
// Nothing is written if a partition does not fit. lacking is 0 if all must fit.
#define PASS(NAME, K, TUNING, FAN, SOURCE, TARGET)                                                                          \
  extern "C" __global__ void __launch_bounds__(TUNING.threads, TUNING.blocks)                                               \
      NAME(const gj_join* join, uint64_t side, const gj_destination* table, const uint64_t* lacking) {                      \
    __shared__ Places<K + 1, FAN> places;                                                                                   \
    if (lacking && __ldg(lacking) != nothing_lacks) return;                                                                 \
    const gj_side* s = &join->side[side];                                                                                   \
    scatter<K, K + 1, TUNING.threads, TUNING.rows, TUNING.unit, FAN>(SOURCE, TARGET<K + 1, FAN>(join, s, table, &places));  \
  }                                                                                                                         \
  LAUNCH(NAME, TUNING.threads, TUNING.blocks, (ScatterLayout<K + 1, TUNING.threads * TUNING.rows, TUNING.unit, FAN>::bytes), \
         TUNING.threads* TUNING.rows, FAN)
PASS(gj_first_k1, 1, scatter_first(2), scatter_first(2).fan, KeyedRows<1>(s), first_table)
PASS(gj_first_k2, 2, scatter_first(3), scatter_first(3).fan, KeyedRows<2>(s), first_table)
PASS(gj_second_k1, 1, scatter_second(2), 256, BufferSource<2>(join, s), second_table)
PASS(gj_second_k2, 2, scatter_second(3), 256, BufferSource<3>(join, s), second_table)

// gj_partners_k<key words>(match, resume), and gj_partners_where_k<key words> for
// matches with a condition.
constexpr int partners_threads = 384, partners_blocks = 2, chunk_rows = 3840, chunk_buckets = 8192;
#define PARTNERS(NAME, K, CONDITION)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(partners_threads, partners_blocks) NAME##_k##K(const gj_match* match, uint64_t resume) { \
    find_partners<K, SharedTable<K, partners_threads, chunk_rows, chunk_buckets>, partners_threads, CONDITION>(match, resume);       \
  }                                                                                                                                  \
  LAUNCH(NAME##_k##K, partners_threads, partners_blocks,                                                                             \
         (PartnersLayout<SharedTable<K, partners_threads, chunk_rows, chunk_buckets>, partners_threads / 32>::bytes), chunk_rows, 0)
PARTNERS(gj_partners, 1, false)
PARTNERS(gj_partners, 2, false)
PARTNERS(gj_partners_where, 1, true)
PARTNERS(gj_partners_where, 2, true)

// The table of a join without partitions: gj_count_buckets_k<key words>(table),
// gj_start_buckets(table, scan), gj_place_rows_k<key words>(table).
#define WHOLE(NAME, K, DO)                                                                                              \
  extern "C" __global__ void __launch_bounds__(simple_threads) NAME##_k##K(const gj_table* table) { DO<K>(table); }    \
  LAUNCH(NAME##_k##K, simple_threads, simple_blocks, 0, 0, 0)
WHOLE(gj_count_buckets, 1, count_buckets)
WHOLE(gj_count_buckets, 2, count_buckets)
WHOLE(gj_place_rows, 1, place_rows)
WHOLE(gj_place_rows, 2, place_rows)
extern "C" __global__ void __launch_bounds__(select_threads) gj_start_buckets(const gj_table* table, uint64_t* scan) {
  start_buckets<select_threads>(table, scan);
}
LAUNCH(gj_start_buckets, select_threads, select_blocks, 0, 4 * select_threads, 0)

// gj_whole_partners_k<key words>(match, resume): partners in that table, and
// gj_whole_partners_where_k<key words> for matches with a condition.
constexpr int whole_threads = 256, whole_blocks = 3;
#define WHOLE_PARTNERS(NAME, K, CONDITION)                                                                                         \
  extern "C" __global__ void __launch_bounds__(whole_threads, whole_blocks) NAME##_k##K(const gj_match* match, uint64_t resume) { \
    find_partners<K, WholeTable<K>, whole_threads, CONDITION>(match, resume);                                                      \
  }                                                                                                                                \
  LAUNCH(NAME##_k##K, whole_threads, whole_blocks, (PartnersLayout<WholeTable<K>, whole_threads / 32>::bytes), 0, 0)
WHOLE_PARTNERS(gj_whole_partners, 1, false)
WHOLE_PARTNERS(gj_whole_partners, 2, false)
WHOLE_PARTNERS(gj_whole_partners_where, 1, true)
WHOLE_PARTNERS(gj_whole_partners_where, 2, true)
