// What a program does with groups: finds those of R rows of each thread, in the
// block's table or else in the device's, and adds values to them.
#pragma once
#include "block/local_groups.cuh"
#include "block/machine.cuh"

namespace gj {

// What all threads of a block share, at the beginning of its shared memory.
struct BlockState {
  gj_aggregate job;
  gj_groups groups;
  LocalGroups local;
};

__device__ __forceinline__ BlockState& block_state() { return *shared_at<BlockState>(0); }

__device__ __forceinline__ const gj_origin* origins() { return reinterpret_cast<const gj_origin*>(block_state().job.origins); }

// Slots in shared memory: those of neighbouring threads lie side by side.
template <int R>
struct WarpSlots {
  uint32_t values, nulls;  // offsets
  static constexpr uint32_t bytes_each = 32 * (8 * R + 1);  // of a slot of a warp
  __device__ __forceinline__ WarpSlots(uint32_t base, uint32_t count) {
    const uint32_t lane = threadIdx.x % 32, from = base + threadIdx.x / 32 * count * bytes_each;
    values = from + 8 * lane, nulls = from + count * (256 * R) + lane;
  }
  __device__ __forceinline__ int64_t& at(uint32_t slot, int j) const { return *shared_at<int64_t>(values + slot * (256 * R) + 256 * j); }
  __device__ __forceinline__ uint32_t null(uint32_t slot) const { return *shared_at<uint8_t>(nulls + slot * 32); }
  __device__ __forceinline__ void set_null(uint32_t slot, uint32_t v) const { *shared_at<uint8_t>(nulls + slot * 32) = (uint8_t)v; }
};

// The row numbers of a warp's tile.
template <int R>
struct TileRows {
  uint32_t row[R];
  __device__ __forceinline__ uint32_t number(const gj_column&, int j) const { return row[j]; }
  __device__ __forceinline__ bool any(uint32_t active) const { return __any_sync(~0u, active != 0); }
};

__device__ __forceinline__ Hash hash_of_word(uint64_t key) {
  Hash h = finish(key ^ gj_hash_seed);
  if (block_state().groups.collide) h.part &= 1, h.table &= 1;
  return h;
}

// Of several words, word(w).
template <class Word>
__device__ __forceinline__ Hash hash_of_words(uint32_t words, Word word) {
  uint64_t sum = gj_hash_seed;
  Hash h{0, 0};
  for (uint32_t w = 0; w < words; w++) {
    h = finish(sum ^ word(w));
    sum = (uint64_t)h.part << 32 | h.table;
  }
  if (block_state().groups.collide) h.part &= 1, h.table &= 1;
  return h;
}

// The group that has no slot for its key: which is 1 for NULL.
__device__ __forceinline__ uint32_t find_special(uint32_t which, uint32_t row) {
  const BlockState& b = block_state();
  if (!b.local.groups) return special_group(&b.groups, origins(), which, row);
  uint32_t* global = b.local.global_slot(which);
  if (*reinterpret_cast<volatile uint32_t*>(global) == no_group) *global = special_group(&b.groups, origins(), which, row);  // whoever else writes it writes the same
  return b.local.mark(which);
}

// The group of a key of one word that was not found in the block's table. It gets cells
// there if there are some. A slot is taken by its key.
__device__ __noinline__ uint32_t place_word(uint64_t key, uint32_t row, bool is_null) {
  BlockState& b = block_state();
  if (is_null || key == GJ_NO_KEY) return find_special(is_null, row);
  const Hash h = hash_of_word(key);
  const uint32_t g = find_group(&b.groups, origins(), key, h.table, row);
  if (g == no_group || !b.local.has_space()) return g;
  uint32_t at = b.local.home(key);
  for (uint32_t probe = 0; probe < b.local.probes; probe++, at = b.local.next(at)) {
    const uint64_t there = atomicCAS(b.local.key(at, 1), (unsigned long long)GJ_NO_KEY, (unsigned long long)key);
    if (there == GJ_NO_KEY) return give_cells(b.local, at, g);
    if (there == key) {
      const uint32_t group = *b.local.number(at);
      return group == cells_unknown ? g : b.local.mark(group);
    }
  }
  return g;
}

// The group of a key of several words, which are in slots from offset `from` on,
// `apart` bytes apart. A slot of the block's table is taken by its tag.
__device__ __noinline__ uint32_t place_words(uint32_t from, uint32_t apart, uint32_t row) {
  BlockState& b = block_state();
  const uint32_t words = (uint32_t)b.groups.words;
  auto value = [&](uint32_t w) { return *shared_at<uint64_t>(from + w * apart); };
  const Hash h = hash_of_words(words, value);
  uint32_t at = h.part & b.local.capacity - 1;
  const uint32_t mine = (h.part << 2) | GJ_READY;
  for (uint32_t probe = 0; probe < b.local.probes; probe++, at = b.local.next(at)) {
    volatile uint32_t* tag = b.local.tag(at);
    volatile unsigned long long* key = b.local.key(at, words);
    const uint32_t there = *tag;
    if (there == GJ_FREE) {
      const uint32_t g = find_wide_group(&b.groups, origins(), value, h.table, row);
      if (g == no_group || !b.local.has_space() || atomicCAS(b.local.tag(at), (uint32_t)GJ_FREE, (uint32_t)GJ_TAKEN) != GJ_FREE) return g;
      for (uint32_t w = 0; w < words; w++) key[w] = value(w);
      const uint32_t mark = give_cells(b.local, at, g);
      __threadfence_block();
      *tag = mine;
      return mark;
    }
    if (there == GJ_TAKEN) break;  // its key is not known yet
    if (there != mine) continue;
    __threadfence_block();
    bool same = true;
    for (uint32_t w = 0; w < words; w++) same = same && key[w] == value(w);
    if (!same) continue;
    const uint32_t group = *b.local.number(at);
    if (group == cells_unknown) break;  // there were none left
    return b.local.mark(group);
  }
  return find_wide_group(&b.groups, origins(), value, h.table, row);
}

// Looks up R keys at a time, from slot at[j] on: those whose bit is in `pending`.
// Returns those that were found, at at[j]; `missing` gets those that are not there.
template <int R, class Load>
__device__ __forceinline__ uint32_t look_up(const uint64_t (&key)[R], uint32_t (&at)[R], uint32_t pending, uint32_t probes, uint32_t mask, uint32_t& missing, Load load) {
  uint32_t found = 0;
  missing = 0;
  for (uint32_t n = 0; pending && n < probes; n++) {
    uint64_t there[R];
    uint32_t same = 0, empty = 0;
#pragma unroll
    for (int j = 0; j < R; j++) there[j] = load(at[j], pending >> j & 1);
#pragma unroll
    for (int j = 0; j < R; j++) same |= (uint32_t)(there[j] == key[j]) << j, empty |= (uint32_t)(there[j] == GJ_NO_KEY) << j;
    found |= same & ~empty & pending;  // the key of a free slot has none
    missing |= empty & pending;
    pending &= ~(same | empty);
#pragma unroll
    for (int j = 0; j < R; j++) at[j] = pending >> j & 1 ? at[j] + 1 & mask : at[j];
  }
  return found;
}

// ONE: keys have one word, which is in registers; those of several words are in slots
// behind the program's.
template <int R, bool WIDE, bool ONE>
struct Grouping {
  uint32_t key_slot, key_words;
  uint64_t word[ONE ? R : 1];
  uint32_t alone;    // rows whose key is NULL, as a group of its own
  uint32_t slot[R];  // of the device's table, or LocalGroups::mark
  uint32_t local;    // rows that have a slot of the block's table

  template <class S>
  __device__ __forceinline__ void start(S& slots) {
    alone = local = 0;
#pragma unroll
    for (int j = 0; j < R; j++) slot[j] = no_group;
    if constexpr (ONE)
#pragma unroll
      for (int j = 0; j < R; j++) word[j] = 0;
    else
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
  __device__ __forceinline__ void key(Instruction i, const Machine<R, WIDE>& m, S& slots) {
    const uint64_t mask = ~0ull >> (64 - i.sub());
    const uint32_t shift = i.extra();
#pragma unroll
    for (int j = 0; j < R; j++)
      if (m.valid(j)) add_bits(slots, i.index(), j, ((uint64_t)m.lo[j] & mask) << shift);
    if (i.flags() & flag_null) alone = m.null & m.active;
    if (i.flags() & flag_key_null) add_null_bits(slots, i.index(), shift + i.sub(), m);
  }

  // Sets a bit of a word of the key where the accumulator is NULL.
  template <class S>
  __device__ __forceinline__ void add_null_bits(S& slots, uint32_t w, uint32_t bit, const Machine<R, WIDE>& m) {
    if (!(m.null & m.active)) return;
#pragma unroll
    for (int j = 0; j < R; j++) add_bits(slots, w, j, (uint64_t)(m.null >> j & 1) << bit);
  }

  template <class S>
  __device__ __forceinline__ void key_null(Instruction i, const Machine<R, WIDE>& m, S& slots) {
    add_null_bits(slots, i.index(), i.extra(), m);
  }

  template <class Rows, class S>
  __device__ __forceinline__ void group(Machine<R, WIDE>& m, const Rows& rows, S& slots) {
    local = 0;
    if (block_state().job.mode == GJ_SCATTER) {
      const uint32_t lost = scatter(m.active, rows, slots);
      if (rows.any(lost)) leave(lost, rows);
      m.active = 0;
      return;
    }
    if (block_state().job.no_keys) {
      uint32_t row = 0;
#pragma unroll
      for (int j = 0; j < R; j++) row = m.active >> j & 1 ? rows.row[j] : row;
      const uint32_t g = m.active ? find_special(0, row) : no_group;
#pragma unroll
      for (int j = 0; j < R; j++) slot[j] = g;
    } else if constexpr (ONE) {
      find_words(m.active, rows);
    } else {
#pragma unroll
      for (int j = 0; j < R; j++)
        if (m.active >> j & 1) slot[j] = place_words(slots.values + key_slot * (256 * R) + 256 * j, 256 * R, rows.row[j]);
    }
    uint32_t lost = 0;
#pragma unroll
    for (int j = 0; j < R; j++) {
      lost |= (uint32_t)(slot[j] == no_group) << j;
      local |= (slot[j] >> 31) << j;
    }
    lost &= m.active;
    local &= m.active & ~lost;
    if (rows.any(lost)) leave(lost, rows);
    m.active &= ~lost;
  }

  // Notes rows in the partitions of their keys; returns those for which there was no
  // space. All warps of a block do so together: they count the rows of each partition,
  // which then gets space for all of them at once. A partition that is full gets no
  // more.
  template <class Rows, class S>
  __device__ __forceinline__ uint32_t scatter(uint32_t active, const Rows& rows, S& slots) {
    const gj_aggregate& job = block_state().job;
    uint32_t* count = shared_at<uint32_t>((uint32_t)job.local_at);
    uint32_t* base = count + job.partitions;
    uint32_t part[R], place[R], lost = 0;
#pragma unroll
    for (int j = 0; j < R; j++) {
      Hash h;
      if constexpr (ONE)
        h = hash_of_word(word[j]);
      else
        h = hash_of_words(key_words, [&](uint32_t w) { return (uint64_t)slots.at(key_slot + w, j); });
      part[j] = (uint32_t)((uint64_t)h.part * job.partitions >> 32);
      place[j] = active >> j & 1 ? atomicAdd(count + part[j], 1u) : 0;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < job.partitions; i += blockDim.x) {
      const uint32_t n = count[i];
      uint32_t* total = reinterpret_cast<uint32_t*>(job.partition_counts) + i * GJ_COUNTS_APART;
      base[i] = n && __ldcg(total) < job.partition_capacity ? take_rows(total, n) : (uint32_t)job.partition_capacity;
      count[i] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < R; j++) {
      if (!(active >> j & 1)) continue;
      const uint32_t at = base[part[j]] + place[j];
      if (at < job.partition_capacity)
        __stcg(reinterpret_cast<uint32_t*>(job.partition_rows) + part[j] * job.partition_capacity + at, rows.row[j]);
      else
        lost |= 1u << j;
    }
    return lost;
  }

  template <class Rows>
  __device__ __forceinline__ void find_words(uint32_t active, const Rows& rows) {
    const BlockState& b = block_state();
    const uint32_t special = alone & active;
    uint32_t missing = 0, found = 0;
    active &= ~special;
    const bool space = b.local.has_space();
    if (b.local.capacity) {
      const uint32_t mask = b.local.capacity - 1;
#pragma unroll
      for (int j = 0; j < R; j++) slot[j] = b.local.home(word[j]);
      const uint32_t keys = b.local.keys;
      found = look_up<R>(word, slot, active, b.local.probes, mask, missing,
                         [&](uint32_t at, bool) { return *(shared_at<volatile uint64_t>(keys) + at); });
      if (!space) missing = 0;
      uint32_t number[R];
#pragma unroll
      for (int j = 0; j < R; j++) number[j] = *b.local.number(slot[j]);
#pragma unroll
      for (int j = 0; j < R; j++) {
        found &= ~((uint32_t)(number[j] == cells_unknown) << j);
        slot[j] = b.local.mark(number[j]);
      }
    }
    const uint32_t far = active & ~(found | missing);
    if (far) {
      const uint32_t mask = (uint32_t)b.groups.capacity - 1;
      uint32_t at[R], none;
#pragma unroll
      for (int j = 0; j < R; j++) at[j] = hash_of_word(word[j]).table & mask;
      const uint32_t there = look_up<R>(word, at, far, (uint32_t)b.groups.probes, mask, none, 
                                       [&](uint32_t at, bool wanted) { return wanted ? __ldcg(key_of(&b.groups, at)) : 0; });
#pragma unroll
      for (int j = 0; j < R; j++) slot[j] = there >> j & 1 ? at[j] : slot[j];
      found |= there;
    }
    const uint32_t rest = (active & ~found) | special;
#pragma unroll
    for (int j = 0; j < R; j++)
      if (rest >> j & 1) slot[j] = place_word(word[j], rows.row[j], alone >> j & 1);
  }

  // Notes rows for whose groups there is no slot.
  template <class Rows>
  __device__ __forceinline__ void leave(uint32_t lost, const Rows& rows) {
    const BlockState& b = block_state();
    uint32_t before = __popc(lost);
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const uint32_t v = __shfl_up_sync(~0u, before, d);
      if (threadIdx.x % 32 >= d) before += v;
    }
    uint64_t at = 0;
    if (threadIdx.x % 32 == 31) at = take_words(words_at(b.job.left_count), before);
    at = __shfl_sync(~0u, at, 31) + before - __popc(lost);
#pragma unroll
    for (int j = 0; j < R; j++)
      if (lost >> j & 1) reinterpret_cast<uint32_t*>(b.job.left)[at++] = rows.row[j];
  }

  // Adds the accumulators to a cell.
  __device__ __forceinline__ void update(Instruction i, const Machine<R, WIDE>& m) {
    const BlockState& b = block_state();
    const uint32_t rows = i.flags() & flag_rows ? m.active : m.active & ~m.null, here = rows & local, there = rows & ~local;
    if (b.job.no_keys && b.local.groups)
      add_to_one(i, m, here);
    else if (here)
      add_to_block(i, m, here);
    if (there) add_to_device(i, m, there);
  }

  // The rows have no slots of the block's table.
  __device__ __forceinline__ void add_to_device(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    const BlockState& b = block_state();
    unsigned long long* first = words_at(b.groups.cells) + i.index();
    const uint32_t stride = (uint32_t)b.groups.stride;
    auto each = [&](auto add) {
#pragma unroll
      for (int j = 0; j < R; j++)
        if (rows >> j & 1) add(first + (uint64_t)slot[j] * stride, j);
    };
    switch (i.sub()) {
      case GJ_COUNT: return each([&](unsigned long long* cell, int) { add_word(cell, 1); });
      case GJ_SEEN: return each([&](unsigned long long* cell, int) { see(cell); });
      case GJ_SUM: return each([&](unsigned long long* cell, int j) { add_narrow(cell, m.lo[j]); });
      case GJ_SUM_WIDE: return each([&](unsigned long long* cell, int j) { add_wide(cell, m.lo[j], m.high(j)); });
      case GJ_MIN: return each([&](unsigned long long* cell, int j) { take_least(cell, m.lo[j]); });
      default: return each([&](unsigned long long* cell, int j) { take_greatest(cell, m.lo[j]); });
    }
  }

  // The rows have cells in the block's table. There are no branches, so that atomic
  // operations of all rows are under way at the same time: the other rows add 0 to
  // cells of the first group.
  __device__ __forceinline__ void add_to_block(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    const LocalGroups& l = block_state().local;
    const uint32_t other = l.mark(0);
    uint32_t at[R];
#pragma unroll
    for (int j = 0; j < R; j++) at[j] = (rows >> j & 1 ? slot[j] : other) & ~local_group;
    uint32_t* cell = l.cell(i.extra(), 0);
    const uint32_t apart = l.words_apart();
    switch (i.sub()) {
      case GJ_COUNT:
#pragma unroll
        for (int j = 0; j < R; j++) atomicAdd(cell + at[j], rows >> j & 1);
        break;
      case GJ_SEEN:
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1) *reinterpret_cast<volatile uint32_t*>(cell + at[j]) = 1;
        break;
      case GJ_SUM: {
        int64_t rest[R];
        bool more = false;
        uint32_t old[R];
#pragma unroll
        for (int j = 0; j < R; j++) old[j] = atomicAdd(cell + at[j], rows >> j & 1 ? (uint32_t)m.lo[j] : 0);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const uint32_t low = rows >> j & 1 ? (uint32_t)m.lo[j] : 0;
          rest[j] = (rows >> j & 1 ? m.lo[j] >> 32 : 0) + (old[j] + low < low);
          more |= rest[j] != 0;
        }
        if (!more) break;
#pragma unroll
        for (int j = 0; j < R; j++) old[j] = atomicAdd(cell + apart + at[j], (uint32_t)rest[j]);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const int32_t top = (int32_t)(rest[j] >> 32) + (old[j] + (uint32_t)rest[j] < (uint32_t)rest[j]);
          if (top) atomicAdd(cell + 2 * apart + at[j], (uint32_t)top);
        }
        break;
      }
      case GJ_SUM_WIDE:
        if constexpr (WIDE)
#pragma unroll
          for (int j = 0; j < R; j++)
            if (rows >> j & 1) add_local<5>(cell + at[j], apart, wide_of(m.lo[j], m.high(j)));
        break;
      default: {
        const bool least = i.sub() == GJ_MIN;
        uint32_t better = 0;
        const volatile long long* extreme = l.wide_cell(i.extra(), 0);
#pragma unroll
        for (int j = 0; j < R; j++) {
          const int64_t there = extreme[at[j]];
          better |= (uint32_t)(least ? m.lo[j] < there : m.lo[j] > there) << j;
        }
        better &= rows;
        if (!better) break;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (better >> j & 1) replace_extreme(l.wide_cell(i.extra(), at[j]), m.lo[j], least);
      }
    }
  }

  // All rows are of one group: a thread adds its rows up first.
  __device__ __forceinline__ void add_to_one(Instruction i, const Machine<R, WIDE>& m, uint32_t rows) {
    if (!rows) return;
    const LocalGroups& l = block_state().local;
    const uint32_t at = l.mark(0) & ~local_group;
    uint32_t* cell = l.cell(i.extra(), at);
    switch (i.sub()) {
      case GJ_COUNT: atomicAdd(cell, (uint32_t)__popc(rows)); break;
      case GJ_SEEN: *reinterpret_cast<volatile uint32_t*>(cell) = 1; break;
      case GJ_SUM: {
        Wide sum = 0;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1) sum += m.lo[j];
        add_local<3>(cell, l.words_apart(), sum);
        break;
      }
      case GJ_SUM_WIDE:
        if constexpr (WIDE)
#pragma unroll
          for (int j = 0; j < R; j++)
            if (rows >> j & 1) add_local<5>(cell, l.words_apart(), wide_of(m.lo[j], m.high(j)));
        break;
      default: {
        const bool least = i.sub() == GJ_MIN;
        int64_t v = least ? INT64_MAX : INT64_MIN;
#pragma unroll
        for (int j = 0; j < R; j++)
          if (rows >> j & 1 && (least ? m.lo[j] < v : m.lo[j] > v)) v = m.lo[j];
        take_extreme(l.wide_cell(i.extra(), at), v, least);
      }
    }
  }
};

// Empties the block's table.
__device__ __forceinline__ void clear_local() {
  BlockState& b = block_state();
  LocalGroups& l = b.local;
  if (b.job.mode == GJ_SCATTER)  // the rows of partitions are counted in place of a table
    for (uint32_t i = threadIdx.x; i < b.job.partitions; i += blockDim.x) shared_at<uint32_t>((uint32_t)b.job.local_at)[i] = 0;
  if (b.job.mode == GJ_SCATTER || !l.groups) return;
  if (threadIdx.x == 0) l.taken = groups_without_key;
  const uint32_t words = (uint32_t)b.groups.words, apart = l.words_apart(), T = blockDim.x;
  for (uint32_t i = threadIdx.x; i < l.capacity * words; i += T) l.key(0, 1)[i] = GJ_NO_KEY;
  for (uint32_t i = threadIdx.x; i < (uint32_t)b.job.local_words * apart; i += T) *l.cell(0, i) = 0;
  for (uint32_t i = threadIdx.x; i < l.groups; i += T) *l.global_slot(i) = no_group;
  for (uint32_t i = threadIdx.x; i < l.capacity; i += T) *l.number(i) = cells_unknown;
  if (words > 1)
    for (uint32_t i = threadIdx.x; i < l.capacity; i += T) *l.tag(i) = GJ_FREE;
  for (uint32_t c = 0; c < b.groups.cell_count; c++) {
    const gj_cell cell = reinterpret_cast<const gj_cell*>(b.groups.kinds)[c];
    if (!is_wide_cell((uint32_t)cell.kind)) continue;
    for (uint32_t i = threadIdx.x; i < apart; i += T) *l.wide_cell((uint32_t)cell.local, i) = cell.kind == GJ_MIN ? INT64_MAX : INT64_MIN;
  }
}

// Adds a cell of a slot of the block's table, all copies of it, to one of the device's.
__device__ __forceinline__ void flush_cell(const gj_cell& cell, unsigned long long* to, uint32_t s) {
  const LocalGroups& l = block_state().local;
  const uint32_t kind = (uint32_t)cell.kind, apart = l.words_apart();
  if (is_wide_cell(kind)) {
    for (uint32_t c = 0; c < l.copies; c++) {
      const int64_t v = *l.wide_cell((uint32_t)cell.local, s * l.copies + c);
      if (kind == GJ_MIN)
        take_least(to, v);
      else
        take_greatest(to, v);
    }
    return;
  }
  const uint32_t* from = l.cell((uint32_t)cell.local, s * l.copies);
  switch (kind) {
    case GJ_COUNT:
    case GJ_SEEN: {
      unsigned long long sum = 0;
      for (uint32_t c = 0; c < l.copies; c++) sum += from[c];
      if (sum && kind == GJ_COUNT) add_word(to, sum);
      if (sum && kind == GJ_SEEN) see(to);
      break;
    }
    case GJ_SUM: {
      int64_t digit[3];
      sum_copies<3>(from, apart, l.copies, digit);
      add_to_words<2>(to, (Wide)digit[0] + ((Wide)digit[1] << 32) + (Wide)((UnsignedWide)(Wide)digit[2] << 64));
      break;
    }
    default: {
      int64_t digit[5], carry = 0;
      sum_copies<5>(from, apart, l.copies, digit);
      for (int w = 0; w < 4; w++) {
        int64_t v = digit[w] + carry;
        if (w < 3) {
          const int64_t low = (int32_t)(uint32_t)v;
          carry = (v - low) >> 32;
          v = low;
        } else {
          v += (int64_t)((uint64_t)digit[4] << 32);
        }
        if (v) add_word(to + w, (unsigned long long)v);
      }
    }
  }
}

// Adds the block's table to that of the device.
__device__ __forceinline__ void flush_local() {
  const BlockState& b = block_state();
  const LocalGroups& l = b.local;
  if (b.job.mode == GJ_SCATTER || !l.groups) return;
  const uint32_t count = (uint32_t)b.groups.cell_count;
  for (uint32_t i = threadIdx.x; i < l.groups * count; i += blockDim.x) {
    const uint32_t s = i / count, g = *l.global_slot(s);
    if (g == no_group) continue;
    const gj_cell cell = reinterpret_cast<const gj_cell*>(b.groups.kinds)[i % count];
    flush_cell(cell, cells_of(&b.groups, g) + cell.at, s);
  }
}

}  // namespace gj
