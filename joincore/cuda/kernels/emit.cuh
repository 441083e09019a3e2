// Writes a result's columns in whole lines.
//
// A store that covers part of a 32-byte sector costs an H200 about as much as
// two whole ones (copying 4-byte values: 3.4 TB/s aligned, 1.8 shifted by one).
// So a warp keeps the rows that do not fill 32 in registers, lane l the l-th,
// and writes only groups of 32 rows at multiples of 32; what is left at the
// kernel's end goes out as it is.
#pragma once
#include "arena.cuh"
#include "descriptor.h"
#include "row.cuh"

namespace gj {

template <int KW, int PB, int CB, int PS, int CS>
struct Emitter {
  uint32_t kept;  // rows in registers, the same for all lanes
  uint32_t key[KW], build[PB ? PB : 1], probe[PS ? PS : 1];

  // Bytes of shared memory a warp needs for n rows a lane.
  __host__ __device__ static constexpr int stage_bytes(int n) { return 32 * (n + 1) * 4 * (KW > 1 || (PB && CB > 1) || (PS && CS > 1) ? 2 : 1); }

  __device__ Emitter() : kept(0) {
    for (auto& w : key) w = 0;
    for (auto& w : build) w = 0;
    for (auto& w : probe) w = 0;
  }

  // N rows a lane: those with a bit of mask set. k, b and s give the words of
  // row j's key, build and probe values. All lanes call it.
  template <int N, class Key, class Build, class Probe>
  __device__ __forceinline__ void put(const gj_join& job, unsigned long long* claim, uint32_t* stage, const uint32_t (&mask)[N], Key k, Build b, Probe s) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t slot[N], all = kept;
#pragma unroll
    for (int j = 0; j < N; j++) {
      slot[j] = mask[j] >> lane & 1 ? all + __popc(mask[j] & ((1u << lane) - 1)) : ~0u;
      all += __popc(mask[j]);
    }
    const uint32_t groups = all / 32;  // at most N
    Claim rows{0, 0, 0, false};
    if (groups) rows = claim_rows(claim, job, groups * 32);
    column<KW, N>(rows, job.output_key, stage, groups, slot, key, k);
    if constexpr (PB > 0)
#pragma unroll
      for (int c = 0; c < PB / CB; c++)
        column<CB, N>(rows, job.output_column[0][c], stage, groups, slot, build + c * CB, [&](int j, int q) { return b(j, c * CB + q); });
    if constexpr (PS > 0)
#pragma unroll
      for (int c = 0; c < PS / CS; c++)
        column<CS, N>(rows, job.output_column[1][c], stage, groups, slot, probe + c * CS, [&](int j, int q) { return s(j, c * CS + q); });
    kept = all - groups * 32;
  }

  // Writes the kept rows.
  __device__ __forceinline__ void flush(const gj_join& job, unsigned long long* claim) {
    if (!kept) return;
    const Claim rows = claim_rows(claim, job, kept);
    const uint32_t lane = threadIdx.x & 31;
    if (!rows.fits || lane >= kept) return;
    if (job.output_key) write<KW>(job.output_key, rows.at(lane), key);
    if constexpr (PB > 0)
#pragma unroll
      for (int c = 0; c < PB / CB; c++) write<CB>(job.output_column[0][c], rows.at(lane), build + c * CB);
    if constexpr (PS > 0)
#pragma unroll
      for (int c = 0; c < PS / CS; c++) write<CS>(job.output_column[1][c], rows.at(lane), probe + c * CS);
  }

 private:
  template <int CW>
  __device__ static __forceinline__ void write(uint64_t column, uint64_t row, const uint32_t* w) {
    if constexpr (CW == 1)
      Write()(reinterpret_cast<uint32_t*>(column) + row, w[0]);
    else
      Write()(reinterpret_cast<uint2*>(column) + row, make_uint2(w[0], w[1]));
  }

  template <int CW>
  __device__ static __forceinline__ void to_stage(uint32_t* stage, uint32_t slot, const uint32_t (&w)[CW]) {
    if constexpr (CW == 1)
      stage[slot] = w[0];
    else
      reinterpret_cast<uint2*>(stage)[slot] = make_uint2(w[0], w[1]);
  }

  template <int CW>
  __device__ static __forceinline__ void from_stage(const uint32_t* stage, uint32_t slot, uint32_t (&w)[CW]) {
    if constexpr (CW == 1) {
      w[0] = stage[slot];
    } else {
      const uint2 v = reinterpret_cast<const uint2*>(stage)[slot];
      w[0] = v.x, w[1] = v.y;
    }
  }

  // Orders one column's new and kept values in shared memory, writes the full groups, keeps the rest.
  template <int CW, int N, class Value>
  __device__ __forceinline__ void column(const Claim& rows, uint64_t to, uint32_t* stage, uint32_t groups, const uint32_t (&slot)[N], uint32_t* keep,
                                         Value value) const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t w[CW];
    if (lane < kept) {
#pragma unroll
      for (int q = 0; q < CW; q++) w[q] = keep[q];
      to_stage<CW>(stage, lane, w);
    }
#pragma unroll
    for (int j = 0; j < N; j++)
      if (slot[j] != ~0u) {
#pragma unroll
        for (int q = 0; q < CW; q++) w[q] = value(j, q);
        to_stage<CW>(stage, slot[j], w);
      }
    __syncwarp();
    if (rows.fits && to) {
      if (rows.first == groups * 32) {
        to += (rows.base + lane) * (CW * 4);
#pragma unroll
        for (int g = 0; g < N; g++)
          if (g < groups) {
            from_stage<CW>(stage, g * 32 + lane, w);
            write<CW>(to, g * 32, w);
          }
      } else {  // across two chunks
        for (uint32_t g = 0; g < groups; g++) {
          from_stage<CW>(stage, g * 32 + lane, w);
          write<CW>(to, rows.at(g * 32 + lane), w);
        }
      }
    }
    from_stage<CW>(stage, groups * 32 + lane, w);
#pragma unroll
    for (int q = 0; q < CW; q++) keep[q] = w[q];
    __syncwarp();
  }
};

}  // namespace gj
