// Defines the kernels of partition passes, one per line of entry/fused.inc.
#pragma once
#include "agent/field_source.cuh"
#include "agent/scatter.cuh"
#include "agent/scatter_packed.cuh"
#include "entry/define.cuh"
#include "layout/payload_kinds.cuh"
#include "tuning/join.cuh"

using namespace gj;

#define SCATTER(NAME, SOURCE, TARGET, K, W, TUNED)                                                                                 \
  extern "C" __global__ void __launch_bounds__(TUNED.threads, TUNED.blocks) NAME(const gj_join* join, uint64_t side) {             \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter<K, W, TUNED.threads, TUNED.rows, TUNED.unit, TUNED.fan>(SOURCE, TARGET(join, s));                                      \
  }                                                                                                                                \
  LAUNCH(NAME, TUNED.threads, TUNED.blocks, (ScatterLayout<W, TUNED.threads * TUNED.rows, TUNED.unit, TUNED.fan>::bytes),          \
         TUNED.threads * TUNED.rows, TUNED.fan)

// gj_first_k<key words>_<payload>(join, side): from an input's columns.
// gj_unaligned_<the same>: from columns of fields that begin anywhere.
// gj_cold_<the same>: without the rows that the bypass joined.
#define FROM_COLUMNS(NAME, SOURCE, K, P) SCATTER(NAME, SOURCE, first_target, K, K + p_##P::words, scatter_first(K + p_##P::words))
#define FIRST_FIELDS(K, P) SCATTER(gj_first_k##K##_##P, (FieldSource<K, p_##P>(s)), first_target, K, K + p_##P::words, scatter_fields(K + p_##P::words))
#define FIRST_BESIDE(P)                                                                                                            \
  static_assert(scatter_beside(p_##P::words).unit > 1);                                                                            \
  SCATTER(gj_first_k1_##P, (BesideSource<p_##P, scatter_beside(p_##P::words).rows>(s)), first_target, 1, p_##P::words, scatter_beside(p_##P::words))
#define FIRST_UNALIGNED(K, P) FROM_COLUMNS(gj_unaligned_k##K##_##P, (ColumnSource<K, p_##P>(s)), K, P)
#define FIRST(K, P) FROM_COLUMNS(gj_first_k##K##_##P, (ColumnSource<K, p_##P>(s)), K, P)
#define COLD(K, P) FROM_COLUMNS(gj_cold_k##K##_##P, (ColdSource<K, p_##P>(join, s)), K, P)

// gj_second_k<key words>_w<row words>(join, side): from the first pass's buffer.
// gj_second_rest_w<row words>(join, side): the same of rows with the rest of a hash.
// gj_place_k<key words>(join, side): only keys, and positions in that buffer.
#define FROM_BUFFER(NAME, SOURCE, K, W) SCATTER(NAME, SOURCE, second_target, K, W, scatter_second(W))
#define SECOND(K, W) FROM_BUFFER(gj_second_k##K##_w##W, BufferSource<W>(join, s), K, W)
#define SECOND_OF_REST(W) SCATTER(gj_second_rest_w##W, BufferSource<W>(join, s), second_of_rest, 0, W, scatter_second(W))
#define PLACE(K) FROM_BUFFER(gj_place_k##K, PlaceSource<K>(join, s), K, (K + 1))

// gj_pack_k<key words>(join, side): from columns of any widths, to any lanes.
#define PACK(K)                                                                                                                    \
  extern "C" __global__ void __launch_bounds__(pack_threads, pack_blocks) gj_pack_k##K(const gj_join* join, uint64_t side) {       \
    const gj_side* s = &join->side[side];                                                                                          \
    scatter_packed<K, pack_threads, pack_rows, pack_fan, pack_shared()>(s, PackedTarget(join, s));                                   \
  }                                                                                                                                \
  LAUNCH(gj_pack_k##K, pack_threads, pack_blocks, pack_shared(), pack_threads * pack_rows, pack_fan)
