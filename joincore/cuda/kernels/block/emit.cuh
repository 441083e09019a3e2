// Writes a result's columns in whole sectors.
//
// On an H200, storing part of a 32-byte sector costs about as much as storing two
// whole ones (copying 4-byte values: 3.4 TB/s aligned, 1.8 shifted by one value).
// A warp therefore keeps the rows that do not fill a group of 32 in registers, row
// l in lane l, and writes only groups of 32 rows at multiples of 32. The remainder
// is written at the kernel's end.
//
// put() orders rows column by column in shared memory, for when most of a warp's
// rows are emitted; append() takes few rows, one per lane. Payload that comes by
// row id is gathered when its row is written: ids never go through memory, and the
// reads overlap with the rest of the match.
#pragma once
#include "block/arena.cuh"
#include "block/fields.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

// B and S are the payload kinds of the build and the probe side.
template <int KW, class B, class S>
struct Emitter {
  uint32_t kept;  // rows in registers; the same in all lanes
  uint32_t key[KW], build[B::words ? B::words : 1], probe[S::words ? S::words : 1];
  const FieldList<B>* build_fields;  // of sides that have any
  const FieldList<S>* probe_fields;

  __host__ __device__ static constexpr int max_of(int a, int b) { return a > b ? a : b; }
  // Words of fields that are staged together, so that a field of 16 bytes is.
  template <class P>
  static constexpr int together = P::kind != PayloadKind::field ? 1 : P::words < 4 ? P::words : 4;
  // Bytes of shared memory that a warp needs for n rows per lane.
  __host__ __device__ static constexpr int stage_bytes(int n) {
    constexpr int words = KW > 1 || (B::words && B::unit > 1) || (S::words && S::unit > 1) ? 2 : 1, fields = max_of(together<B>, together<S>);
    return 32 * (n + 1) * 4 * max_of(words, fields);
  }

  __device__ explicit Emitter(const FieldList<B>* b = nullptr, const FieldList<S>* s = nullptr) : kept(0), build_fields(b), probe_fields(s) {
    for (auto& w : key) w = 0;
    for (auto& w : build) w = 0;
    for (auto& w : probe) w = 0;
  }

  // Emits N rows per lane: those whose bit in mask is set. k, b and s return the
  // words of row j's key, build values and probe values. All lanes call it.
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
    column<KW, N>(rows.fits, stage, groups, slot, key, k, [&] {
      if (job.output_key) write_groups<KW, N>(rows, job.output_key, stage, groups);
    });
    side<B, N>(rows, job.side[0], build_fields, job.output_column[0], stage, groups, slot, build, b);
    side<S, N>(rows, job.side[1], probe_fields, job.output_column[1], stage, groups, slot, probe, s);
    kept = all - groups * 32;
  }

  // Emits n more rows: load(i, key, build, probe) gives a lane the words of row i.
  // All lanes call it.
  template <class Load>
  __device__ __forceinline__ void append(const gj_join& job, unsigned long long* claim, uint32_t n, Load load) {
    const uint32_t lane = threadIdx.x & 31, groups = (kept + n) / 32;
    uint32_t first = 0;
    auto fill = [&] {
      const uint32_t i = first + lane - kept;
      if (lane >= kept && i < n) load(i, key, build, probe);
    };
    if (!groups) {
      fill();
      kept += n;
      return;
    }
    const Claim rows = claim_rows(claim, job, groups * 32);
#pragma unroll 1
    for (uint32_t g = 0; g < groups; g++) {
      fill();
      if (rows.fits) write_row(job, rows.at(g * 32 + lane));
      first += 32 - kept;
      kept = 0;
    }
    fill();
    kept = n - first;
  }

  // Writes the kept rows.
  __device__ __forceinline__ void flush(const gj_join& job, unsigned long long* claim) {
    if (!kept) return;
    const Claim rows = claim_rows(claim, job, kept);
    const uint32_t lane = threadIdx.x & 31;
    if (!rows.fits || lane >= kept) return;
    write_row(job, rows.at(lane));
  }

 private:
  // Writes the lane's row.
  __device__ __forceinline__ void write_row(const gj_join& job, uint64_t row) const {
    if (job.output_key) write<KW>(job.output_key, row, key);
    write_side<B>(job.side[0], build_fields, job.output_column[0], row, build);
    write_side<S>(job.side[1], probe_fields, job.output_column[1], row, probe);
  }

  template <class P, int N, class Value>
  __device__ __forceinline__ void side(const Claim& rows, const gj_side& in, const FieldList<P>* fields, const uint64_t* to, uint32_t* stage, uint32_t groups,
                                       const uint32_t (&slot)[N], uint32_t* keep, Value value) const {
    const uint32_t lane = threadIdx.x & 31;
    auto at = [&](int g) { return rows.at(g * 32 + lane); };
    if constexpr (P::kind == PayloadKind::field) {
      constexpr int each = 32 * (N + 1);  // words of a column in the stage
      using List = FieldList<P>;
      auto window = [&](auto number) {
        constexpr int i = decltype(number)::value, Q = List::words(i), c = List::first(i);
#pragma unroll
        for (int q = 0; q < Q; q++) {
          if (lane < kept) stage[q * each + lane] = keep[c + q];
#pragma unroll
          for (int j = 0; j < N; j++)
            if (slot[j] != ~0u) stage[q * each + slot[j]] = value(j, c + q);
        }
        __syncwarp();
        if (rows.fits) put_fields<Q, N, each>(fields->field + 4 * c, fields->count[i], stage, groups, rows);
#pragma unroll
        for (int q = 0; q < Q; q++) keep[c + q] = stage[q * each + groups * 32 + lane];
        __syncwarp();
      };
      window(std::integral_constant<int, 0>());
      if constexpr (List::windows > 1) window(std::integral_constant<int, 1>());
      static_assert(List::windows <= 2);
    } else {
#pragma unroll
      for (int c = 0; c < P::columns; c++)
        column<P::unit, N>(rows.fits, stage, groups, slot, keep + c * P::unit, [&](int j, int q) { return value(j, c * P::unit + q); },
                           [&] {
                             if constexpr (P::kind == PayloadKind::column) {
                               if (to[c]) write_groups<P::unit, N>(rows, to[c], stage, groups);
                             } else {
                               uint32_t v[N];
#pragma unroll
                               for (int g = 0; g < N; g++) v[g] = g < groups ? stage[g * 32 + lane] : 0;
                               gather_fields<N>(in, v, groups, at);
                             }
                           });
    }
  }

  template <class P>
  __device__ static __forceinline__ void write_side(const gj_side& in, const FieldList<P>* fields, const uint64_t* to, uint64_t row, const uint32_t* w) {
    if constexpr (P::kind == PayloadKind::column) {
#pragma unroll
      for (int c = 0; c < P::columns; c++)
        if (!P::partial || to[c]) write<P::unit>(to[c], row, w + c * P::unit);
    } else if constexpr (P::kind == PayloadKind::field) {
      using List = FieldList<P>;
      auto window = [&](auto number) {
        constexpr int i = decltype(number)::value, Q = List::words(i), c = List::first(i);
        each_field<Q>(fields->field + 4 * c, fields->count[i], [&](const CarriedField& f) {
          auto word = [&](uint32_t q) {  // a register of the row
            uint32_t v = w[c];
#pragma unroll
            for (int k = 1; k < Q; k++) v = q == k ? w[c + k] : v;
            return v;
          };
          const uint32_t words[4] = {word(f.word), word(f.word + 1), word(f.word + 2), word(f.word + 3)};
          write_field<1>(f, row, words);
        });
      };
      window(std::integral_constant<int, 0>());
      if constexpr (List::windows > 1) window(std::integral_constant<int, 1>());
    } else if constexpr (P::kind == PayloadKind::row_id) {
      const uint32_t id[1] = {w[0]};
      gather_fields<1>(in, id, 1, [&](int) { return row; });
    }
  }

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

  // Writes the staged groups of one column.
  template <int CW, int N>
  __device__ static __forceinline__ void write_groups(const Claim& rows, uint64_t to, const uint32_t* stage, uint32_t groups) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t w[CW];
    if (rows.first == groups * 32) {
      to += (rows.base + lane) * (CW * 4);
#pragma unroll
      for (int g = 0; g < N; g++)
        if (g < groups) {
          from_stage<CW>(stage, g * 32 + lane, w);
          write<CW>(to, g * 32, w);
        }
    } else {  // the group crosses two chunks
      for (uint32_t g = 0; g < groups; g++) {
        from_stage<CW>(stage, g * 32 + lane, w);
        write<CW>(to, rows.at(g * 32 + lane), w);
      }
    }
  }

  // Orders a column's new and kept values in shared memory, writes the full groups and keeps the rest.
  template <int CW, int N, class Value, class Out>
  __device__ __forceinline__ void column(bool fits, uint32_t* stage, uint32_t groups, const uint32_t (&slot)[N], uint32_t* keep, Value value, Out out) const {
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
    if (fits) out();
    from_stage<CW>(stage, groups * 32 + lane, w);
#pragma unroll
    for (int q = 0; q < CW; q++) keep[q] = w[q];
    __syncwarp();
  }
};

}  // namespace gj
