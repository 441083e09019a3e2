// One radix-partition pass over whole rows; not stable.
//
// A block ranks the rows of a tile within their partitions by shared-memory
// atomics, reserves space for each partition's run with one global atomic, orders
// the tile by partition in shared memory and writes the runs. One rank moves all
// words of a row. While a tile is written, the rows of the block's next tile are
// loaded into registers. A partition that took more than an eighth of the last
// tile is ranked by warp votes, so that a hot key does not serialise.
//
// With units of A > 1 rows, a run consists of whole units at multiples of A: on an
// H200 writing part of a 32-byte sector costs more than writing two whole ones. The
// remainder of each partition waits in shared memory for the block's next tile;
// what is left after the last tile is written backwards from the partition's end. A
// block then takes neighbouring tiles. With A = 1 runs start anywhere, and the
// blocks' tiles interleave, so that they write to few partitions at a time.
//
// First pass: from columns, one parent. Second pass: from the first pass's
// buffer; tiles never cross a parent.
//
// Bound: reads and writes each row once.
#pragma once
#include "agent/offsets.cuh"
#include "block/constant.cuh"
#include "block/hash.cuh"
#include "block/rank.cuh"
#include "block/scan.cuh"
#include "layout/join.h"
#include "layout/payload.cuh"
#include "layout/row.cuh"

namespace gj {

constexpr int max_parents = 256;

// Source: rows of an input's columns.
template <int KW, class P>
struct ColumnSource {
  static constexpr int W = KW + P::words;
  static constexpr bool selective = false;
  static constexpr int together = 1;
  const gj_side* side;
  __device__ explicit ColumnSource(const gj_side* s) : side(s) {
    column[0] = reinterpret_cast<const char*>(s->key);
    if constexpr (P::kind == PayloadKind::column)
#pragma unroll
      for (int c = 0; c < P::columns; c++) column[1 + c] = reinterpret_cast<const char*>(s->column[c]);
  }
  __device__ __forceinline__ void load(uint64_t row, Row<W>& r) const {
    load_key(row, r);
    load_payload(row, r);
  }
  __device__ __forceinline__ void load_key(uint64_t row, Row<W>& r) const { value<KW>(column[0], row, &r.word[0]); }
  __device__ __forceinline__ void load_payload(uint64_t row, Row<W>& r) const {
    if constexpr (P::kind == PayloadKind::row_id) {
      r.word[KW] = (uint32_t)row;
    } else if constexpr (P::kind == PayloadKind::field) {
      load_fields<P::words>(reinterpret_cast<const gj_field*>(side->fields), side->field_count, row, &r.word[KW]);
    } else {
#pragma unroll
      for (int c = 0; c < P::columns; c++)
        if (!P::partial || column[1 + c]) value<P::unit>(column[1 + c], row, &r.word[KW + c * P::unit]);
    }
  }
  __device__ __forceinline__ uint32_t parents() const { return 1; }
  __device__ __forceinline__ uint32_t start(uint32_t) const { return 0; }
  __device__ __forceinline__ uint32_t rows(uint32_t) const { return (uint32_t)side->rows; }

 private:
  const char* column[1 + (P::kind == PayloadKind::column ? P::columns : 0)];

  template <int CW>
  __device__ static __forceinline__ void value(const char* from, uint64_t row, uint32_t* w) {
    if constexpr (CW == 1) {
      w[0] = __ldcs(reinterpret_cast<const uint32_t*>(from) + row);
    } else {
      const uint2 v = __ldcs(reinterpret_cast<const uint2*>(from) + row);
      w[0] = v.x, w[1] = v.y;
    }
  }
};

// The same without the rows that the bypass joined.
template <int KW, class P>
struct ColdSource : ColumnSource<KW, P> {
  static constexpr bool selective = true;
  const uint32_t* bypassed;
  __device__ ColdSource(const gj_join* join, const gj_side* s) : ColumnSource<KW, P>(s), bypassed(reinterpret_cast<const uint32_t*>(join->bypassed)) {}
  __device__ __forceinline__ bool skips(uint64_t row) const { return __ldg(bypassed + row / 32) >> (row % 32) & 1; }
};

// Base of sources that read the first pass's buffer, parent by parent.
struct Parents {
  static constexpr bool selective = false;
  static constexpr int together = 1;
  const gj_side* side;
  const char* base;
  uint64_t capacity;
  uint32_t parents_;
  __device__ Parents(const gj_join* join, const gj_side* s)
      : side(s), base(reinterpret_cast<const char*>(s->first)), capacity(s->first_capacity), parents_(1u << join->bits_first) {}
  __device__ __forceinline__ uint32_t parents() const { return parents_; }
  __device__ __forceinline__ uint32_t start(uint32_t p) const { return reinterpret_cast<const uint32_t*>(side->parent_start)[p]; }
  __device__ __forceinline__ uint32_t rows(uint32_t p) const { return reinterpret_cast<const uint32_t*>(side->parent_count)[p]; }
};

// Source: whole rows of that buffer.
template <int W>
struct BufferSource : Parents {
  using Parents::Parents;
  __device__ __forceinline__ void load(uint64_t row, Row<W>& r) const { Lanes<W>::load(base, capacity, row, r, ReadOnce()); }
};

// Source: keys, which have a lane of their own, and each row's position in that
// buffer. Payload stays in the first pass's buffer and is gathered by position:
// neighbouring partitions gather from a window that fits the L2 cache.
template <int KW>
struct PlaceSource : Parents {
  using Parents::Parents;
  __device__ __forceinline__ void load(uint64_t row, Row<KW + 1>& r) const {
    Row<KW> key;
    Lanes<KW>::load(base, capacity, row, key, ReadOnce());
#pragma unroll
    for (int q = 0; q < KW; q++) r.word[q] = key.word[q];
    r.word[KW] = (uint32_t)row;
  }
};

// Dynamic shared memory: the tile ordered by partition, each partition padded to
// units; the remainders; the partition of each unit.
template <int W, int N, int A, int FAN>
struct ScatterLayout {
  static constexpr int slots = N + 2 * FAN * (A - 1), kept = slots * W * 4, units = kept + (A > 1 ? FAN * A * W * 4 : 0),
                       bytes = units + (A > 1 ? (slots / A + 15) / 16 * 16 : 0);
};

// Where a pass writes. A row goes to partition (hash >> shift) & mask of its tile's
// parent. cursor[parent * (mask + 1) + partition] is that partition's next free row
// from the front, tail[...] the row after its last free one. Rows are numbered
// through all partitions; this target stores them in one buffer by that number.
struct Target {
  char* rows;
  uint64_t capacity;
  uint32_t *cursor, *tail;
  int shift;
  uint32_t mask;
  // Called by one thread per partition when a tile's partitions begin at number `first`.
  __device__ __forceinline__ void enter(uint32_t first) const {}
  // Writes row number `row` of the given partition of the tile.
  template <int W>
  __device__ __forceinline__ void put(uint32_t partition, uint32_t row, const Row<W>& r) const {
    Lanes<W>::store(rows, capacity, row, r, Write());
  }
};

__device__ __forceinline__ Target second_target(const gj_join* join, const gj_side* s) {
  return {reinterpret_cast<char*>(s->final), s->final_capacity, reinterpret_cast<uint32_t*>(s->cursor), reinterpret_cast<uint32_t*>(s->tail),
          (32 - (int)(join->bits_first + join->bits_second)) & 31, (1u << join->bits_second) - 1};
}

// The same for rows whose first word begins with the hash bits after those of the first pass.
__device__ __forceinline__ Target second_of_rest(const gj_join* join, const gj_side* s) {
  Target t = second_target(join, s);
  t.shift = (32 - (int)join->bits_second) & 31;
  return t;
}

__device__ __forceinline__ Target first_target(const gj_join* join, const gj_side* s) {
  const int shift = (32 - (int)join->bits_first) & 31;
  const uint32_t mask = (1u << join->bits_first) - 1;
  if (!join->bits_second)
    return {reinterpret_cast<char*>(s->final), s->final_capacity, reinterpret_cast<uint32_t*>(s->cursor), reinterpret_cast<uint32_t*>(s->tail), shift, mask};
  return {reinterpret_cast<char*>(s->first), s->first_capacity, reinterpret_cast<uint32_t*>(s->parent_cursor), reinterpret_cast<uint32_t*>(s->parent_tail),
          shift, mask};
}

// KW key words, or 0: the rows' first word begins with what is left of the hash.
template <int KW, int W, int T, int IPT, int A, int FAN, class Source, class To>
__device__ __forceinline__ void scatter(const Source& source, const To& target) {
  uint32_t *const cursor = target.cursor, *const tail = target.tail;
  const int shift = target.shift;
  const uint32_t mask = target.mask;
  constexpr int N = T * IPT, G = 2;
  using Layout = ScatterLayout<W, N, A, FAN>;
  constexpr uint32_t S = Layout::slots, K = FAN * A;
  static_assert(T >= FAN && T >= max_parents && N <= 1 << 16 && FAN <= 256);
  static_assert(final_align % A == 0 && first_align % A == 0, "partitions start at units");
  extern __shared__ uint4 shared[];
  char* stage = reinterpret_cast<char*>(shared);
  char* keep = stage + Layout::kept;
  uint8_t* unit_partition = reinterpret_cast<uint8_t*>(stage + Layout::units);
  struct Run {
    uint32_t limit;   // slots below it are written
    uint32_t target;  // to row target + slot;
    uint32_t keep;    // the others are kept, as remainder keep + slot
    uint32_t unused;
  };
  __shared__ Run run[FAN];
  __shared__ uint32_t count[FAN], offset[FAN], left[FAN], sums[32];
  __shared__ uint32_t first_tile[max_parents + 1], parent_start[max_parents], parent_rows[max_parents];
  __shared__ uint32_t hot_next, slots_used;

  const uint32_t parents = source.parents();
  uint32_t tile, last_tile, tile_step;
  {
    uint32_t rows = 0, total;
    if (threadIdx.x < parents) {
      parent_rows[threadIdx.x] = rows = source.rows(threadIdx.x);
      parent_start[threadIdx.x] = source.start(threadIdx.x);
    }
    uint32_t tiles = block_exclusive<T>((rows + N - 1) / N, sums, total);
    if (threadIdx.x < parents) first_tile[threadIdx.x] = tiles;
    if (threadIdx.x == 0) first_tile[parents] = total, hot_next = ~0u;
    if (threadIdx.x < FAN) count[threadIdx.x] = 0, left[threadIdx.x] = 0;
    __syncthreads();
    if constexpr (A > 1) {
      const uint32_t each = total / gridDim.x, more = total % gridDim.x;  // the first `more` blocks take one more
      tile = each * blockIdx.x + min(more, blockIdx.x), last_tile = tile + each + (blockIdx.x < more), tile_step = 1;
    } else {
      tile = blockIdx.x, last_tile = total, tile_step = gridDim.x;
    }
  }

  auto partition = [&](const Row<W>& r) {
    if constexpr (KW == 0) {
      return r.word[0] >> shift & mask;
    } else {
      uint32_t key[KW];
#pragma unroll
      for (int q = 0; q < KW; q++) key[q] = r.word[q];
      return hash_words(key).part >> shift & mask;
    }
  };

  Row<W> row[IPT];
  uint32_t parent = 0, rows = 0;
  uint32_t skipped = 0;  // one bit per row of the thread
  static_assert(!Source::selective || IPT <= 32);
  // A thread has groups of rows of a tile that follow one another: this many in each.
  constexpr int near = Source::together;
  static_assert(IPT % near == 0 && (near == 1 || !Source::selective));
  auto index = [&](int j) -> uint32_t { return near * threadIdx.x + j / near * near * T + j % near; };
  // Loads this block's next tile; false if there is none.
  auto fetch = [&]() {
    if (tile >= last_tile) return false;
    while (tile >= first_tile[parent + 1]) parent++;
    const uint32_t before = (tile - first_tile[parent]) * N;
    const uint64_t at = (uint64_t)parent_start[parent] + before + near * threadIdx.x;
    rows = min((uint32_t)N, parent_rows[parent] - before);
    if constexpr (Source::selective) {
      skipped = 0;
#pragma unroll
      for (int j = 0; j < IPT; j++)
        if (threadIdx.x + j * T < rows) skipped |= (uint32_t)source.skips(at + j * T) << j;
    }
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      clear(row[j]);
      if constexpr (near == 1)
        if (threadIdx.x + j * T < rows && !(skipped >> j & 1)) source.load(at + j * T, row[j]);
    }
    if constexpr (near > 1) source.template load<T>(at, (int)rows - near * (int)threadIdx.x, row);
    tile += tile_step;
    return true;
  };

  for (bool more = fetch(); more;) {
    const uint32_t n = rows, hot = hot_next, here = parent;
    uint32_t rank[IPT];  // first partition and rank, later the slot in the tile
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const bool valid = index(j) < n && !(skipped >> j & 1);
      const uint32_t p = partition(row[j]);
      rank[j] = p << 16 | rank_in_partition(count, hot, p, valid);
    }
    __syncthreads();
    uint32_t ready = 0, over = 0, claimed = 0, begin, total;
    {
      uint32_t all = 0, kept = 0;
      if (threadIdx.x <= mask) {
        const uint32_t c = count[threadIdx.x];
        count[threadIdx.x] = 0;
        kept = left[threadIdx.x];
        all = kept + c;
        ready = all / A * A;
        over = all - ready;
        if (ready) claimed = atomicAdd(&cursor[here * (mask + 1) + threadIdx.x], ready);  // used only when the tile is written
      }
      if (threadIdx.x == 0) hot_next = ~0u;
      begin = block_exclusive<T>((all + A - 1) / A * A, sums, total);
      if (threadIdx.x <= mask) {
        offset[threadIdx.x] = begin + kept;
        if (all - kept > N / 8) atomicExch(&hot_next, threadIdx.x);  // any of several will do
      }
      if (threadIdx.x == 0) slots_used = total;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < IPT; j++) {
      const uint32_t p = rank[j] >> 16;
      rank[j] = offset[p] + (rank[j] & 0xffff);
      if (A > 1 && rank[j] % A == 0 && index(j) < n && !(skipped >> j & 1)) unit_partition[rank[j] / A] = (uint8_t)p;
    }
    if constexpr (near > 1) source.arrange(row);
#pragma unroll
    for (int j = 0; j < IPT; j++)
      if ((n == N || index(j) < n) && !(skipped >> j & 1)) Lanes<W>::store(stage, S, rank[j], row[j], Shared());
    // The last tile's remainders come first in their partitions.
    for (uint32_t i = threadIdx.x; A > 1 && i < (mask + 1) * A; i += T) {
      const uint32_t p = i / A, k = i % A, kept = left[p];
      if (k < kept) {
        Row<W> r;
        const uint32_t slot = offset[p] - kept + k;
        Lanes<W>::load(keep, K, i, r, Shared());
        Lanes<W>::store(stage, S, slot, r, Shared());
        if (k == 0) unit_partition[slot / A] = (uint8_t)p;
      }
    }
    if (threadIdx.x <= mask) {
      run[threadIdx.x] = {begin + ready, claimed - begin, threadIdx.x * A - (begin + ready), 0};
      target.enter(here * (mask + 1));
    }
    __syncthreads();
    if (threadIdx.x <= mask) left[threadIdx.x] = over;
    const uint32_t used = slots_used;
    more = fetch();
    // Handles a group of slots, phase by phase. Padding slots are kept too, beyond
    // the number in `left`.
    auto write = [&](uint32_t i, auto check) {
      Row<W> r[G];
      uint4 of[G];
      uint32_t p[G];
#pragma unroll
      for (int j = 0; j < G; j++)
        if (!check.value || i + j * T < used) {
          if constexpr (A > 1) p[j] = unit_partition[(i + j * T) / A], of[j] = reinterpret_cast<const uint4*>(run)[p[j]];
          Lanes<W>::load(stage, S, i + j * T, r[j], Shared());
        }
      if constexpr (A == 1)
#pragma unroll
        for (int j = 0; j < G; j++)
          if (!check.value || i + j * T < used) p[j] = partition(r[j]), of[j].y = run[p[j]].target;
#pragma unroll
      for (int j = 0; j < G; j++)
        if (!check.value || i + j * T < used) {
          const uint32_t slot = i + j * T;
          if (A == 1 || slot < of[j].x)
            target.put(p[j], of[j].y + slot, r[j]);
          else
            Lanes<W>::store(keep, K, of[j].z + slot, r[j], Shared());
        }
    };
    uint32_t i = threadIdx.x;
    for (; i + (G - 1) * T < used; i += G * T) write(i, Constant<false>());
    write(i, Constant<true>());
    if (A > 1 && (!more || parent != here)) {
      __syncthreads();
      if (threadIdx.x <= mask && over) offset[threadIdx.x] = atomicSub(&tail[here * (mask + 1) + threadIdx.x], over) - over;
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < (mask + 1) * A; i += T) {
        const uint32_t p = i / A, k = i % A;
        if (k < left[p]) {
          Row<W> r;
          Lanes<W>::load(keep, K, i, r, Shared());
          target.put(p, offset[p] + k, r);
        }
      }
      __syncthreads();
      if (threadIdx.x <= mask) left[threadIdx.x] = 0;
    }
  }
}

}  // namespace gj
