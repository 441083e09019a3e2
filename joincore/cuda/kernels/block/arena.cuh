// Output space for a result of unknown size, in one pass.
//
// The output is divided into chunks of output_chunk rows. A block owns one chunk at
// a time; its warps claim rows in it with one shared-memory atomic. The warp whose
// claim crosses the chunk's end takes the block's next chunk from the global
// counter, which is thus touched once per chunk. A crossing claim uses both
// chunks, so every chunk but a block's last is full. close_output moves rows into
// the free ends of the last chunks.
//
// Rows beyond the capacity are counted, not written.
#pragma once
#include <type_traits>

#include "block/relaxed.cuh"
#include "block/scan.cuh"
#include "layout/join.h"

namespace gj {

struct Claim {
  uint64_t base, rest;  // rows below `first` start at base, the others at rest
  uint32_t first;
  bool fits;
  __device__ __forceinline__ uint64_t at(uint32_t k) const { return k < first ? base + k : rest + (k - first); }
};

// The state before a block's first claim: a full chunk.
__device__ __forceinline__ unsigned long long no_claim(uint32_t chunk_rows) { return chunk_rows; }

// Claims n rows for the calling warp, 0 < n <= output_chunk. *state is chunk << 32 | rows claimed of it.
__device__ __forceinline__ Claim claim_rows(unsigned long long* state, const gj_join& job, uint32_t n) {
  const uint32_t size = (uint32_t)job.output_chunk;
  uint64_t base = 0, rest = 0;
  uint32_t first = n;
  if ((threadIdx.x & 31) == 0) {
    while (true) {
      const unsigned long long s = atomicAdd(state, (unsigned long long)n);
      const uint32_t used = (uint32_t)s;
      base = (s >> 32) * size + used;
      if (used + n <= size) break;
      if (used <= size) {
        const unsigned long long next = atomicAdd(reinterpret_cast<unsigned long long*>(job.counters) + GJ_OUTPUT_CHUNKS, 1);
        first = size - used;
        rest = next * size;
        atomicExch(state, next << 32 | (n - first));
        break;
      }
      // Another warp is taking the next chunk.
      while ((uint32_t)load_relaxed(reinterpret_cast<const uint64_t*>(state)) > size) __nanosleep(32);
    }
  }
  base = __shfl_sync(~0u, base, 0);
  rest = __shfl_sync(~0u, rest, 0);
  first = __shfl_sync(~0u, first, 0);
  const bool fits = (first == 0 || base + first <= job.output_capacity) && (first == n || rest + (n - first) <= job.output_capacity);
  return {base, rest, first, fits};
}

// Moves one value within a column whose values are `stride` bytes apart.
__device__ __forceinline__ void move_value(uint64_t column, uint64_t stride, uint64_t bytes, uint64_t target, uint64_t source) {
  auto move = [&](auto* base) {
    using V = std::remove_pointer_t<decltype(base)>;
    __stcg(reinterpret_cast<V*>(column + target * stride), __ldcg(reinterpret_cast<const V*>(column + source * stride)));
  };
  switch (bytes) {
    case 1: return move((uint8_t*)nullptr);
    case 2: return move((uint16_t*)nullptr);
    case 4: return move((uint32_t*)nullptr);
    case 8: return move((uint2*)nullptr);
    default: return move((uint4*)nullptr);
  }
}

// Makes the result dense: moves rows from behind its end into the free ends of the
// blocks' last chunks. Any number of blocks of T threads. bytes: the width of each
// side's columns, or 0 if the side has fields.
template <int T>
__device__ __forceinline__ void close_output(const gj_join* join, const int key_bytes, const int (&columns)[2], const int (&bytes)[2]) {
  constexpr int M = 1024;  // maximum number of match blocks
  static_assert(T == M);
  __shared__ uint64_t sums[32];
  __shared__ uint32_t used[M + 2], hole[M + 1], tail[M + 2];
  __shared__ uint64_t hole_at[M];
  const uint32_t size = (uint32_t)join->output_chunk, tails = (uint32_t)join->tail_count, t = threadIdx.x;
  unsigned long long* counters = reinterpret_cast<unsigned long long*>(join->counters);
  const uint64_t chunks = counters[GJ_OUTPUT_CHUNKS];
  const uint64_t mine = t < tails ? reinterpret_cast<const uint64_t*>(join->tails)[t] : size;
  const uint64_t my_chunk = mine >> 32;
  const uint32_t my_free = size - (uint32_t)mine;
  uint64_t all_free, all;
  block_exclusive<T>((uint64_t)my_free, sums, all_free);
  const uint64_t rows = chunks * size - all_free;  // the end of the dense result
  if (blockIdx.x == 0 && t == 0) counters[GJ_OUTPUT_ROWS] = rows;
  if (chunks * size > join->output_capacity || all_free == 0) return;

  // Free rows below the end, by block of the match.
  const uint64_t from = my_chunk * size + (size - my_free), to = min(my_chunk * size + size, rows);
  const uint32_t holes = my_free && from < to ? (uint32_t)(to - from) : 0;
  __syncthreads();
  const uint32_t holes_before = (uint32_t)block_exclusive<T>((uint64_t)holes, sums, all);
  hole[t] = holes_before, hole_at[t] = from;
  const uint32_t moves = (uint32_t)all;
  if (t == 0) hole[M] = moves;

  // Rows behind the end, by chunk: each chunk is a tail or the one chunk that the end cuts.
  const uint64_t first_chunk = rows / size;
  for (uint32_t i = t; i < M + 2; i += T) used[i] = first_chunk + i < chunks ? size : 0;
  __syncthreads();
  if (my_free && my_chunk >= first_chunk) used[my_chunk - first_chunk] = size - my_free;
  __syncthreads();
  const uint32_t cut = (uint32_t)(rows % size);
  auto behind = [&](uint32_t i) { return i == 0 ? used[0] - min(cut, used[0]) : used[i]; };
  const uint32_t behind_before = (uint32_t)block_exclusive<T>((uint64_t)behind(t), sums, all);
  tail[t] = behind_before;
  if (t == T - 1) tail[M] = behind_before + behind(M - 1), tail[M + 1] = tail[M] + behind(M);
  __syncthreads();

  for (uint32_t k = blockIdx.x * T + t; k < moves; k += gridDim.x * T) {
    uint32_t h = 0, c = 0;  // the last indexes with hole[h] <= k and tail[c] <= k
    for (uint32_t d = M / 2; d; d /= 2) {
      if (hole[h + d] <= k) h += d;
    }
    for (uint32_t d = M; d; d /= 2)
      if (c + d <= M && tail[c + d] <= k) c += d;
    const uint64_t target = hole_at[h] + (k - hole[h]);
    const uint64_t source = (first_chunk + c) * size + (c == 0 ? cut : 0) + (k - tail[c]);
    if (join->output_key) move_value(join->output_key, key_bytes, key_bytes, target, source);
    for (int s = 0; s < 2; s++) {
      for (int c = 0; bytes[s] && c < columns[s]; c++) move_value(join->output_column[s][c], bytes[s], bytes[s], target, source);
      const gj_field* field = reinterpret_cast<const gj_field*>(join->side[s].fields);
      for (uint64_t f = 0; !bytes[s] && f < join->side[s].field_count; f++) move_value(field[f].to, field[f].to_stride, field[f].bytes, target, source);
    }
  }
}

}  // namespace gj
