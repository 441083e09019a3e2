// Defines the match kernels, one per line of entry/fused.inc.
#pragma once
#include "agent/bypass.cuh"
#include "agent/match.cuh"
#include "agent/match_listed.cuh"
#include "entry/define.cuh"
#include "layout/payload_kinds.cuh"
#include "tuning/join.cuh"

using namespace gj;

// gj_inner_k<key words>_<build payload>_<probe payload>(join), and the same named
// gj_listed_... with a match list, for payload that is gathered.
#define MATCH(NAME, HOW, SHARED, K, PB, PS, T, C, NB, IPT, B)                                                                      \
  extern "C" __global__ void __launch_bounds__(T, B) NAME(const gj_join* join) { HOW<K, p_##PB, p_##PS, T, C, NB, IPT>(join); }      \
  static_assert(B * (SHARED + block_shared) <= multiprocessor_shared);                                                             \
  LAUNCH(NAME, T, B, SHARED, C, 0)
#define MATCH_TUNED(NAME, HOW, LAYOUT, TUNING, K, PB, PS)                                                                          \
  MATCH(NAME, HOW, (LAYOUT<K, p_##PB, p_##PS, TUNING.chunk, TUNING.buckets, TUNING.rows, TUNING.threads / 32>::bytes), K, PB, PS,   \
        TUNING.threads, TUNING.chunk, TUNING.buckets, TUNING.rows, TUNING.blocks)
#define INNER(K, PB, PS)                                              \
  MATCH_TUNED(gj_inner_k##K##_##PB##_##PS, match, MatchLayout,        \
              match_tuning(K + p_##PB::words, K + p_##PS::words, p_##PB::fetched || p_##PS::fetched,                              \
                           p_##PB::kind == PayloadKind::field || p_##PS::kind == PayloadKind::field),                              \
              K, PB, PS)
#define LISTED(K, PB, PS) \
  MATCH_TUNED(gj_listed_k##K##_##PB##_##PS, match_listed, ListedLayout, listed_tuning(K + p_##PB::words, K + p_##PS::words), K, PB, PS)

// gj_bypass_k<key words>_<build payload>_<probe payload>(join).
#define BYPASS(K, PB, PS)                                                                                                          \
  extern "C" __global__ void __launch_bounds__(bypass_threads, bypass_blocks) gj_bypass_k##K##_##PB##_##PS(const gj_join* join) {  \
    bypass<K, p_##PB, p_##PS, bypass_threads, bypass_rows>(join);                                                                  \
  }                                                                                                                                \
  LAUNCH(gj_bypass_k##K##_##PB##_##PS, bypass_threads, bypass_blocks, (BypassLayout<K, p_##PB, p_##PS, bypass_threads, bypass_rows>::bytes), 0, 0)
