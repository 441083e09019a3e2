// Groups rows and adds their values to the groups, by a program that evaluates
// conditions, keys and values (block/machine.cuh).
//
// A block takes tiles of T * R rows, as far apart as there are blocks. Threads do not
// wait for each other before the end, when the block adds its own table to that of
// the device. While a tile is worked on, the next one is on its way to the L2 cache.
//
// Bound: reads the columns once; random accesses to the table for groups that a block
// has no slot for.
#pragma once
#include "block/local_groups.cuh"
#include "block/machine.cuh"

namespace gj {
extern __shared__ uint4 shared[];

template <int R>
struct TileRows {
  uint32_t row[R];
  __device__ __forceinline__ bool locate(const gj_column& c, int j, uint32_t& at) const { return gj::locate(c, row[j], at); }
  __device__ __forceinline__ bool any(uint32_t active) const { return __any_sync(~0u, active != 0); }
};

// Slots in shared memory: those of neighbouring threads lie side by side.
template <int T, int R>
struct SharedSlots {
  int64_t* value;
  uint8_t* nulls;
  __device__ __forceinline__ SharedSlots(char* base, uint32_t count)
      : value(reinterpret_cast<int64_t*>(base) + threadIdx.x), nulls(reinterpret_cast<uint8_t*>(base) + count * (8 * R * T) + threadIdx.x) {}
  __host__ __device__ static constexpr uint32_t bytes(uint32_t count) { return count * (8 * R * T + T); }
  __device__ __forceinline__ int64_t& at(uint32_t slot, int j) const { return value[(slot * R + j) * T]; }
  __device__ __forceinline__ uint32_t null(uint32_t slot) const { return nulls[slot * T]; }
  __device__ __forceinline__ void set_null(uint32_t slot, uint32_t v) const { nulls[slot * T] = (uint8_t)v; }
};

// What a program does with groups. ONE: keys have one word, which is in registers;
// those of several words are in slots behind the program's.
template <int R, bool ONE>
struct Grouping {
  const gj_aggregate* job;
  const gj_groups* groups;
  const gj_origin* origin;
  LocalGroups local;
  uint32_t key_slot, key_words;
  uint64_t word[R];
  uint32_t alone;  // rows whose key is NULL, as a group of its own
  uint32_t slot[R];

  __device__ __forceinline__ Grouping(const gj_aggregate* job, char* base)
      : job(job), groups(reinterpret_cast<const gj_groups*>(job->groups)), origin(reinterpret_cast<const gj_origin*>(job->origins)),
        local(job, base), key_slot((uint32_t)job->program.slots), key_words(ONE ? 1 : (uint32_t)groups->words) {}

  template <class S>
  __device__ __forceinline__ void start(S& slots) {
    alone = 0;
#pragma unroll
    for (int j = 0; j < R; j++) word[j] = 0, slot[j] = no_group;
    if constexpr (!ONE)
      for (uint32_t w = 0; w < key_words; w++)
#pragma unroll
        for (int j = 0; j < R; j++) slots.at(key_slot + w, j) = 0;
  }

  template <class S>
  __device__ __forceinline__ void add_bits(S& slots, uint32_t w, int j, uint64_t bits) {
    if constexpr (ONE)
      word[j] |= bits;
    else
      slots.at(key_slot + w, j) |= (int64_t)bits;
  }

  template <class S>
  __device__ __forceinline__ void key(Instruction i, const Machine<R>& m, S& slots) {
    const uint64_t mask = ~0ull >> (64 - i.sub());
#pragma unroll
    for (int j = 0; j < R; j++)
      if (m.valid(j)) add_bits(slots, i.index(), j, ((uint64_t)m.lo[j] & mask) << i.extra());
    if (i.flags() & flag_null) alone = m.null;
  }

  template <class S>
  __device__ __forceinline__ void key_null(Instruction i, const Machine<R>& m, S& slots) {
#pragma unroll
    for (int j = 0; j < R; j++) add_bits(slots, i.index(), j, (uint64_t)(m.null >> j & 1) << i.extra());
  }

  template <class Rows, class S>
  __device__ __forceinline__ void group(Machine<R>& m, const Rows& rows, S& slots) {
    uint32_t lost = 0;
#pragma unroll
    for (int j = 0; j < R; j++) {
      if (!(m.active >> j & 1)) continue;
      slot[j] = ONE ? group_of_word(j, rows.row[j]) : group_of_words(slots, j, rows.row[j]);
      if (slot[j] == no_group) {
        lost |= 1u << j;
        const uint64_t at = atomicAdd(words_at(job->left_count), 1ull);
        reinterpret_cast<uint32_t*>(job->left)[at] = rows.row[j];
      }
    }
    m.active &= ~lost;
  }

  __device__ __forceinline__ uint32_t group_of_word(int j, uint32_t row) {
    const bool is_null = alone >> j & 1;
    if (is_null || job->no_keys || word[j] == GJ_NO_KEY) {
      const uint32_t g = special_group(groups, origin, is_null, row), mine = local.capacity + is_null;
      if (!local.capacity) return g;
      local.global(1)[mine] = g;  // whoever else writes it writes the same
      return local_group | mine;
    }
    Hash h = finish(word[j] ^ gj_hash_seed);
    if (groups->collide) h.part &= 1, h.table &= 1;
    if (local.capacity) {
      unsigned long long* keys = local.keys(1);
      const uint32_t mask = local.capacity - 1;
      uint32_t at = h.part & mask;
      for (uint32_t probe = 0; probe < local_probes; probe++, at = at + 1 & mask) {
        uint64_t there = *reinterpret_cast<volatile unsigned long long*>(keys + at);
        if (there == word[j]) return local_group | at;
        if (there != GJ_NO_KEY) continue;
        const uint32_t g = find_group(groups, origin, word[j], h.table, row);
        if (g == no_group) return g;
        there = atomicCAS(keys + at, (unsigned long long)GJ_NO_KEY, (unsigned long long)word[j]);
        if (there == GJ_NO_KEY) local.global(1)[at] = g;
        if (there == GJ_NO_KEY || there == word[j]) return local_group | at;
      }
    }
    return find_group(groups, origin, word[j], h.table, row);
  }

  template <class S>
  __device__ __forceinline__ uint32_t group_of_words(S& slots, int j, uint32_t row) {
    auto value = [&](uint32_t w) { return (uint64_t)slots.at(key_slot + w, j); };
    uint64_t sum = gj_hash_seed;
    Hash h{0, 0};
    for (uint32_t w = 0; w < key_words; w++) {
      h = finish(sum ^ value(w));
      sum = (uint64_t)h.part << 32 | h.table;
    }
    if (groups->collide) h.part &= 1, h.table &= 1;
    if (local.capacity) {
      volatile uint32_t* states = local.states(key_words);
      const uint32_t mask = local.capacity - 1;
      uint32_t at = h.part & mask;
      for (uint32_t probe = 0; probe < local_probes; probe++, at = at + 1 & mask) {
        volatile unsigned long long* key = local.keys(key_words) + (uint64_t)at * key_words;
        uint32_t state = states[at];
        if (state == GJ_FREE) {
          const uint32_t g = find_wide_group(groups, origin, value, h.table, row);
          if (g == no_group) return g;
          if (atomicCAS(local.states(key_words) + at, (uint32_t)GJ_FREE, (uint32_t)GJ_TAKEN) != GJ_FREE) return g;
          for (uint32_t w = 0; w < key_words; w++) key[w] = value(w);
          local.global(key_words)[at] = g;
          __threadfence_block();
          states[at] = GJ_READY;
          return local_group | at;
        }
        if (state == GJ_TAKEN) break;  // its key is not known yet
        __threadfence_block();
        bool same = true;
        for (uint32_t w = 0; w < key_words; w++) same = same && key[w] == value(w);
        if (same) return local_group | at;
      }
    }
    return find_wide_group(groups, origin, value, h.table, row);
  }

  __device__ __forceinline__ void update(Instruction i, const Machine<R>& m) {
    const gj_cell cell = reinterpret_cast<const gj_cell*>(groups->kinds)[i.index()];
    const uint32_t rows = i.flags() & flag_rows ? m.active : m.active & ~m.null, copy = threadIdx.x & (local.copies - 1);
#pragma unroll
    for (int j = 0; j < R; j++) {
      if (!(rows >> j & 1)) continue;
      if (slot[j] & local_group) {
        const uint32_t s = slot[j] ^ local_group;
        if (is_wide_cell((uint32_t)cell.kind))
          add_wide_cell((uint32_t)cell.kind, local.wide_cells(key_words) + local.place(s, local.wides, (uint32_t)cell.local, copy), m.lo[j]);
        else
          add_cell((uint32_t)cell.kind, local.cells(key_words) + local.place(s, local.words, (uint32_t)cell.local, copy), m, j);
      } else {
        add_to_group((uint32_t)cell.kind, words_at(groups->cells) + (uint64_t)slot[j] * groups->cell_words + cell.at, m.lo[j], m.hi[j]);
      }
    }
  }

  __device__ __forceinline__ void add_wide_cell(uint32_t kind, long long* cell, int64_t v) {
    if (kind == GJ_MIN)
      take_least(reinterpret_cast<unsigned long long*>(cell), v);
    else
      take_greatest(reinterpret_cast<unsigned long long*>(cell), v);
  }

  __device__ __forceinline__ void add_cell(uint32_t kind, uint32_t* cell, const Machine<R>& m, int j) {
    switch (kind) {
      case GJ_COUNT: atomicAdd(cell, 1u); break;
      case GJ_SEEN:
        if (!*reinterpret_cast<volatile uint32_t*>(cell)) *reinterpret_cast<volatile uint32_t*>(cell) = 1;
        break;
      case GJ_SUM: add_local<3>(cell, local.copies, m.lo[j]); break;
      default: add_local<5>(cell, local.copies, wide_of(m.lo[j], m.hi[j]));
    }
  }

  // Empties the block's table.
  __device__ __forceinline__ void clear() {
    if (!local.capacity) return;
    unsigned long long* keys = local.keys(key_words);
    for (uint32_t i = threadIdx.x; i < local.capacity * key_words; i += blockDim.x) keys[i] = GJ_NO_KEY;
    uint32_t* rest = local.cells(key_words);
    const uint32_t end = local.slots() * (local.words * local.copies);
    for (uint32_t i = threadIdx.x; i < end; i += blockDim.x) rest[i] = 0;
    for (uint32_t i = threadIdx.x; i < local.slots(); i += blockDim.x) local.global(key_words)[i] = no_group;
    if constexpr (!ONE)
      for (uint32_t i = threadIdx.x; i < local.capacity; i += blockDim.x) local.states(key_words)[i] = GJ_FREE;
    for (uint32_t c = 0; c < groups->cell_count; c++) {
      const gj_cell cell = reinterpret_cast<const gj_cell*>(groups->kinds)[c];
      if (!is_wide_cell((uint32_t)cell.kind)) continue;
      for (uint32_t i = threadIdx.x; i < local.slots() * local.copies; i += blockDim.x)
        local.wide_cells(key_words)[local.place(i / local.copies, local.wides, (uint32_t)cell.local, i % local.copies)] = cell.kind == GJ_MIN ? INT64_MAX : INT64_MIN;
    }
  }

  // Adds the block's table to that of the device.
  __device__ __forceinline__ void flush() {
    if (!local.capacity) return;
    const uint32_t count = (uint32_t)groups->cell_count;
    for (uint32_t i = threadIdx.x; i < local.slots() * count; i += blockDim.x) {
      const uint32_t s = i / count, g = local.global(key_words)[s];
      if (g == no_group) continue;
      const gj_cell cell = reinterpret_cast<const gj_cell*>(groups->kinds)[i % count];
      unsigned long long* to = words_at(groups->cells) + (uint64_t)g * groups->cell_words + cell.at;
      for (uint32_t c = 0; c < local.copies; c++) flush_cell((uint32_t)cell.kind, to, s, (uint32_t)cell.local, c);
    }
  }

  __device__ __forceinline__ void flush_cell(uint32_t kind, unsigned long long* to, uint32_t s, uint32_t word, uint32_t copy) {
    if (is_wide_cell(kind)) return add_wide_cell(kind, reinterpret_cast<long long*>(to), local.wide_cells(key_words)[local.place(s, local.wides, word, copy)]);
    const uint32_t* from = local.cells(key_words) + local.place(s, local.words, word, copy);
    switch (kind) {
      case GJ_COUNT:
        if (*from) atomicAdd(to, (unsigned long long)*from);
        break;
      case GJ_SEEN:
        if (*from) add_to_group(GJ_SEEN, to, 0, 0);
        break;
      case GJ_SUM: add_to_words<2>(to, (Wide)(int32_t)from[2 * local.copies] << 64 | wide_of((int64_t)((uint64_t)from[local.copies] << 32 | from[0]), 0)); break;
      default: {
        int64_t carry = 0;
        for (int w = 0; w < 4; w++) {
          int64_t digit = from[w * local.copies] + carry;
          if (w < 3) {
            const int64_t low = (int32_t)(uint32_t)digit;
            carry = (digit - low) >> 32;
            digit = low;
          } else {
            digit += (int64_t)((uint64_t)from[4 * local.copies] << 32);
          }
          if (digit) atomicAdd(to + w, (unsigned long long)digit);
        }
      }
    }
  }
};

// Brings the columns of a tile to the L2 cache.
template <int T>
__device__ __forceinline__ void prefetch_columns(const gj_program& p, uint64_t first, uint64_t rows) {
#ifdef __CUDA_ARCH__
  for (uint32_t i = 0; i < p.column_count; i++) {
    const gj_column& c = reinterpret_cast<const gj_column*>(p.columns)[i];
    if (c.positions || !c.width) continue;
    const uint64_t from = c.values + first * c.width;
    for (uint64_t b = threadIdx.x * 128; b < rows * c.width; b += T * 128) asm volatile("prefetch.global.L2 [%0];" ::"l"(from + b));
    if (c.validity && threadIdx.x * 128 < rows) asm volatile("prefetch.global.L2 [%0];" ::"l"(c.validity + first + threadIdx.x * 128));
  }
#endif
}

template <int T, int R, bool ONE>
__device__ __forceinline__ void aggregate(const gj_aggregate* job) {
  char* base = reinterpret_cast<char*>(shared);
  const gj_program p = job->program;
  const uint32_t slot_count = (uint32_t)p.slots + (ONE ? 0 : (uint32_t)reinterpret_cast<const gj_groups*>(job->groups)->words);
  SharedSlots<T, R> slots(base, slot_count);
  Grouping<R, ONE> grouping(job, base + slots.bytes(slot_count));
  grouping.clear();
  __syncthreads();
  constexpr uint32_t N = T * R;
  Machine<R> m;
  bool failed = false;
  const uint64_t stride = (uint64_t)gridDim.x * N;
  for (uint64_t at = (uint64_t)blockIdx.x * N; at < job->rows; at += stride) {
    if (!job->chosen && at + stride < job->rows) prefetch_columns<T>(p, job->first + at + stride, min((uint64_t)N, job->rows - at - stride));
    TileRows<R> rows;
    uint32_t active = 0;
#pragma unroll
    for (int j = 0; j < R; j++) {
      const uint64_t i = at + j * T + threadIdx.x;
      const bool there = i < job->rows;
      active |= (uint32_t)there << j;
      rows.row[j] = !there ? 0 : job->chosen ? __ldg(reinterpret_cast<const uint32_t*>(job->chosen) + i) : (uint32_t)(job->first + i);
      m.lo[j] = m.hi[j] = 0;
    }
    m.start(active);
    grouping.start(slots);
    run<R>(p, m, rows, slots, grouping);
    failed |= m.failed;
  }
  if (failed) *reinterpret_cast<volatile uint64_t*>(p.failed) = 1;
  __syncthreads();
  grouping.flush();
}

// Whether a slot has a group.
__device__ __forceinline__ bool has_group(const gj_groups* g, uint64_t slot) {
  if (slot >= g->capacity) return reinterpret_cast<const uint32_t*>(g->special)[slot - g->capacity] != 0;
  return g->words == 1 ? words_at(g->keys)[slot] != GJ_NO_KEY : reinterpret_cast<const uint32_t*>(g->states)[slot] == GJ_READY;
}

// Empties a table.
__device__ __forceinline__ void clear_groups(const gj_groups* g) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, all = (uint64_t)gridDim.x * blockDim.x;
  if (t < 2) reinterpret_cast<uint32_t*>(g->special)[t] = 0;
  if (t == 0) *words_at(g->count) = 0;
  if (g->words == 1)
    for (uint64_t i = t; i < g->capacity; i += all) words_at(g->keys)[i] = GJ_NO_KEY;
  else
    for (uint64_t i = t; i < g->capacity; i += all) reinterpret_cast<uint32_t*>(g->states)[i] = GJ_FREE;
  const gj_cell* cell = reinterpret_cast<const gj_cell*>(g->kinds);
  for (uint64_t s = t; s < g->capacity + 2; s += all) {
    unsigned long long* to = words_at(g->cells) + s * g->cell_words;
    for (uint32_t c = 0; c < g->cell_count; c++) {
      const uint32_t kind = (uint32_t)cell[c].kind, words = kind == GJ_SUM ? 2 : kind == GJ_SUM_WIDE ? 4 : 1;
      const long long first = kind == GJ_MIN ? INT64_MAX : kind == GJ_MAX ? INT64_MIN : 0;
      for (uint32_t w = 0; w < words; w++) to[cell[c].at + w] = (unsigned long long)first;
    }
  }
}

// Moves all groups to a larger table.
__device__ __forceinline__ void move_groups(const gj_groups* from, const gj_groups* to) {
  const uint64_t all = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t s = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; s < from->capacity + 2; s += all) {
    if (!has_group(from, s)) continue;
    uint64_t slot;
    const unsigned long long* key = words_at(from->keys) + s * from->words;
    if (s >= from->capacity) {
      slot = special_group(to, nullptr, (uint32_t)(s - from->capacity), 0);
    } else if (from->words == 1) {
      Hash h = finish(*key ^ gj_hash_seed);
      if (to->collide) h.table &= 1;
      slot = find_group(to, nullptr, *key, h.table, 0);
    } else {
      uint64_t sum = gj_hash_seed;
      Hash h{0, 0};
      for (uint32_t w = 0; w < from->words; w++) {
        h = finish(sum ^ key[w]);
        sum = (uint64_t)h.part << 32 | h.table;
      }
      if (to->collide) h.table &= 1;
      slot = find_wide_group(to, nullptr, [&](uint32_t w) { return (uint64_t)key[w]; }, h.table, 0);
    }
    if (slot == no_group) continue;
    for (uint32_t w = 0; w < from->cell_words; w++) words_at(to->cells)[slot * to->cell_words + w] = words_at(from->cells)[s * from->cell_words + w];
    for (uint32_t i = 0; i < from->inputs; i++)
      reinterpret_cast<uint32_t*>(to->firsts)[slot * to->inputs + i] = reinterpret_cast<const uint32_t*>(from->firsts)[s * from->inputs + i];
  }
}

// Adds up the words of a sum: returns what is above the lowest three words of 4 bytes.
__device__ __forceinline__ int64_t sum_of(const unsigned long long* word, uint32_t digits, uint32_t (&low)[3]) {
  int64_t carry = 0;
  for (uint32_t w = 0; w < 3; w++) {
    const int64_t v = (w < digits ? (int64_t)word[w] : 0) + carry;
    low[w] = (uint32_t)v;
    carry = v >> 32;
  }
  return (digits > 3 ? (int64_t)word[3] : 0) + carry;
}

template <class V>
__device__ __forceinline__ void put(uint64_t out, uint64_t i, V v) {
  reinterpret_cast<V*>(out)[i] = v;
}

__device__ __forceinline__ void put_integer(uint64_t out, uint64_t width, uint64_t i, int64_t v) {
  switch (width) {
    case 1: return put(out, i, (int8_t)v);
    case 2: return put(out, i, (int16_t)v);
    case 4: return put(out, i, (int32_t)v);
    default: return put(out, i, v);
  }
}

// Makes a column of the result.
__device__ __forceinline__ void make_result(const gj_result* r) {
  const gj_groups* g = reinterpret_cast<const gj_groups*>(r->groups);
  const uint64_t all = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < r->rows; i += all) {
    const uint64_t slot = reinterpret_cast<const uint32_t*>(r->list)[i];
    const unsigned long long* cell = words_at(g->cells) + slot * g->cell_words;
    bool valid = true;
    switch (r->kind) {
      case GJ_KEY_OF: {
        const unsigned long long* key = words_at(g->keys) + slot * g->words;
        const bool special = slot >= g->capacity;
        valid = r->null == GJ_ALONE ? slot != g->capacity + 1 : special || !(key[(uint32_t)r->null] >> (r->null >> 32) & 1);
        const uint64_t word = !valid ? 0 : special ? GJ_NO_KEY : key[r->word];
        put_integer(r->out, r->width, i, (int64_t)(word >> r->shift));
        break;
      }
      case GJ_COUNT_OF: put_integer(r->out, 8, i, (int64_t)cell[r->word]); break;
      case GJ_LEAST_OF:
        valid = cell[r->null] != 0;
        put_integer(r->out, r->width, i, valid ? (int64_t)cell[r->word] : 0);
        break;
      case GJ_ROW_OF: put(r->out, i, reinterpret_cast<const uint32_t*>(g->firsts)[slot * g->inputs + r->word]); break;
      default: {
        uint32_t low[3];
        const int64_t top = sum_of(cell + r->word, (uint32_t)r->digits, low);
        valid = cell[r->null] != 0;
        unsigned long long* out = words_at(r->out) + i * (r->width / 8);
        out[0] = (uint64_t)low[1] << 32 | low[0];
        out[1] = (uint64_t)(uint32_t)top << 32 | low[2];
        if (r->kind == GJ_SQUARES_OF)
          out[2] = (uint64_t)top >> 32, out[3] = 0;
        else if (top != (int32_t)top)
          *reinterpret_cast<volatile uint64_t*>(r->failed) = 1;
      }
    }
    if (r->validity) reinterpret_cast<uint8_t*>(r->validity)[i] = valid;
  }
}

}  // namespace gj
