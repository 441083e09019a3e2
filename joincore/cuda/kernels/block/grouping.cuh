// What a program does with groups: makes keys of R rows of each thread, finds their
// groups, and notes the rows for which there is none.
#pragma once
#include "block/accumulate.cuh"
#include "block/find_groups.cuh"

namespace gj {

// ONE: keys have one word, which is in registers; those of several words are in slots
// behind the program's. Launch says what a launch does.
template <int R, bool WIDE, bool ONE, class Launch>
struct Grouping : RowGroups<R, WIDE, Launch> {
  using RowGroups<R, WIDE, Launch>::slot;
  using RowGroups<R, WIDE, Launch>::local;
  uint32_t key_slot, key_words;
  uint64_t word[ONE ? R : 1];
  uint32_t alone;    // rows whose key is NULL, as a group of its own

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
    if (Launch::mode() == GJ_SCATTER) {
      const uint32_t lost = scatter(m.active, rows, slots);
      if (rows.any(lost)) leave(lost, rows);
      m.active = 0;
      return;
    }
    if (Launch::no_keys()) {
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
};

}  // namespace gj
