// Descriptors of divisions (entry/divide.cu), in device memory. All fields are 8
// bytes, addresses are device addresses.
#pragma once
#include "layout/general.h"

// A column that is moved with its rows.
typedef struct {
  uint64_t from;   // values; 0: the row numbers first, first + 1, ...
  uint64_t to;     // room for all rows, and each partition's up to a multiple of GJ_DIVIDE_ALIGN
  uint64_t bytes;  // of a value: 1, 2, 4, 8 or 16
} gj_moved;

// Partitions begin at multiples of so many rows.
#define GJ_DIVIDE_ALIGN 32
// As many there are at most.
#define GJ_DIVIDE_FAN 256

typedef struct {
  uint64_t rows;
  uint64_t parts;         // gj_part[part_count]: the key
  uint64_t part_count;
  uint64_t seed;          // of its hash
  uint64_t bits;          // of the hash, 1 to 8, that number a row's partition
  uint64_t partition;     // uint8[rows]
  uint64_t count;         // uint32[GJ_DIVIDE_FAN]: rows of each partition, zero before
  uint64_t cursor;        // uint32[GJ_DIVIDE_FAN]
  uint64_t first;         // the number of row 0
  uint64_t moved;         // gj_moved[moved_count]
  uint64_t moved_count;
} gj_divide;
