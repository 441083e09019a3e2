// Matches a warp's probe rows through a list of matches in shared memory.
//
// An entry holds the probe row's number among the warp's rows and the build row's
// slot. After the search only listed matches are processed, one entry per lane, so
// a row without a match costs no more than the search for its key. Rows with
// several matches are listed 32 matches at a time.
// a time.
#pragma once
#include "block/buckets.cuh"
#include "block/emit.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/row.cuh"

namespace gj {

// KW key words; B, S: payload kinds of build and probe rows; C, NB: rows and
// buckets of the table; IPT probe rows per lane.
template <int KW, class B, class S, int C, int NB, int IPT>
struct ListedMatch {
  static constexpr int PB = B::words, PS = S::words, WS = KW + PS, rows = 32 * IPT;
  static constexpr uint32_t none = 0xffff;
  using Table = Buckets<KW, B, C, NB>;

  const gj_join& job;
  unsigned long long* claim;
  const Table& table;
  Emitter<KW, B, S>& out;
  uint32_t* list;
  uint32_t build_rows;  // rows of the table
  const char* probe;    // the warp's probe rows
  uint32_t exist;       // how many of the lane's IPT rows exist

  // Joins the warp's probe rows.
  __device__ __forceinline__ void join() const {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t slot[IPT];
    if (find(slot)) return join_several();
    uint32_t mask[IPT], n = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      mask[j] = __ballot_sync(~0u, slot[j] != none);
      n += __popc(mask[j]);
    }
    if (!n) return;
    n = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      if (slot[j] != none) list[n + __popc(mask[j] & ((1u << lane) - 1))] = (j * 32 + lane) << 16 | slot[j];
      n += __popc(mask[j]);
    }
    put_listed(n);
  }

 private:
  __device__ __forceinline__ Row<WS> row(uint32_t i) const {
    Row<WS> r;
    Lanes<WS>::load(probe, rows, i, r, Shared());
    return r;
  }

  __device__ __forceinline__ Row<KW> key(uint32_t i) const { return head<KW>(row(i)); }

  // Finds one match for each of the lane's rows; returns whether any row of the
  // warp has several.
  __device__ __forceinline__ bool find(uint32_t (&slot)[IPT]) const {
    const uint32_t lane = threadIdx.x & 31;
    Bucket bucket[IPT];
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      bucket[j] = table.bucket(key(j * 32 + lane));
      if (j >= exist) bucket[j].rows = 0;
    }
    // Most buckets have at most three rows, which are compared without a loop.
    bool several = false;
    uint32_t longest = 0;
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const Row<KW> k = key(j * 32 + lane);
      const uint32_t s = bucket[j].first, n = bucket[j].rows;
      const bool m0 = n > 0 && table.same(s, k), m1 = n > 1 && table.same(s + 1, k), m2 = n > 2 && table.same(s + 2, k);
      slot[j] = m0 ? s : m1 ? s + 1 : m2 ? s + 2 : none;
      several |= (m0 && (m1 || m2)) || (m1 && m2);
      longest = max(longest, n);
    }
    if (__any_sync(~0u, longest > 3)) {
#pragma unroll 1
      for (uint32_t j = 0; j < IPT; j++) {
        const Row<KW> k = key(j * 32 + lane);
        const Bucket all = whole_bucket(j, k);
        for (uint32_t i = 3; i < all.rows; i++)
          if (table.same(all.first + i, k)) {
#pragma unroll
            for (int h = 0; h < IPT; h++)
              if (h == j) several |= slot[h] != none, slot[h] = all.first + i;
          }
      }
    }
    return __any_sync(~0u, several);
  }

  // Takes 32 rows at a time; lists and emits their matches in order, 32 at a time.
  __device__ __forceinline__ void join_several() const {
    const uint32_t lane = threadIdx.x & 31;
#pragma unroll 1
    for (uint32_t j = 0; j < IPT; j++) {
      const Row<KW> k = key(j * 32 + lane);
      const Bucket all = whole_bucket(j, k);
      uint32_t matches = 0, first = 0, last = 0;
      for (uint32_t i = 0; i < all.rows; i++)
        if (table.same(all.first + i, k)) {
          if (!matches) first = all.first + i;
          last = all.first + i;
          matches++;
        }
      const uint32_t upto = warp_inclusive(matches), total = __shfl_sync(~0u, upto, 31);
      for (uint32_t o = 0; o < total; o += 32) {
        const uint32_t want = min(o + lane, total - 1);
        const uint32_t source = warp_owner(upto, want);
        const uint32_t of = __shfl_sync(~0u, matches, source), end = __shfl_sync(~0u, last, source);
        uint32_t s = __shfl_sync(~0u, first, source), skip = want - (__shfl_sync(~0u, upto, source) - of);
        if (end - s + 1 == of) {
          s += skip;
        } else {  // rows of other keys separate the matches
          const Row<KW> wanted = key(j * 32 + source);
          while (true) {
            while (!table.same(s, wanted)) s++;
            if (!skip) break;
            skip--, s++;
          }
        }
        list[lane] = (j * 32 + source) << 16 | s;
        put_listed(min(32u, total - o));
      }
    }
  }

  __device__ __forceinline__ Bucket whole_bucket(uint32_t j, const Row<KW>& k) const { return j < exist ? table.whole_bucket(k, build_rows) : Bucket{0, 0}; }

  // Emits the first n entries of the list.
  __device__ __forceinline__ void put_listed(uint32_t n) const {
    __syncwarp();
    out.append(job, claim, n, [&](uint32_t i, uint32_t* k, uint32_t* build_word, uint32_t* probe_word) {
      const uint32_t entry = list[i];
      const Row<WS> r = row(entry >> 16);
#pragma unroll
      for (int q = 0; q < KW; q++) k[q] = r.word[q];
#pragma unroll
      for (int q = 0; q < PS; q++) probe_word[q] = r.word[KW + q];
      table.payload(entry & 0xffff, build_word);
    });
    __syncwarp();
  }
};

}  // namespace gj
