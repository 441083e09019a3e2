// Histograms, Bloom filters and hot keys of joins that several devices execute together, and
// compression of the rows that they send.
#include "agent/compress.cuh"
#include "agent/hot.cuh"
#include "agent/keep.cuh"
#include "agent/merge_filters.cuh"
#include "agent/send.cuh"
#include "entry/define.cuh"
#include "tuning/join.cuh"
#include "tuning/send.cuh"

using namespace gj;

// The size of gj_send in bytes and its members, for the host's mirror.
extern "C" __constant__ const uint64_t gj_send_layout[2] = {sizeof(gj_send), GJ_MEMBERS};

// gj_fold_counts(histogram, bits of the first pass, of the second, rows by parent).
extern "C" __global__ void __launch_bounds__(fold_threads, 2)
    gj_fold_counts(const uint32_t* count, uint64_t bits_first, uint64_t bits_second, uint32_t* parent) {
  fold_counts<fold_threads>(count, (uint32_t)bits_first, (uint32_t)bits_second, parent);
}
LAUNCH(gj_fold_counts, fold_threads, 2, 0, fold_threads / 32, 0)

// gj_merge_counts(addresses of histograms, senders by parent, bits of the first pass, of
// the second, merged histogram).
extern "C" __global__ void __launch_bounds__(fold_threads, 2)
    gj_merge_counts(const uint64_t* counts, const uint32_t* from, uint64_t bits_first, uint64_t bits_second, uint32_t* merged) {
  merge_counts<fold_threads>(counts, from, (uint32_t)bits_first, (uint32_t)bits_second, merged);
}
LAUNCH(gj_merge_counts, fold_threads, 2, 0, fold_threads, 0)

// gj_merge_filters(addresses of filters, their number, first and last unit of 16 bytes).
extern "C" __global__ void __launch_bounds__(fold_threads, 4) gj_merge_filters(const uint64_t* filters, uint64_t members, uint64_t from, uint64_t to) {
  merge_filters<fold_threads>(filters, (uint32_t)members, from, to);
}
LAUNCH(gj_merge_filters, fold_threads, 4, 0, fold_threads, 0)

// gj_sample_keys_k<key words>(join, sampled rows, keys to write).
// gj_hot_rows_k<key words>(join, keys to write).
// gj_keep_cold_k<key words>(join, keys to write, capacity in rows): copies the probe rows
// that the bypass has not joined.
#define HOT(K)                                                                                                                         \
  extern "C" __global__ void __launch_bounds__(fold_threads, 1) gj_sample_keys_k##K(const gj_join* join, uint64_t n, uint64_t to) {    \
    sample_keys<K>(join, (uint32_t)n, to);                                                                                             \
  }                                                                                                                                    \
  LAUNCH(gj_sample_keys_k##K, fold_threads, 1, 0, fold_threads, 0)                                                                     \
  extern "C" __global__ void __launch_bounds__(fold_threads, 1) gj_hot_rows_k##K(const gj_join* join, uint64_t keys) {                 \
    copy_hot_rows<K>(join, keys);                                                                                                      \
  }                                                                                                                                    \
  LAUNCH(gj_hot_rows_k##K, fold_threads, 1, 0, fold_threads, 0)                                                                        \
  extern "C" __global__ void __launch_bounds__(reduce_threads, reduce_blocks)                                                          \
      gj_keep_cold_k##K(const gj_join* join, uint64_t keys, uint64_t capacity) {                                                       \
    keep_rows<K, reduce_threads, reduce_vectors>(join, ColdKeeps<K>(join), keys, capacity);                                            \
  }                                                                                                                                    \
  LAUNCH(gj_keep_cold_k##K, reduce_threads, reduce_blocks, (KeepLayout<K, reduce_threads, reduce_vectors>::bytes),                     \
         (KeepLayout<K, reduce_threads, reduce_vectors>::tile), 0)
HOT(1)
HOT(2)

// The sizes of gj_compression, gj_row_word, gj_row_part and gj_parcel in bytes, the rows of a chunk, its unit
// in bytes and the most words of a row, for the host's mirrors.
extern "C" __constant__ const uint64_t gj_compress_layout[7] = {
    sizeof(gj_compression), sizeof(gj_row_word), sizeof(gj_row_part), sizeof(gj_parcel), GJ_CHUNK_ROWS, GJ_CHUNK_UNIT, GJ_COMPRESSED_WORDS};

// gj_compress_k<key words>(compression): rows to chunks. gj_expand_k<key words>(compression): chunks to rows.
#define COMPRESS(K)                                                                                                               \
  extern "C" __global__ void __launch_bounds__(compress_threads, compress_blocks) gj_compress_k##K(const gj_compression* c) {    \
    __shared__ CompressShared s;                                                                                                  \
    compress_rows<K, compress_threads>(c, s);                                                                                     \
  }                                                                                                                               \
  LAUNCH(gj_compress_k##K, compress_threads, compress_blocks, 0, GJ_CHUNK_ROWS, 0)                                                \
  extern "C" __global__ void __launch_bounds__(compress_threads, compress_blocks) gj_expand_k##K(const gj_compression* c) {      \
    __shared__ ChunkColumns columns;                                                                                              \
    expand_rows<K, compress_threads>(c, columns);                                                                                 \
  }                                                                                                                               \
  LAUNCH(gj_expand_k##K, compress_threads, compress_blocks, 0, GJ_CHUNK_ROWS, 0)
COMPRESS(1)
COMPRESS(2)
