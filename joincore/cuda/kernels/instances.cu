// The kernels by name. Beside each kernel NAME stands NAME_launch, uint64[5]
// in constant memory: threads a block, blocks a multiprocessor, bytes of
// dynamic shared memory, rows (a scatter's tile, a match's chunk) and the most
// partitions a scatter writes to.
#include "arena.cuh"
#include "gather.cuh"
#include "histogram.cuh"
#include "match.cuh"
#include "offsets.cuh"
#include "scatter.cuh"
#include "tuning.cuh"

using namespace gj;

#define LAUNCH(NAME, THREADS, BLOCKS, SHARED, ROWS, FAN) \
  extern "C" __constant__ const uint64_t NAME##_launch[5] = {(uint64_t)(THREADS), (uint64_t)(BLOCKS), (uint64_t)(SHARED), (uint64_t)(ROWS), (uint64_t)(FAN)};

// gj_histogram_k<key words>(join). Dynamic shared memory: 4 bytes a partition, 2 above 2^15 of them.
#define HISTOGRAM(K)                                                                                             \
  extern "C" __global__ void __launch_bounds__(histogram_threads, 1) gj_histogram_k##K(const gj_join* join) {    \
    histogram<K, histogram_threads>(join);                                                                       \
  }                                                                                                              \
  LAUNCH(gj_histogram_k##K, histogram_threads, 1, 0, 0, 0)
HISTOGRAM(1)
HISTOGRAM(2)

// gj_offsets(join): two blocks.
extern "C" __global__ void __launch_bounds__(offsets_threads, 1) gj_offsets(const gj_join* join) { offsets<offsets_threads>(join); }
LAUNCH(gj_offsets, offsets_threads, 1, 0, 0, 0)

// gj_first_k<key words>_w<row words>_c<column words>(join, side): from columns (c0: row numbers).
#define FIRST_TUNED(TAG, K, W, C, T, IPT, B, A, FAN)                                                                                      \
  extern "C" __global__ void __launch_bounds__(T, B) gj_first_k##K##_w##W##_c##C##TAG(const gj_join* join, uint64_t side) {        \
    const gj_side* s = &join->side[side];                                                                                          \
    const bool only = join->bits_second == 0;                                                                                      \
    scatter<K, W, T, IPT, A, FAN>(ColumnSource<K, W, C>(s), reinterpret_cast<char*>(only ? s->final : s->first),                           \
                          only ? s->final_capacity : s->first_capacity, reinterpret_cast<uint32_t*>(only ? s->cursor : s->parent_cursor), \
                          reinterpret_cast<uint32_t*>(only ? s->tail : s->parent_tail), (32 - (int)join->bits_first) & 31, (1u << join->bits_first) - 1);                                        \
  }                                                                                                                                \
  LAUNCH(gj_first_k##K##_w##W##_c##C##TAG, T, B, (ScatterLayout<W, T * IPT, A, FAN>::bytes), T * IPT, FAN)
#define FIRST(K, W, C)                                                                                                             \
  FIRST_TUNED(, K, W, C, scatter_first(W).threads, scatter_first(W).rows, scatter_first(W).blocks, scatter_first(W).unit, scatter_first(W).fan)

// gj_second_k<key words>_w<row words>(join, side): from the first pass's buffer.
#define SECOND_TUNED(TAG, K, W, T, IPT, B, A)                                                                                        \
  extern "C" __global__ void __launch_bounds__(T, B) gj_second_k##K##_w##W##TAG(const gj_join* join, uint64_t side) {              \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter<K, W, T, IPT, A, 256>(BufferSource<W>(join, s), reinterpret_cast<char*>(s->final), s->final_capacity,                          \
                          reinterpret_cast<uint32_t*>(s->cursor), reinterpret_cast<uint32_t*>(s->tail), 32 - (int)(join->bits_first + join->bits_second),               \
                          (1u << join->bits_second) - 1);                                                                          \
  }                                                                                                                                \
  LAUNCH(gj_second_k##K##_w##W##TAG, T, B, (ScatterLayout<W, T * IPT, A, 256>::bytes), T * IPT, 256)
#define SECOND(K, W)                                                                                                               \
  SECOND_TUNED(, K, W, scatter_second(W).threads, scatter_second(W).rows, scatter_second(W).blocks, scatter_second(W).unit)

// gj_inner_k<key words>_b<build payload words>x<words a column>_p<probe, likewise>(join).
#define INNER_TUNED(TAG, K, PB, CB, PS, CS, T, C, NB, IPT, B)                                                                      \
  extern "C" __global__ void __launch_bounds__(T, B) gj_inner_k##K##_b##PB##x##CB##_p##PS##x##CS##TAG(const gj_join* join) {       \
    match<K, PB, CB, PS, CS, T, C, NB, IPT>(join);                                                                                 \
  }                                                                                                                                \
  LAUNCH(gj_inner_k##K##_b##PB##x##CB##_p##PS##x##CS##TAG, T, B, (MatchLayout<K, PB, PS, C, NB, Emitter<K, PB, CB, PS, CS>::stage_bytes(IPT), IPT, T / 32>::bytes), C, 0)
#define MT(F, K, PB, PS) match_tuning(K + PB, K + PS).F
#define INNER(K, PB, CB, PS, CS)                                                                                                   \
  INNER_TUNED(, K, PB, CB, PS, CS, MT(threads, K, PB, PS), MT(chunk, K, PB, PS), MT(buckets, K, PB, PS), MT(rows, K, PB, PS),      \
              MT(blocks, K, PB, PS))

// gj_close(join, key words, build columns, probe columns, words of a build value, of a probe value).
extern "C" __global__ void __launch_bounds__(close_threads, 1)
    gj_close(const gj_join* join, uint64_t key, uint64_t build, uint64_t probe, uint64_t build_words, uint64_t probe_words) {
  close_output<close_threads>(join, (int)key, {(int)build, (int)probe}, {(int)build_words, (int)probe_words});
}
LAUNCH(gj_close, close_threads, 1, 0, 0, 0)

// gj_gather_<bytes>(join, ids, column, out, capacity in rows).
#define GATHER(B)                                                                                                                  \
  extern "C" __global__ void __launch_bounds__(gather_threads)                                                                     \
      gj_gather_##B(const gj_join* join, uint64_t ids, uint64_t column, uint64_t out, uint64_t capacity) {                         \
    gather<B, gather_threads>(join, ids, column, out, capacity);                                                                   \
  }                                                                                                                                \
  LAUNCH(gj_gather_##B, gather_threads, 8, 0, 0, 0)
GATHER(1)
GATHER(2)
GATHER(4)
GATHER(8)
GATHER(16)

// GJ_EXPERIMENT names a file of *_TUNED variants to time against each other
// (join-bench --scatter, --match) in place of the kernels that are shipped.
#ifdef GJ_EXPERIMENT
#include GJ_EXPERIMENT
#else
#include "instances.inc"
#endif
