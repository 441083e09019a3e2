// The kernels of the sort-merge join and of the join without partitions. The fifth
// number of NAME_launch (entry/define.cuh) is the number of values of a digit.
#include "agent/count.cuh"
#include "agent/equal_runs.cuh"
#include "agent/merge.cuh"
#include "agent/npj.cuh"
#include "agent/radix.cuh"
#include "agent/spread.cuh"
#include "entry/define.cuh"
#include "tuning/sort.cuh"

using namespace gj;

// gj_sort_count_k<key words>(sort): the histograms of all passes.
#define COUNT(K)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(count_threads) gj_sort_count_k##K(const gj_sort* sort) {                       \
    count_digits<K, count_threads>(sort);                                                                                     \
  }                                                                                                                           \
  LAUNCH(gj_sort_count_k##K, count_threads, 3, count_bytes, 0, GJ_SORT_FAN)
COUNT(1)
COUNT(2)

// gj_sort_pass_k<key words>_<4: values of at most 4 bytes, 8: any>_<many, few rows>(sort, pass).
#define PASS(NAME, K, VB, ROWS, BLOCKS)                                                                                       \
  extern "C" __global__ void __launch_bounds__(GJ_SORT_FAN, BLOCKS) NAME(const gj_sort* sort, uint64_t pass) {                \
    radix_pass<K, GJ_SORT_FAN, ROWS, VB>(sort, (uint32_t)pass);                                                               \
  }                                                                                                                           \
  LAUNCH(NAME, GJ_SORT_FAN, BLOCKS, (RadixLayout<GJ_SORT_FAN, GJ_SORT_FAN * ROWS, VB>::bytes), GJ_SORT_FAN * ROWS, GJ_SORT_FAN)
#define PASSES(K, VB)                                                                                                         \
  PASS(gj_sort_pass_k##K##_##VB##_many, K, VB, radix_tuning(VB == 8, true).rows, radix_tuning(VB == 8, true).blocks)          \
  PASS(gj_sort_pass_k##K##_##VB##_few, K, VB, radix_tuning(VB == 8, false).rows, radix_tuning(VB == 8, false).blocks)

// gj_merge_split_k<key words>(merge), gj_merge_k<...>(merge), gj_merge_runs_k<...>(merge).
#define MT(F, K) merge_tuning(K).F
#define MERGE_STEP(NAME, HOW, K)                                                                                              \
  extern "C" __global__ void __launch_bounds__(MT(threads, K), MT(blocks, K)) NAME(const gj_merge* merge) {                   \
    HOW<K, MT(threads, K), MT(rows, K)>(merge);                                                                               \
  }                                                                                                                           \
  LAUNCH(NAME, MT(threads, K), MT(blocks, K), (MergeLayout<K, MT(threads, K), MT(rows, K)>::bytes), MT(threads, K) * MT(rows, K), 0)
#define MERGE(K)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(split_threads) gj_merge_split_k##K(const gj_merge* merge) {                    \
    split_sides<K, MT(threads, K) * MT(rows, K)>(merge);                                                                      \
  }                                                                                                                           \
  LAUNCH(gj_merge_split_k##K, split_threads, 1, 0, 0, 0)                                                                      \
  MERGE_STEP(gj_merge_k##K, merge_join, K)                                                                                    \
  MERGE_STEP(gj_merge_runs_k##K, join_equal_runs, K)
MERGE(1)
MERGE(2)

// gj_table_range_k<key words>(table), gj_table_enter_k<...>(table), gj_table_probe_k<...>(table).
#define TABLE(K)                                                                                                              \
  extern "C" __global__ void __launch_bounds__(table_threads) gj_table_range_k##K(const gj_table* table) {                    \
    key_range<K, table_threads>(table);                                                                                       \
  }                                                                                                                           \
  LAUNCH(gj_table_range_k##K, table_threads, 8, 0, 0, 0)                                                                      \
  extern "C" __global__ void __launch_bounds__(table_threads, 8) gj_table_enter_k##K(const gj_table* table) {                 \
    enter_rows<K, table_threads>(table);                                                                                      \
  }                                                                                                                           \
  LAUNCH(gj_table_enter_k##K, table_threads, 8, 0, 0, 0)                                                                      \
  extern "C" __global__ void __launch_bounds__(table_threads, table_blocks) gj_table_probe_k##K(const gj_table* table) {      \
    probe_rows<K, table_threads, table_rows>(table);                                                                          \
  }                                                                                                                           \
  LAUNCH(gj_table_probe_k##K, table_threads, table_blocks, 0, table_threads * table_rows, 0)
TABLE(1)
TABLE(2)

// gj_spread_enter_k<key words>(spread), gj_spread_probe_k<...>(spread): a table in the memory of several devices.
#define SPREAD(K)                                                                                                             \
  extern "C" __global__ void __launch_bounds__(table_threads, 8) gj_spread_enter_k##K(const gj_spread* spread) {              \
    enter_spread<K, table_threads>(spread);                                                                                   \
  }                                                                                                                           \
  LAUNCH(gj_spread_enter_k##K, table_threads, 8, 0, 0, 0)                                                                     \
  extern "C" __global__ void __launch_bounds__(table_threads, table_blocks) gj_spread_probe_k##K(const gj_spread* spread) {   \
    probe_rows<K, table_threads, table_rows, SpreadSlots<K>>(spread);                                                         \
  }                                                                                                                           \
  LAUNCH(gj_spread_probe_k##K, table_threads, table_blocks, 0, table_threads * table_rows, 0)
SPREAD(1)
SPREAD(2)

// gj_result_gather(result, column).
extern "C" __global__ void __launch_bounds__(gather_threads) gj_result_gather(const gj_result* result, uint64_t column) {
  gather_result<gather_threads>(result, (uint32_t)column);
}
LAUNCH(gj_result_gather, gather_threads, gather_blocks, 0, 0, 0)

// gj_spread_gather(result, column, row bits): of a build side in the memory of several devices.
extern "C" __global__ void __launch_bounds__(gather_threads) gj_spread_gather(const gj_result* result, uint64_t column, uint64_t row_bits) {
  gather_spread<gather_threads>(result, (uint32_t)column, row_bits);
}
LAUNCH(gj_spread_gather, gather_threads, gather_blocks, 0, 0, 0)

PASSES(1, 4)
PASSES(1, 8)
PASSES(2, 8)
