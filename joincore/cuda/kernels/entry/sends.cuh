// Defines the first passes of joins over several devices, one per line of entry/fused.inc.
#pragma once
#include "agent/send.cuh"
#include "agent/send_packed.cuh"
#include "entry/define.cuh"
#include "layout/payload_kinds.cuh"
#include "tuning/join.cuh"
#include "tuning/send.cuh"

using namespace gj;

__host__ __device__ constexpr Scatter scatter_send(int words) {
  Scatter tuned = scatter_first(words);
  tuned.rows = send_rows(words, tuned.rows);
  tuned.unit = send_unit(words, tuned.unit);
  return tuned;
}

// gj_send_k<key words>_<payload>(join, side, send). The last of its launch parameters is
// the most partitions, plus 2^16 times the rows of a unit.
#define SEND_TUNED(NAME, K, P, W, TUNED)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(TUNED.threads, TUNED.blocks) NAME(const gj_join* join, uint64_t side, const gj_send* send) {     \
    __shared__ SendPlaces<W, TUNED.fan> places;                                                                                                    \
    scatter<K, W, TUNED.threads, TUNED.rows, TUNED.unit, TUNED.fan>(SentSource<K, p_##P>(&join->side[side], send),                              \
                                                                    SendTarget<W, TUNED.fan>(join, send, &places));                                \
  }                                                                                                                                             \
  LAUNCH(NAME, TUNED.threads, TUNED.blocks, (ScatterLayout<W, TUNED.threads * TUNED.rows, TUNED.unit, TUNED.fan>::bytes),                       \
         TUNED.threads * TUNED.rows, TUNED.fan | TUNED.unit << 16)
#define SEND(K, P) SEND_TUNED(gj_send_k##K##_##P, K, P, (K + p_##P::words), scatter_send(K + p_##P::words))

// gj_send_k<key words>_packed(join, side, send): of a packed payload.
#define SEND_PACKED(K)                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(pack_threads, pack_blocks)                                                                       \
      gj_send_k##K##_packed(const gj_join* join, uint64_t side, const gj_send* send) {                                                          \
    __shared__ PackedPlaces<pack_fan> places;                                                                                                   \
    scatter_packed<K, pack_threads, pack_rows, pack_fan, pack_shared()>(&join->side[side], SendPackedTarget<pack_fan>(join, send, &places)); \
  }                                                                                                                                             \
  LAUNCH(gj_send_k##K##_packed, pack_threads, pack_blocks, pack_shared(), pack_threads * pack_rows, pack_fan | 1 << 16)
