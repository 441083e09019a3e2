// Finds the groups of keys, or makes them: in the block's table or else in the device's.
#pragma once
#include "block/block_state.cuh"

namespace gj {

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

}  // namespace gj
