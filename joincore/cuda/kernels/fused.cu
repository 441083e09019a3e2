// The kernels by name. Beside each kernel NAME stands NAME_launch, uint64[5]
// in constant memory: threads a block, blocks a multiprocessor, bytes of
// dynamic shared memory, rows (a scatter's tile, a match's chunk) and the most
// partitions a scatter writes to.
#include "arena.cuh"
#include "bypass.cuh"
#include "histogram.cuh"
#include "listed.cuh"
#include "match.cuh"
#include "offsets.cuh"
#include "payload.cuh"
#include "sample.cuh"
#include "scatter.cuh"
#include "tuning.cuh"

using namespace gj;

#define LAUNCH(NAME, THREADS, BLOCKS, SHARED, ROWS, FAN) \
  extern "C" __constant__ const uint64_t NAME##_launch[5] = {(uint64_t)(THREADS), (uint64_t)(BLOCKS), (uint64_t)(SHARED), (uint64_t)(ROWS), (uint64_t)(FAN)};

// What the host mirrors: sizes in bytes of the descriptor's types.
extern "C" __constant__ const uint64_t gj_layout[5] = {sizeof(gj_join), sizeof(gj_side), sizeof(gj_field), sizeof(gj_sample), GJ_COUNTERS};

// gj_sample_sum(join, rows of the sample that make a key hot): one block.
extern "C" __global__ void __launch_bounds__(sample_threads, 1) gj_sample_sum(const gj_join* join, uint64_t often) {
  sum_sample<sample_threads>(join, (uint32_t)often);
}
LAUNCH(gj_sample_sum, sample_threads, 1, 0, 0, 0)

// gj_histogram_k<key words>(join, sides). Dynamic shared memory: 4 bytes a
// partition and at least 16, 2 above 2^15 of them; beside a sample, what
// gj_histogram_k_launch says more.
#define HISTOGRAM(K)                                                                                                               \
  extern "C" __global__ void __launch_bounds__(histogram_threads, 1) gj_histogram_k##K(const gj_join* join, uint64_t sides) {      \
    histogram<K, histogram_threads>(join, sides);                                                                                  \
  }                                                                                                                                \
  LAUNCH(gj_histogram_k##K, histogram_threads, 1, (SampleLookup<K, 1, true>::bytes), 0, 0)
HISTOGRAM(1)
HISTOGRAM(2)

// gj_offsets(join): as many blocks as gj_offsets_launch says rows.
extern "C" __global__ void __launch_bounds__(offsets_threads, 1) gj_offsets(const gj_join* join) { offsets<offsets_threads>(join, offsets_slices); }
LAUNCH(gj_offsets, offsets_threads, 1, 0, 3 * offsets_slices + 2, 0)

// Payloads by the name that they have in kernels' names: <bytes>x<columns>,
// f<fields>, id.
using p_0 = Payload<Form::column, 0>;
using p_4x1 = Payload<Form::column, 1>;
using p_4x2 = Payload<Form::column, 2>;
using p_4x3 = Payload<Form::column, 3>;
using p_4x4 = Payload<Form::column, 4>;
using p_4x6 = Payload<Form::column, 6>;
using p_4x8 = Payload<Form::column, 8>;
using p_8x1 = Payload<Form::column, 2, 2>;
using p_8x2 = Payload<Form::column, 4, 2>;
using p_8x4 = Payload<Form::column, 8, 2>;
using p_f2 = Payload<Form::field, 2>;
using p_f4 = Payload<Form::field, 4>;
using p_f8 = Payload<Form::field, 8>;
using p_id = Payload<Form::row_id, 1>;

// gj_first_k<key words>_<payload>(join, side): from an input's columns.
#define FIRST_TUNED(TAG, K, P, T, IPT, B, A, FAN)                                                                                  \
  extern "C" __global__ void __launch_bounds__(T, B) gj_first_k##K##_##P##TAG(const gj_join* join, uint64_t side) {                \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter<K, K + p_##P::words, T, IPT, A, FAN>(ColumnSource<K, p_##P>(s), first_target(join, s));                                \
  }                                                                                                                                \
  LAUNCH(gj_first_k##K##_##P##TAG, T, B, (ScatterLayout<K + p_##P::words, T * IPT, A, FAN>::bytes), T * IPT, FAN)
// gj_cold_<the same>: without the rows that were bypassed.
#define COLD(K, P)                                                                                                                 \
  extern "C" __global__ void __launch_bounds__(FT(threads, K, P), 1) gj_cold_k##K##_##P(const gj_join* join, uint64_t side) {      \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter<K, K + p_##P::words, FT(threads, K, P), FT(rows, K, P), FT(unit, K, P), FT(fan, K, P)>(ColdSource<K, p_##P>(join, s),  \
                                                                                                   first_target(join, s));         \
  }                                                                                                                                \
  LAUNCH(gj_cold_k##K##_##P, FT(threads, K, P), 1,                                                                                 \
         (ScatterLayout<K + p_##P::words, FT(threads, K, P) * FT(rows, K, P), FT(unit, K, P), FT(fan, K, P)>::bytes),              \
         FT(threads, K, P) * FT(rows, K, P), FT(fan, K, P))
#define FT(F, K, P) scatter_first(K + p_##P::words).F
#define FIRST(K, P) FIRST_TUNED(, K, P, FT(threads, K, P), FT(rows, K, P), FT(blocks, K, P), FT(unit, K, P), FT(fan, K, P))

// gj_second_k<key words>_w<row words>(join, side): from the first pass's buffer.
// gj_place_k<key words>(join, side): only keys, and places in that buffer.
#define SECOND_TUNED(NAME, SOURCE, K, W, T, IPT, B, A)                                                                             \
  extern "C" __global__ void __launch_bounds__(T, B) NAME(const gj_join* join, uint64_t side) {                                    \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter<K, W, T, IPT, A, 256>(SOURCE(join, s), second_target(join, s));                                                        \
  }                                                                                                                                \
  LAUNCH(NAME, T, B, (ScatterLayout<W, T * IPT, A, 256>::bytes), T * IPT, 256)
#define ST(F, W) scatter_second(W).F
#define SECOND(K, W) SECOND_TUNED(gj_second_k##K##_w##W, BufferSource<W>, K, W, ST(threads, W), ST(rows, W), ST(blocks, W), ST(unit, W))
#define PLACE(K) \
  SECOND_TUNED(gj_place_k##K, PlaceSource<K>, K, (K + 1), ST(threads, K + 1), ST(rows, K + 1), ST(blocks, K + 1), ST(unit, K + 1))
PLACE(1)
PLACE(2)

// gj_inner_k<key words>_<build payload>_<probe payload>(join), and gj_listed_...
// for payload that is fetched.
#define MATCH(NAME, HOW, SHARED, K, PB, PS, T, C, NB, IPT, B)                                                                      \
  extern "C" __global__ void __launch_bounds__(T, B) NAME(const gj_join* join) { HOW<K, p_##PB, p_##PS, T, C, NB, IPT>(join); }      \
  static_assert(B * (SHARED + block_shared) <= multiprocessor_shared);                                                             \
  LAUNCH(NAME, T, B, SHARED, C, 0)
#define MATCH_TUNED(NAME, HOW, LAYOUT, TUNING, K, PB, PS)                                                                          \
  MATCH(NAME, HOW, (LAYOUT<K, p_##PB, p_##PS, TUNING.chunk, TUNING.buckets, TUNING.rows, TUNING.threads / 32>::bytes), K, PB, PS,   \
        TUNING.threads, TUNING.chunk, TUNING.buckets, TUNING.rows, TUNING.blocks)
#define INNER(K, PB, PS) MATCH_TUNED(gj_inner_k##K##_##PB##_##PS, match, MatchLayout, match_tuning(K + p_##PB::words, K + p_##PS::words), K, PB, PS)
#define FETCHING(K, PB, PS) \
  INNER(K, PB, PS)          \
  MATCH_TUNED(gj_listed_k##K##_##PB##_##PS, match_listed, ListedLayout, listed_tuning(K + p_##PB::words, K + p_##PS::words), K, PB, PS)

// gj_bypass_k<key words>_<build payload>_<probe payload>(join).
#define BYPASS(K, PB, PS)                                                                                                          \
  extern "C" __global__ void __launch_bounds__(bypass_threads, bypass_blocks) gj_bypass_k##K##_##PB##_##PS(const gj_join* join) {  \
    bypass<K, p_##PB, p_##PS, bypass_threads, bypass_rows>(join);                                                                  \
  }                                                                                                                                \
  LAUNCH(gj_bypass_k##K##_##PB##_##PS, bypass_threads, bypass_blocks, (BypassLayout<K, p_##PB, p_##PS, bypass_threads, bypass_rows>::bytes), 0, 0)

// gj_close(join, key bytes, build columns, probe columns, bytes of a build column, of a probe column; 0: fields).
extern "C" __global__ void __launch_bounds__(close_threads, 1)
    gj_close(const gj_join* join, uint64_t key, uint64_t build, uint64_t probe, uint64_t build_bytes, uint64_t probe_bytes) {
  close_output<close_threads>(join, (int)key, {(int)build, (int)probe}, {(int)build_bytes, (int)probe_bytes});
}
LAUNCH(gj_close, close_threads, 1, 0, 0, 0)

#include "fused.inc"
