// The kernels of division. Package cuda launches them.
#include "agent/divide.cuh"
#include "entry/define.cuh"

using namespace gj;

constexpr int divide_threads = GJ_DIVIDE_FAN, divide_rows_each = 16, count_blocks = 8, place_blocks = 4;

// gj_divide_count(divide), gj_divide_start(divide): one block,
// gj_divide_place(divide).
extern "C" __global__ void __launch_bounds__(divide_threads) gj_divide_count(const gj_divide* d) { divide_count<divide_threads>(d); }
LAUNCH(gj_divide_count, divide_threads, count_blocks, 0, divide_threads * divide_rows_each, GJ_DIVIDE_FAN)
extern "C" __global__ void __launch_bounds__(divide_threads) gj_divide_start(const gj_divide* d) { divide_start<divide_threads>(d); }
LAUNCH(gj_divide_start, divide_threads, 1, 0, 0, GJ_DIVIDE_FAN)
extern "C" __global__ void __launch_bounds__(divide_threads, place_blocks) gj_divide_place(const gj_divide* d) {
  divide_place<divide_threads, divide_rows_each>(d);
}
LAUNCH(gj_divide_place, divide_threads, place_blocks, 0, divide_threads * divide_rows_each, GJ_DIVIDE_FAN)

// gj_divide_range(range) and gj_divide_widen(widen) get their descriptors by value.
extern "C" __global__ void __launch_bounds__(divide_threads) gj_divide_range(const gj_range d) { divide_range<divide_threads>(d); }
LAUNCH(gj_divide_range, divide_threads, count_blocks, 0, divide_threads * divide_rows_each, 0)
extern "C" __global__ void __launch_bounds__(divide_threads) gj_divide_widen(const gj_widen d) { divide_widen<divide_threads>(d); }
LAUNCH(gj_divide_widen, divide_threads, count_blocks, 0, divide_threads * divide_rows_each, 0)
