// The kernels that group rows. Package groups launches them.
#include "agent/aggregate.cuh"
#include "agent/select.cuh"
#include "entry/define.cuh"

using namespace gj;

constexpr int aggregate_threads = 256, aggregate_rows_each = 4, aggregate_blocks = 3;
constexpr int simple_threads = 256, simple_blocks = 8;
constexpr int select_threads = 256, select_rows_each = 16, select_blocks = 4;

// gj_aggregate_word(job), gj_aggregate_words(job): keys of one word, of several.
// Dynamic shared memory: the program's slots and the block's table. The fifth number
// of their launch is the bytes of a slot.
#define AGGREGATE(NAME, ONE)                                                                                                  \
  extern "C" __global__ void __launch_bounds__(aggregate_threads, aggregate_blocks) NAME(const gj_aggregate* job) {           \
    aggregate<aggregate_threads, aggregate_rows_each, ONE>(job);                                                              \
  }                                                                                                                           \
  LAUNCH(NAME, aggregate_threads, aggregate_blocks, 0, aggregate_threads* aggregate_rows_each, (SharedSlots<aggregate_threads, aggregate_rows_each>::bytes(1)))
AGGREGATE(gj_aggregate_word, true)
AGGREGATE(gj_aggregate_words, false)

// gj_clear_groups(groups), gj_move_groups(from, to), gj_make_result(result).
extern "C" __global__ void __launch_bounds__(simple_threads) gj_clear_groups(const gj_groups* groups) { clear_groups(groups); }
LAUNCH(gj_clear_groups, simple_threads, simple_blocks, 0, 0, 0)
extern "C" __global__ void __launch_bounds__(simple_threads) gj_move_groups(const gj_groups* from, const gj_groups* to) { move_groups(from, to); }
LAUNCH(gj_move_groups, simple_threads, simple_blocks, 0, 0, 0)
extern "C" __global__ void __launch_bounds__(simple_threads) gj_make_result(const gj_result* result) { make_result(result); }
LAUNCH(gj_make_result, simple_threads, simple_blocks, 0, 0, 0)

// gj_select_groups(slots, scan, out, total, groups): the slots that have a group.
extern "C" __global__ void __launch_bounds__(select_threads)
    gj_select_groups(uint64_t slots, uint64_t* scan, uint32_t* out, uint64_t* total, const gj_groups* groups) {
  select_rows<select_threads, select_rows_each>(
      slots, scan, total, [&](uint32_t slot) { return has_group(groups, slot); }, [&](uint32_t slot, uint64_t at) { __stcs(out + at, slot); });
}
LAUNCH(gj_select_groups, select_threads, select_blocks, 0, select_threads * select_rows_each, 0)
