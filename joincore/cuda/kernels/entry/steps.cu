// The kernels of a partitioned hash join that do not depend on the payload.
#include "agent/bloom.cuh"
#include "agent/gather_packed.cuh"
#include "agent/histogram.cuh"
#include "agent/offsets.cuh"
#include "agent/sample.cuh"
#include "block/arena.cuh"
#include "entry/define.cuh"
#include "tuning/join.cuh"

using namespace gj;

// Sizes in bytes of the descriptor's types, for the host's mirror.
extern "C" __constant__ const uint64_t gj_layout[6] = {sizeof(gj_join), sizeof(gj_side), sizeof(gj_field), sizeof(gj_packed), sizeof(gj_sample), GJ_COUNTERS};

// gj_sample_sum(join, sampled rows that make a key hot): one block.
extern "C" __global__ void __launch_bounds__(sample_threads, 1) gj_sample_sum(const gj_join* join, uint64_t often) {
  sum_sample<sample_threads>(join, (uint32_t)often);
}
LAUNCH(gj_sample_sum, sample_threads, 1, 0, 0, 0)

// gj_histogram_k<key words>(join, sides). Dynamic shared memory: 4 bytes per
// partition, 2 if there are more than 2^15, and at least 16 in total; with a sample,
// the bytes in gj_histogram_k_launch more.
#define HISTOGRAM(K)                                                                                                               \
  extern "C" __global__ void __launch_bounds__(histogram_threads, 1) gj_histogram_k##K(const gj_join* join, uint64_t sides) {      \
    histogram<K, histogram_threads>(join, sides);                                                                                  \
  }                                                                                                                                \
  LAUNCH(gj_histogram_k##K, histogram_threads, 1, (SampleLookup<K, 1, true>::bytes), 0, 0)
HISTOGRAM(1)
HISTOGRAM(2)

// gj_filter_k<key words>(join, filter, filter words): fills it with the build keys.
// gj_reduce_k<key words>(join, filter, filter words, keys to write, capacity in
// rows): drops rejected probe rows.
#define BLOOM(K)                                                                                                                   \
  extern "C" __global__ void __launch_bounds__(filter_threads, filter_blocks)                                                      \
      gj_filter_k##K(const gj_join* join, uint64_t filter, uint64_t words) {                                                       \
    fill_filter<K, filter_threads>(join, filter, words);                                                                           \
  }                                                                                                                                \
  LAUNCH(gj_filter_k##K, filter_threads, filter_blocks, 0, filter_threads * 4 / K, 0)                                              \
  extern "C" __global__ void __launch_bounds__(reduce_threads, reduce_blocks)                                                      \
      gj_reduce_k##K(const gj_join* join, uint64_t filter, uint64_t words, uint64_t keys, uint64_t capacity) {                     \
    keep_rows<K, reduce_threads, reduce_vectors>(join, FilterKeeps<K>(filter, words), keys, capacity);                                                \
  }                                                                                                                                \
  LAUNCH(gj_reduce_k##K, reduce_threads, reduce_blocks, (KeepLayout<K, reduce_threads, reduce_vectors>::bytes),               \
         (KeepLayout<K, reduce_threads, reduce_vectors>::tile), 0)
BLOOM(1)
BLOOM(2)

// gj_offsets(join, blocks left out): with those, as many blocks as the rows in
// gj_offsets_launch. As many as its last parameter, the first ones, are for the build side.
extern "C" __global__ void __launch_bounds__(offsets_threads, 1) gj_offsets(const gj_join* join, uint64_t before) {
  offsets<offsets_threads>(join, offsets_slices, (uint32_t)before);
}
LAUNCH(gj_offsets, offsets_threads, 1, 0, 3 * offsets_slices + 2, offsets_slices)

// gj_close(join, key bytes, build columns, probe columns, bytes of a build column, of a probe column; 0: fields).
extern "C" __global__ void __launch_bounds__(close_threads, 1)
    gj_close(const gj_join* join, uint64_t key, uint64_t build, uint64_t probe, uint64_t build_bytes, uint64_t probe_bytes) {
  close_output<close_threads>(join, (int)key, {(int)build, (int)probe}, {(int)build_bytes, (int)probe_bytes});
}
LAUNCH(gj_close, close_threads, 1, 0, 0, 0)

// gj_positions(join, side, most rows, from): copies a packed side's positions.
// gj_gather_packed(join, side, most rows): gathers its payload.
extern "C" __global__ void __launch_bounds__(packed_threads, packed_blocks) gj_positions(const gj_join* join, uint64_t side, uint64_t most, uint64_t from) {
  copy_positions(join, &join->side[side], most, from);
}
LAUNCH(gj_positions, packed_threads, packed_blocks, 0, 0, 0)
extern "C" __global__ void __launch_bounds__(packed_threads, packed_blocks) gj_gather_packed(const gj_join* join, uint64_t side, uint64_t most) {
  gather_packed<packed_threads, packed_rows>(join, &join->side[side], most);
}
LAUNCH(gj_gather_packed, packed_threads, packed_blocks, (GatherLayout<packed_rows, packed_threads / 32>::bytes), 0, 0)
static_assert(packed_blocks * ((GatherLayout<packed_rows, packed_threads / 32>::bytes) + block_shared) <= multiprocessor_shared);
