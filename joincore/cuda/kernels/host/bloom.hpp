#pragma once
#include "memory.hpp"

#include "agent/bloom.cuh"

// A side of a join in the device's memory.
struct Input {
  uint32_t rows;
  uint64_t key;
  std::vector<uint64_t> column;
};

constexpr int reduction_threads = 64, reduction_vectors = 2;

// The probe rows that pass a filter of the build side's keys. The filter has
// words words, the payload columns have these widths, and the result has memory
// for capacity rows. The result counts also the rows that did not fit.
template <int KW>
Input reduced(Memory& memory, const Input& build, const Input& probe, const std::vector<int>& widths, uint32_t words, uint32_t capacity) {
  gj_join job{};
  job.side[0].rows = build.rows, job.side[0].key = build.key;
  job.side[1].rows = probe.rows, job.side[1].key = probe.key;
  job.counters = memory.take_cleared(GJ_COUNTERS * 2);
  Input left{0, memory.take((size_t)capacity * KW * 4), {}};
  std::vector<gj_field> fields;
  for (size_t k = 0; k < widths.size(); k++) {
    const uint64_t width = widths[k];
    left.column.push_back(memory.take(capacity * width));
    fields.push_back({probe.column[k], width, left.column[k], width, width});
  }
  job.side[1].fields = reinterpret_cast<uint64_t>(fields.data()), job.side[1].field_count = fields.size();
  const uint64_t filter = memory.take_cleared(words * 2);
  host::launch(2, reduction_threads, [&] { gj::fill_filter<KW, reduction_threads>(&job, filter, words); });
  host::launch(3, reduction_threads, [&] { gj::keep_rows<KW, reduction_threads, reduction_vectors>(&job, gj::FilterKeeps<KW>(filter, words), left.key, capacity); });
  left.rows = (uint32_t)reinterpret_cast<uint64_t*>(job.counters)[GJ_KEPT];
  return left;
}
