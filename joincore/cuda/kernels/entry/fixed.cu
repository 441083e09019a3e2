// The kernels that group rows, for package rowid, which makes kernels for single
// programs of their PTX.
#include "agent/aggregate.cuh"
#include "entry/define.cuh"

using namespace gj;

// As in entry/aggregate.cu, with more threads: code for one program needs few registers.
#define AGGREGATE(NAME, THREADS, R, WIDE, ONE)                                                                                             \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) NAME(const gj_aggregate* job) { aggregate<R, WIDE, ONE, FixedProgram>(job); } \
  LAUNCH(NAME, THREADS, 1, sizeof(BlockState), 32 * R, WarpSlots<R>::bytes_each)
AGGREGATE(gj_fixed_narrow_word, 1024, 4, false, true)
AGGREGATE(gj_fixed_narrow_words, 1024, 4, false, false)
AGGREGATE(gj_fixed_wide_word, 1024, 2, true, true)
AGGREGATE(gj_fixed_wide_words, 1024, 2, true, false)
