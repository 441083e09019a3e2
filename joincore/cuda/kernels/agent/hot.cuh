// Hot keys of a join over several devices. Their build rows are brought to all devices,
// whose bypass (agent/bypass.cuh) joins the probe rows with a hot key where they are. The
// other probe rows are copied to columns of their own and sent.
//
// Every device contributes part of the sample (agent/sample.cuh), in proportion to its probe
// rows. The host brings the keys of all to each device, which looks its build rows up in
// the same table, and adds up the matches of all devices.
#pragma once
#include "agent/sample.cuh"
#include "layout/payload.cuh"

namespace gj {

// Takes the keys of n probe rows, one from each of n ranges of equal size.
template <int KW>
__device__ __forceinline__ void sample_keys(const gj_join* join, uint32_t n, uint64_t to) {
  const uint64_t rows = join->side[1].rows;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n && rows; i += gridDim.x * blockDim.x) {
    const uint32_t number[1] = {i};
    uint32_t key[KW];
    load_key<KW>(join->side[1].key, (i * rows + ((uint64_t)hash_words(number).part * rows >> 32)) / n, key);
#pragma unroll
    for (int q = 0; q < KW; q++) reinterpret_cast<uint32_t*>(to)[(uint64_t)i * KW + q] = key[q];
  }
}

// Copies the build rows that sum_sample has found for hot keys: keys to `keys`, payload by
// the build side's fields, each to the row with the hot key's number.
template <int KW>
__device__ __forceinline__ void copy_hot_rows(const gj_join* join, uint64_t keys) {
  const gj_sample* sample = reinterpret_cast<const gj_sample*>(join->sample);
  const uint32_t n = (uint32_t)sample->summary[GJ_HOT];
  for (uint32_t h = blockIdx.x * blockDim.x + threadIdx.x; h < n; h += gridDim.x * blockDim.x) {
    const uint32_t row[1] = {sample->hot_row[h]};
    uint32_t key[KW];
    load_key<KW>(join->side[0].key, row[0], key);
#pragma unroll
    for (int q = 0; q < KW; q++) reinterpret_cast<uint32_t*>(keys)[(uint64_t)h * KW + q] = key[q];
    gather_fields(join->side[0], row, 1, [&](int) { return h; });
  }
}

// Which probe rows the bypass has not joined (agent/keep.cuh).
template <int KW>
struct ColdKeeps {
  struct Found {
    uint32_t row, word;
  };
  const uint32_t* bypassed;
  const uint64_t rows;
  __device__ explicit ColdKeeps(const gj_join* join) : bypassed(reinterpret_cast<const uint32_t*>(join->bypassed)), rows(join->side[1].rows) {}
  __device__ __forceinline__ Found find(const uint32_t (&)[KW], uint64_t row) const { return {(uint32_t)row, row < rows ? __ldg(bypassed + row / 32) : 0}; }
  __device__ __forceinline__ static bool keeps(const Found& f) { return !(f.word >> f.row % 32 & 1); }
};

}  // namespace gj
