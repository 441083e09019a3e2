// Descriptors of division (entry/divide.cu), in device memory. All fields are 8
// bytes; addresses are device addresses.
#pragma once
#include "layout/general.h"

// A column that moves with its rows.
typedef struct {
  uint64_t from;   // values; 0: the row numbers first, first + 1, ...
  uint64_t to;     // space for all rows, and up to GJ_DIVIDE_ALIGN - 1 more per partition
  uint64_t bytes;  // of a value: 1, 2, 4, 8 or 16
  uint64_t narrow; // 8-byte values become 4-byte differences from base, if this is not 0
  uint64_t base;
} gj_moved;

// What 8-byte values range over, as numbers without sign whose top bit is flipped. Both are
// 0 before.
typedef struct {
  uint64_t values;   // uint64[rows]
  uint64_t rows;
  uint64_t greatest; // uint64[2]: the greatest value, and the complement of the least one
} gj_range;

// Values that were stored as differences of 4 bytes.
typedef struct {
  uint64_t from;  // uint32[rows]
  uint64_t to;    // uint64[rows]
  uint64_t rows;
  uint64_t base;
} gj_widen;

// Partitions begin at multiples of this many rows.
#define GJ_DIVIDE_ALIGN 32
// The largest number of partitions.
#define GJ_DIVIDE_FAN 256

typedef struct {
  uint64_t rows;
  uint64_t parts;         // gj_part[part_count]: the key
  uint64_t part_count;
  uint64_t seed;          // of the key's hash
  uint64_t bits;          // 1 to 8: hash bits that number a row's partition
  uint64_t partition;     // uint8[rows]
  uint64_t count;         // uint32[GJ_DIVIDE_FAN]: rows of each partition, zero before
  uint64_t cursor;        // uint32[GJ_DIVIDE_FAN]
  uint64_t first;         // the number of row 0
  uint64_t moved;         // gj_moved[moved_count]
  uint64_t moved_count;
} gj_divide;
