// Copies by threads between devices that exchange rows, and within one.
#include "agent/spans.cuh"
#include "entry/define.cuh"
#include "tuning/spans.cuh"

using namespace gj;

// The size of gj_spans in bytes and its pieces, for the host's mirror.
extern "C" __constant__ const uint64_t gj_spans_layout[2] = {sizeof(gj_spans), GJ_SPANS};

extern "C" __global__ void __launch_bounds__(span_threads, 2) gj_copy_spans(const gj_spans s) { copy_spans<span_threads, span_units>(s); }
LAUNCH(gj_copy_spans, span_threads, 2, 0, span_threads* span_units, 0)
