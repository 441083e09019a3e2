// Compresses rows for slow links, and expands them where they arrive (MG-Join, section 5.1; ours
// are the least keys, and the values of any payload). Chunks are described in
// layout/compress.h. A block of threads takes a chunk at a time.
//
// Bound: device memory. Compression reads rows twice, the second time from the cache.
#pragma once
#include <limits.h>

#include "block/hash.cuh"
#include "block/unhash.cuh"
#include "block/unhash_wide.cuh"
#include "layout/compress.h"

namespace gj {

// Where the rows of a chunk are, and its parcel.
struct Chunk {
  uint64_t row;
  uint32_t rows, partition;
  uint32_t* place;  // in the parcel's list
  uint32_t* used;
  uint32_t* data;

  __device__ Chunk(const gj_compression* c, uint64_t number) {
    const gj_row_part* part = reinterpret_cast<const gj_row_part*>(c->parts);
    uint64_t low = 0, high = c->part_count;  // the last part whose first chunk is not behind this one
    while (high - low > 1) {
      const uint64_t mid = (low + high) / 2;
      if (part[mid].chunk <= number)
        low = mid;
      else
        high = mid;
    }
    part += low;
    const uint64_t before = (number - part->chunk) * GJ_CHUNK_ROWS, left = part->rows - before;
    row = part->row + before;
    rows = left < GJ_CHUNK_ROWS ? (uint32_t)left : GJ_CHUNK_ROWS;
    partition = (uint32_t)part->partition;
    const gj_parcel* parcel = reinterpret_cast<const gj_parcel*>(c->parcels) + part->parcel;
    place = reinterpret_cast<uint32_t*>(parcel->places) + (number - parcel->chunk);
    used = reinterpret_cast<uint32_t*>(parcel->used);
    data = reinterpret_cast<uint32_t*>(parcel->data);
  }
};

constexpr uint32_t unit_words = GJ_CHUNK_UNIT / 4;

// How the values of a chunk are written: those of the key, then those of each other word.
struct ChunkColumns {
  uint32_t form, end;                   // end: the words of the chunk
  uint64_t least[GJ_COMPRESSED_WORDS];  // of a column
  uint32_t at[GJ_COMPRESSED_WORDS];     // the word where its bits begin
  uint8_t bits[GJ_COMPRESSED_WORDS];

  // One thread, when form and bits are there.
  __device__ void place(uint32_t rows, uint32_t key_words, uint32_t words) {
    const uint32_t payload = words - key_words;
    uint32_t next = 1 + key_words + payload + (payload + 3) / 4;
    for (uint32_t c = 0; c <= payload; c++) at[c] = next, next += (rows * bits[c] + 31) / 32;
    end = next;
  }
};

__device__ __forceinline__ uint32_t bits_of(uint64_t v) {
  const uint32_t high = (uint32_t)(v >> 32);
  return high ? 64 - __clz((int)high) : 32 - __clz((int)(uint32_t)v);
}

__device__ __forceinline__ uint32_t row_word(const gj_row_word& w, uint64_t row) { return *reinterpret_cast<const uint32_t*>(w.at + row * w.stride); }

// The key of a row, or another word, as a signed number. KW: words of a key.
template <int KW>
__device__ __forceinline__ int64_t chunk_value(const gj_row_word* w, uint32_t column, uint64_t row) {
  if (column) return (int32_t)row_word(w[KW - 1 + column], row);
  if constexpr (KW == 1) return (int32_t)row_word(w[0], row);
  return (int64_t)((uint64_t)row_word(w[1], row) << 32 | row_word(w[0], row));
}

// The hash of a key in as many bits as the key has.
template <int KW>
__device__ __forceinline__ uint64_t whole_hash(uint64_t key) {
  if constexpr (KW == 1) {
    const uint32_t word[1] = {(uint32_t)key};
    return hash_words(word).part;
  } else {
    const uint32_t word[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    const Hash h = hash_words(word);
    return (uint64_t)h.part << 32 | h.table;
  }
}

__device__ __forceinline__ uint64_t low_bits(uint64_t v, uint32_t n) { return n < 64 ? v & ((1ull << n) - 1) : v; }

// Word k of a list of values of some bits each.
__device__ __forceinline__ uint32_t bits_word(const uint64_t* value, uint32_t rows, uint32_t bits, uint32_t k) {
  uint32_t i = 32 * k / bits;
  uint64_t word = value[i] >> (32 * k - i * bits);
  for (uint32_t have = (i + 1) * bits - 32 * k; have < 32 && ++i < rows; have += bits) word |= value[i] << have;
  return (uint32_t)word;
}

// Value i of such a list. It reads no word that has none of its bits.
__device__ __forceinline__ uint64_t bits_value(const uint32_t* word, uint32_t bits, uint32_t i) {
  if (bits == 0) return 0;
  const uint32_t first = i * bits / 32, skip = i * bits % 32;
  uint64_t v = word[first];
  if (skip + bits > 32) v |= (uint64_t)word[first + 1] << 32;
  v >>= skip;
  if (skip + bits > 64) v |= (uint64_t)word[first + 2] << (64 - skip);
  return low_bits(v, bits);
}

// What a block that compresses has in shared memory.
struct CompressShared {
  ChunkColumns columns;
  long long least[GJ_COMPRESSED_WORDS], most[GJ_COMPRESSED_WORDS];
  uint32_t at;                       // of the chunk, in units
  uint64_t value[2][GJ_CHUNK_ROWS];  // of a column, and of the one before it
};

// Finds the least value of each column and the bits that values less it have. A thread has the same rows of
// all columns. The block waits before it.
template <int KW, int T>
__device__ __forceinline__ void measure_columns(const gj_row_word* w, uint32_t columns, const Chunk& chunk, CompressShared& s) {
  for (uint32_t c = threadIdx.x; c < columns; c += T) s.least[c] = LLONG_MAX, s.most[c] = LLONG_MIN;
  __syncthreads();
  for (uint32_t c = 0; c < columns; c++) {
    int64_t least = LLONG_MAX, most = LLONG_MIN;
#pragma unroll
    for (uint32_t j = 0; j < GJ_CHUNK_ROWS; j += T) {
      if (j + threadIdx.x >= chunk.rows) break;
      const int64_t v = chunk_value<KW>(w, c, chunk.row + j + threadIdx.x);
      least = v < least ? v : least, most = v > most ? v : most;
    }
    for (int d = 16; d; d /= 2) {
      const int64_t l = __shfl_xor_sync(~0u, least, d), m = __shfl_xor_sync(~0u, most, d);
      least = l < least ? l : least, most = m > most ? m : most;
    }
    if ((threadIdx.x & 31) == 0 && least <= most) atomicMin(&s.least[c], (long long)least), atomicMax(&s.most[c], (long long)most);
  }
  __syncthreads();
  for (uint32_t c = threadIdx.x; c < columns; c += T) {
    s.columns.least[c] = (uint64_t)s.least[c];
    s.columns.bits[c] = (uint8_t)bits_of((uint64_t)s.most[c] - (uint64_t)s.least[c]);
  }
}

// One thread decides how a chunk is written, and takes the place for it.
template <int KW>
__device__ __forceinline__ void take_chunk(const gj_compression* c, const Chunk& chunk, CompressShared& s) {
  ChunkColumns& to = s.columns;
  const uint32_t words = (uint32_t)c->word_count, hashed = 32 * KW - (uint32_t)c->shared_bits;
  to.form = GJ_CHUNK_LEAST;
  if (hashed < to.bits[0]) to.form = GJ_CHUNK_HASHED, to.bits[0] = (uint8_t)hashed, to.least[0] = 0;
  to.place(chunk.rows, KW, words);
  const uint32_t raw = 1 + words * chunk.rows;
  if (to.end >= raw) to.form = GJ_CHUNK_RAW, to.end = raw;
  s.at = atomicAdd(chunk.used, (to.end + unit_words - 1) / unit_words);
  *chunk.place = s.at;
}

template <int KW, int T>
__device__ __forceinline__ void compress_chunk(const gj_compression* c, uint64_t number, CompressShared& s) {
  const Chunk chunk(c, number);
  const gj_row_word* w = reinterpret_cast<const gj_row_word*>(c->words);
  const uint32_t words = (uint32_t)c->word_count, payload = words - KW, t = threadIdx.x;
  ChunkColumns& columns = s.columns;
  measure_columns<KW, T>(w, payload + 1, chunk, s);
  __syncthreads();
  if (t == 0) take_chunk<KW>(c, chunk, s);
  __syncthreads();
  uint32_t* to = chunk.data + (uint64_t)s.at * unit_words;
  const bool raw = columns.form == GJ_CHUNK_RAW;
  if (t == 0) to[0] = chunk.rows | columns.form << 16 | (raw ? 0 : (uint32_t)columns.bits[0]) << 24;
  const uint32_t padding = (unit_words - columns.end % unit_words) % unit_words;
  if (t < padding) to[columns.end + t] = 0;
  if (raw) {
    for (uint32_t q = 0; q < words; q++)
      for (uint32_t i = t; i < chunk.rows; i += T) to[1 + q * chunk.rows + i] = row_word(w[q], chunk.row + i);
    return;
  }
  if (t < KW) to[1 + t] = (uint32_t)(columns.least[0] >> 32 * t);
  for (uint32_t q = t; q < payload; q += T) to[1 + KW + q] = (uint32_t)columns.least[1 + q];
  for (uint32_t q = t; q < (payload + 3) / 4; q += T) {
    uint32_t four = 0;
    for (uint32_t b = 4 * q; b < payload && b < 4 * q + 4; b++) four |= (uint32_t)columns.bits[1 + b] << 8 * (b % 4);
    to[1 + KW + payload + q] = four;
  }
  uint32_t written = 0;  // columns: threads still read the values of the last one
  for (uint32_t column = 0; column <= payload; column++) {
    const uint32_t bits = columns.bits[column];
    if (bits == 0) continue;
    uint64_t* value = s.value[written++ & 1];
    const uint64_t least = columns.least[column];
    const bool hashed = column == 0 && columns.form == GJ_CHUNK_HASHED;
    for (uint32_t i = t; i < chunk.rows; i += T) {
      const uint64_t v = (uint64_t)chunk_value<KW>(w, column, chunk.row + i);
      value[i] = low_bits(hashed ? whole_hash<KW>(v) : v - least, bits);
    }
    __syncthreads();
    const uint32_t end = (chunk.rows * bits + 31) / 32;
    for (uint32_t k = t; k < end; k += T) to[columns.at[column] + k] = bits_word(value, chunk.rows, bits, k);
  }
}

template <int KW, int T>
__device__ __forceinline__ void compress_rows(const gj_compression* c, CompressShared& s) {
  for (uint64_t number = blockIdx.x; number < c->chunks; number += gridDim.x) {
    compress_chunk<KW, T>(c, number, s);
    __syncthreads();  // before the next chunk's columns
  }
}

// The key of a value of a chunk.
template <int KW>
__device__ __forceinline__ uint64_t chunk_key(uint32_t form, uint64_t least, uint64_t v, uint32_t bits, uint32_t partition) {
  if (form != GJ_CHUNK_HASHED) return least + v;
  const uint64_t hash = bits < 64 ? (uint64_t)partition << bits | v : v;
  if constexpr (KW == 1)
    return unhash((uint32_t)hash);
  else
    return unhash_wide(hash);
}

template <int KW, int T>
__device__ __forceinline__ void expand_chunk(const gj_compression* c, uint64_t number, ChunkColumns& columns) {
  const Chunk chunk(c, number);
  const gj_row_word* w = reinterpret_cast<const gj_row_word*>(c->words);
  const uint32_t words = (uint32_t)c->word_count, payload = words - KW, t = threadIdx.x;
  const uint32_t* from = chunk.data + (uint64_t)*chunk.place * unit_words;
  const uint32_t form = from[0] >> 16 & 0xff;
  auto put = [&](uint32_t q, uint32_t i, uint32_t v) { *reinterpret_cast<uint32_t*>(w[q].at + (chunk.row + i) * w[q].stride) = v; };
  if (form == GJ_CHUNK_RAW) {
    for (uint32_t q = 0; q < words; q++)
      for (uint32_t i = t; i < chunk.rows; i += T) put(q, i, from[1 + q * chunk.rows + i]);
    return;
  }
  if (t == 0) columns.bits[0] = (uint8_t)(from[0] >> 24), columns.least[0] = KW == 1 ? from[1] : (uint64_t)from[2] << 32 | from[1];
  for (uint32_t q = t; q < payload; q += T) {
    columns.least[1 + q] = from[1 + KW + q];
    columns.bits[1 + q] = (uint8_t)(from[1 + KW + payload + q / 4] >> 8 * (q % 4));
  }
  __syncthreads();
  if (t == 0) columns.place(chunk.rows, KW, words);
  __syncthreads();
  for (uint32_t i = t; i < chunk.rows; i += T) {
    const uint32_t bits = columns.bits[0];
    const uint64_t key = chunk_key<KW>(form, columns.least[0], bits_value(from + columns.at[0], bits, i), bits, chunk.partition);
    for (int q = 0; q < KW; q++) put(q, i, (uint32_t)(key >> 32 * q));
  }
  for (uint32_t column = 1; column <= payload; column++)
    for (uint32_t i = t; i < chunk.rows; i += T)
      put(KW - 1 + column, i, (uint32_t)(columns.least[column] + bits_value(from + columns.at[column], columns.bits[column], i)));
}

template <int KW, int T>
__device__ __forceinline__ void expand_rows(const gj_compression* c, ChunkColumns& columns) {
  for (uint64_t number = blockIdx.x; number < c->chunks; number += gridDim.x) {
    expand_chunk<KW, T>(c, number, columns);
    __syncthreads();  // before the next chunk's columns
  }
}

}  // namespace gj
