// The kernels that group rows. Package groups launches them.
#include "agent/aggregate.cuh"
#include "agent/group_table.cuh"
#include "agent/select.cuh"
#include "entry/define.cuh"

using namespace gj;

constexpr int simple_threads = 256, simple_blocks = 8;
constexpr int select_threads = 256, select_rows_each = 16, select_blocks = 4;

// gj_aggregate_V_K(job): V is narrow for values of 64 bits, else wide; K is word for
// keys of one word, else words. One block runs on a multiprocessor, with at most the
// given threads. Shared memory as in gj_aggregate. The launch says the bytes of what
// a block knows, the rows of a warp's tile, and the bytes of a warp's slot.
#define AGGREGATE(NAME, THREADS, R, WIDE, ONE)                                                                    \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const gj_aggregate* job) { aggregate<R, WIDE, ONE, StagedProgram>(job); } \
  LAUNCH(NAME, THREADS, 1, sizeof(BlockState), 32 * R, WarpSlots<R>::bytes_each)
AGGREGATE(gj_aggregate_narrow_word, 512, 8, false, true)
AGGREGATE(gj_aggregate_narrow_words, 512, 8, false, false)
AGGREGATE(gj_aggregate_wide_word, 512, 4, true, true)
AGGREGATE(gj_aggregate_wide_words, 512, 4, true, false)

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
