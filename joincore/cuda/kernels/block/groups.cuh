// A hash table of groups in device memory, to which any number of threads add.
#pragma once
#include "block/arithmetic.cuh"
#include "block/hash.cuh"
#include "layout/groups.h"

namespace gj {

constexpr uint32_t no_group = ~0u;

__device__ __forceinline__ uint32_t load_acquire(const uint32_t* p) {
#ifdef __CUDA_ARCH__
  uint32_t v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
#else
  return *p;
#endif
}

__device__ __forceinline__ void store_release(uint32_t* p, uint32_t v) {
#ifdef __CUDA_ARCH__
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
  *p = v;
#endif
}

__device__ __forceinline__ unsigned long long* words_at(uint64_t address) { return reinterpret_cast<unsigned long long*>(address); }

// Atomic operations on words of device memory. To the compiler an address that a
// descriptor names might be one of shared memory, where these are loops.
__device__ __forceinline__ void add_word(unsigned long long* p, unsigned long long v) {
#ifdef __CUDA_ARCH__
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
#else
  *p += v;
#endif
}
__device__ __forceinline__ unsigned long long take_words(unsigned long long* p, unsigned long long n) {
#ifdef __CUDA_ARCH__
  unsigned long long old;
  asm volatile("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(old) : "l"(p), "l"(n) : "memory");
  return old;
#else
  return atomicAdd(p, n);
#endif
}
__device__ __forceinline__ uint32_t take_rows(uint32_t* p, uint32_t n) {
#ifdef __CUDA_ARCH__
  uint32_t old;
  asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(n) : "memory");
  return old;
#else
  return atomicAdd(p, n);
#endif
}
__device__ __forceinline__ void least_word(unsigned long long* p, int64_t v) {
#ifdef __CUDA_ARCH__
  asm volatile("red.relaxed.gpu.global.min.s64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
#else
  *p = min((int64_t)*p, v);
#endif
}
__device__ __forceinline__ void greatest_word(unsigned long long* p, int64_t v) {
#ifdef __CUDA_ARCH__
  asm volatile("red.relaxed.gpu.global.max.s64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
#else
  *p = max((int64_t)*p, v);
#endif
}
__device__ __forceinline__ unsigned long long swap_word(unsigned long long* p, unsigned long long compare, unsigned long long v) {
#ifdef __CUDA_ARCH__
  unsigned long long old;
  asm volatile("atom.relaxed.gpu.global.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "l"(p), "l"(compare), "l"(v) : "memory");
  return old;
#else
  return atomicCAS(p, compare, v);
#endif
}

// The state, the key and the cells of a slot.
__device__ __forceinline__ uint32_t* state_of(const gj_groups* g, uint64_t slot) {
  return reinterpret_cast<uint32_t*>(words_at(g->states) + slot * g->stride);
}
__device__ __forceinline__ unsigned long long* key_of(const gj_groups* g, uint64_t slot) { return words_at(g->keys) + slot * g->stride; }
__device__ __forceinline__ unsigned long long* cells_of(const gj_groups* g, uint64_t slot) { return words_at(g->cells) + slot * g->stride; }

__device__ __forceinline__ bool has_space(const gj_groups* g) { return __ldcg(words_at(g->count)) < g->limit; }

__device__ __forceinline__ void count_group(const gj_groups* g) { add_word(words_at(g->count), 1); }

// Notes the rows from which columns of a new group are taken, if there are origins.
__device__ __forceinline__ void note_row(const gj_groups* g, const gj_origin* origin, uint32_t row, uint64_t slot) {
  if (!origin) return;
  for (uint32_t i = 0; i < g->inputs; i++) {
    const gj_origin o = origin[i];
    uint32_t at = o.positions ? __ldg(reinterpret_cast<const uint32_t*>(o.positions) + row) : row;
    if (at != GJ_NONE) at = o.numbers ? __ldg(reinterpret_cast<const uint32_t*>(o.numbers) + at) : at + (uint32_t)o.first;
    reinterpret_cast<uint32_t*>(g->firsts)[slot * g->inputs + i] = at;
  }
}

// The group behind the slots.
__device__ __forceinline__ uint32_t special_group(const gj_groups* g, const gj_origin* origin, uint32_t which, uint32_t row) {
  uint32_t* there = reinterpret_cast<uint32_t*>(g->special) + which;
  const uint32_t slot = (uint32_t)g->capacity + which;
  if (!__ldcg(there) && atomicExch(there, 1u) == 0) {
    count_group(g);
    note_row(g, origin, row, slot);
  }
  return slot;
}

// The slot of a key of one word, a new one for a new key; no_group: there are too
// many. A slot is taken by its key.
__device__ __noinline__ uint32_t find_group(const gj_groups* g, const gj_origin* origin, uint64_t key, uint32_t hash, uint32_t row) {
  const uint32_t mask = (uint32_t)g->capacity - 1;
  uint32_t slot = hash & mask;
  for (uint32_t probe = 0; probe < g->probes; probe++, slot = slot + 1 & mask) {
    unsigned long long* at = key_of(g, slot);
    uint64_t there = __ldcg(at);
    if (there == key) return slot;
    if (there != GJ_NO_KEY) continue;
    if (!has_space(g)) return no_group;
    there = swap_word(at, GJ_NO_KEY, key);
    if (there == GJ_NO_KEY) {
      count_group(g);
      note_row(g, origin, row, slot);
      return slot;
    }
    if (there == key) return slot;
  }
  return no_group;
}

// The same for a key of several words, word(w). A slot is taken by its state; while
// another thread writes its key, this one waits for it, which needs nothing to do so.
template <class Word>
__device__ __forceinline__ uint32_t find_wide_group(const gj_groups* g, const gj_origin* origin, Word word, uint32_t hash, uint32_t row) {
  const uint32_t mask = (uint32_t)g->capacity - 1, words = (uint32_t)g->words;
  uint32_t slot = hash & mask;
  for (uint32_t probe = 0; probe < g->probes; probe++, slot = slot + 1 & mask) {
    unsigned long long* key = key_of(g, slot);
    uint32_t* at = state_of(g, slot);
    uint32_t state = load_acquire(at);
    if (state == GJ_FREE) {
      if (!has_space(g)) return no_group;
      state = atomicCAS(at, (uint32_t)GJ_FREE, (uint32_t)GJ_TAKEN);
      if (state == GJ_FREE) {
        for (uint32_t w = 0; w < words; w++) __stcg(key + w, (unsigned long long)word(w));
        note_row(g, origin, row, slot);
        store_release(at, GJ_READY);
        count_group(g);
        return slot;
      }
    }
    while (state == GJ_TAKEN) {
      __nanosleep(64);
      state = load_acquire(at);
    }
    bool same = true;
    for (uint32_t w = 0; w < words; w++) same = same && __ldcg(key + w) == word(w);
    if (same) return slot;
  }
  return no_group;
}

// Adds a signed number to words of which each counts 2^32 times as much as the one
// before. Of the number's words all but the last are signed and of 32 bits, so that
// small numbers change the first word only.
template <int N>
__device__ __forceinline__ void add_to_words(unsigned long long* word, Wide v) {
#pragma unroll
  for (int w = 0; w < N; w++) {
    const int64_t digit = w < N - 1 ? (int64_t)(int32_t)(uint32_t)(UnsignedWide)v : (int64_t)v;
    if (digit) add_word(word + w, (unsigned long long)digit);
    if (w < N - 1) v = (v >> 32) + (digit < 0);
  }
}

__device__ __forceinline__ void add_narrow(unsigned long long* word, int64_t v) {
  const int32_t low = (int32_t)(uint32_t)v;
  const int64_t high = (v >> 32) + (low < 0);
  if (low) add_word(word, (unsigned long long)(int64_t)low);
  if (high) add_word(word + 1, (unsigned long long)high);
}

__device__ __noinline__ void add_wide(unsigned long long* word, int64_t lo, int64_t hi) { add_to_words<4>(word, wide_of(lo, hi)); }

// Reading the word first keeps most threads from changing it.
__device__ __forceinline__ void take_least(unsigned long long* word, int64_t v) {
  if (v < (int64_t)__ldcg(word)) least_word(word, v);
}

__device__ __forceinline__ void take_greatest(unsigned long long* word, int64_t v) {
  if (v > (int64_t)__ldcg(word)) greatest_word(word, v);
}

__device__ __forceinline__ void see(unsigned long long* word) {
  if (!__ldcg(word)) __stcg(word, 1ull);
}

}  // namespace gj
