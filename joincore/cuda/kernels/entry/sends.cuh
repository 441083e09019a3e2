// Defines the first passes of joins over several devices, one per line of entry/fused.inc.
#pragma once
#include "agent/send.cuh"
#include "entry/define.cuh"
#include "layout/payload_kinds.cuh"
#include "tuning/join.cuh"
#include "tuning/send.cuh"

using namespace gj;

__host__ __device__ constexpr Scatter scatter_send(int words) {
  Scatter tuned = scatter_first(words);
  tuned.rows = send_rows(words, tuned.rows);
  return tuned;
}

// gj_send_k<key words>_<payload>(join, side, send). The last of its launch parameters is
// the most partitions, plus 2^16 times the rows of a unit.
#define SEND_TUNED(NAME, K, P, W, TUNED)                                                                                                        \
  extern "C" __global__ void __launch_bounds__(TUNED.threads, TUNED.blocks) NAME(const gj_join* join, uint64_t side, const gj_send* send) {     \
    __shared__ SendPlaces<W, TUNED.fan> places;                                                                                                    \
    scatter<K, W, TUNED.threads, TUNED.rows, TUNED.unit, TUNED.fan>(ColumnSource<K, p_##P>(&join->side[side]),                                  \
                                                                    SendTarget<W, TUNED.fan>(join, send, &places));                                \
  }                                                                                                                                             \
  LAUNCH(NAME, TUNED.threads, TUNED.blocks, (ScatterLayout<W, TUNED.threads * TUNED.rows, TUNED.unit, TUNED.fan>::bytes),                       \
         TUNED.threads * TUNED.rows, TUNED.fan | TUNED.unit << 16)
#define SEND(K, P) SEND_TUNED(gj_send_k##K##_##P, K, P, (K + p_##P::words), scatter_send(K + p_##P::words))
