// Joins the probe rows of hot keys directly from the input's columns with their
// few build rows in shared memory. These rows skip the partitioning, where they
// would all fall into a few partitions. Each joined row is marked in `bypassed`
// and subtracted from the histogram.
//
// Bound: reads the probe side's keys and the payload of the rows that it joins;
// writes each output row once.
#pragma once
#include "agent/sample.cuh"
#include "agent/scatter.cuh"
#include "block/arena.cuh"
#include "block/emit.cuh"

namespace gj {

// Shared memory: the sample's table, the numbers of its hot keys, their build
// rows' payload, how often each was met, and an output stage per warp.
template <int KW, class B, class S, int T, int N>
struct BypassLayout {
  using H = typename WholeHash<KW>::type;
  static constexpr int hot = GJ_SAMPLE_SLOTS * sizeof(H), payload = hot + GJ_SAMPLE_SLOTS * 2, met = payload + GJ_HOT_KEYS * B::words * 4,
                       stages = met + GJ_HOT_KEYS * 4, stage_bytes = Emitter<KW, B, S>::stage_bytes(N), bytes = stages + stage_bytes * (T / 32);
};

template <int KW, class B, class S, int T, int N>
__device__ __forceinline__ void bypass(const gj_join* join) {
  using Layout = BypassLayout<KW, B, S, T, N>;
  using H = typename Layout::H;
  constexpr int WS = KW + S::words;
  constexpr uint16_t none = 0xffff;
  static_assert(GJ_HOT_KEYS < none);
  extern __shared__ uint4 shared[];
  char* smem = reinterpret_cast<char*>(shared);
  H* table = reinterpret_cast<H*>(smem);
  uint16_t* hot = reinterpret_cast<uint16_t*>(smem + Layout::hot);
  uint32_t* payload = reinterpret_cast<uint32_t*>(smem + Layout::payload);  // word q of hot key h at [q * GJ_HOT_KEYS + h]
  uint32_t* met = reinterpret_cast<uint32_t*>(smem + Layout::met);
  const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x / 32;
  uint32_t* stage = reinterpret_cast<uint32_t*>(smem + Layout::stages + warp * Layout::stage_bytes);
  __shared__ unsigned long long claim;
  __shared__ gj_join job;
  for (uint32_t i = threadIdx.x; i < sizeof job / 8; i += T) reinterpret_cast<uint64_t*>(&job)[i] = reinterpret_cast<const uint64_t*>(join)[i];
  __syncthreads();

  const gj_sample* sample = reinterpret_cast<const gj_sample*>(job.sample);
  const uint32_t keys = (uint32_t)sample->summary[GJ_HOT];
  for (uint32_t i = threadIdx.x; i < GJ_SAMPLE_SLOTS; i += T) table[i] = (H)sample->entry[i], hot[i] = (uint16_t)min(sample->hot[i], (uint32_t)none);
  const ColumnSource<KW, B> build(&job.side[0]);
  for (uint32_t h = threadIdx.x; h < keys; h += T) {
    Row<KW + B::words> r;
    build.load_payload(sample->hot_row[h], r);
#pragma unroll
    for (int q = 0; q < B::words; q++) payload[q * GJ_HOT_KEYS + h] = r.word[KW + q];
    met[h] = 0;
  }
  if (threadIdx.x == 0) claim = no_claim((uint32_t)job.output_chunk);
  __syncthreads();

  Emitter<KW, B, S> out;
  const ColumnSource<KW, S> probe(&job.side[1]);
  uint32_t* bypassed = reinterpret_cast<uint32_t*>(job.bypassed);
  const uint64_t rows = job.side[1].rows;
  for (uint64_t at = ((uint64_t)blockIdx.x * (T / 32) + warp) * (32 * N); at < rows; at += (uint64_t)gridDim.x * T * N) {
    Row<WS> r[N];
    uint32_t h[N], mask[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
      clear(r[j]);
      if (at + j * 32 + lane < rows) probe.load_key(at + j * 32 + lane, r[j]);
    }
#pragma unroll
    for (int j = 0; j < N; j++) {
      uint32_t key[KW];
#pragma unroll
      for (int q = 0; q < KW; q++) key[q] = r[j].word[q];
      const H hash = whole_hash(key);
      const uint32_t slot = hash & slot_mask;
      h[j] = at + j * 32 + lane < rows && table[slot] == sample_entry(hash) ? hot[slot] : none;
      mask[j] = __ballot_sync(~0u, h[j] != none);
      if (h[j] != none) {
        probe.load_payload(at + j * 32 + lane, r[j]);
        atomicAdd(&met[h[j]], 1);
      }
      if (lane == 0 && at + j * 32 < rows) bypassed[at / 32 + j] = mask[j];
    }
    out.template put<N>(
        job, &claim, stage, mask, [&](int j, int q) { return r[j].word[q]; }, [&](int j, int q) { return payload[q * GJ_HOT_KEYS + h[j]]; },
        [&](int j, int q) { return r[j].word[KW + q]; });
  }
  out.flush(job, &claim);
  __syncthreads();
  if (threadIdx.x == 0) reinterpret_cast<unsigned long long*>(job.tails)[job.bypass_tail + blockIdx.x] = claim;

  const int bits = (int)(job.bits_first + job.bits_second);
  uint64_t all = 0;
  for (uint32_t i = threadIdx.x; i < keys; i += T) {
    if (!met[i]) continue;
    uint32_t key[KW];
    load_key<KW>(job.side[0].key, sample->hot_row[i], key);
    atomicSub(reinterpret_cast<uint32_t*>(job.side[1].count) + (bits ? hash_words(key).part >> (32 - bits) : 0), met[i]);
    all += met[i];
  }
  for (int d = 16; d; d /= 2) all += __shfl_xor_sync(~0u, all, d);
  if (lane == 0 && all) atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_BYPASSED, (unsigned long long)all);
}

}  // namespace gj
