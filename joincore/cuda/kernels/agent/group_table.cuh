// Empties hash tables of groups, moves their groups, and makes columns of them.
#pragma once
#include "block/groups.cuh"

namespace gj {

// Whether a slot has a group.
__device__ __forceinline__ bool has_group(const gj_groups* g, uint64_t slot) {
  if (slot >= g->capacity) return reinterpret_cast<const uint32_t*>(g->special)[slot - g->capacity] != 0;
  return g->words == 1 ? *key_of(g, slot) != GJ_NO_KEY : *state_of(g, slot) == GJ_READY;
}

// Empties a table.
__device__ __forceinline__ void clear_groups(const gj_groups* g) {
  const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x, all = (uint64_t)gridDim.x * blockDim.x;
  if (t < 2) reinterpret_cast<uint32_t*>(g->special)[t] = 0;
  if (t == 0) *words_at(g->count) = 0;
  const gj_cell* cell = reinterpret_cast<const gj_cell*>(g->kinds);
  for (uint64_t s = t; s < g->capacity + 2; s += all) {
    if (g->words == 1)
      *key_of(g, s) = GJ_NO_KEY;
    else
      *state_of(g, s) = GJ_FREE;
    unsigned long long* to = cells_of(g, s);
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
    const unsigned long long* key = key_of(from, s);
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
    for (uint32_t w = 0; w < from->cell_words; w++) cells_of(to, slot)[w] = cells_of(from, s)[w];
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
    case 8: return put(out, i, v);
    default: return put(out, 2 * i, v), put(out, 2 * i + 1, v >> 63);
  }
}

// Makes a column of the result.
__device__ __forceinline__ void make_result(const gj_result* r) {
  const gj_groups* g = reinterpret_cast<const gj_groups*>(r->groups);
  const uint64_t all = (uint64_t)gridDim.x * blockDim.x;
  for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < r->rows; i += all) {
    const uint64_t slot = reinterpret_cast<const uint32_t*>(r->list)[i];
    const unsigned long long* cell = cells_of(g, slot);
    bool valid = true;
    switch (r->kind) {
      case GJ_KEY_OF: {
        const unsigned long long* key = key_of(g, slot);
        const bool special = slot >= g->capacity;
        valid = r->null == GJ_ALONE ? slot != g->capacity + 1 : special || !(key[(uint32_t)r->null] >> (r->null >> 32) & 1);
        const uint64_t word = !valid ? 0 : special ? GJ_NO_KEY : key[r->word];
        if (r->width == 16) {
          put(r->out, 2 * i, word);
          put(r->out, 2 * i + 1, valid ? (uint64_t)key[r->word + 1] : 0);
          break;
        }
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
