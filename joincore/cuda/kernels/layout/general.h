// Descriptors of the kernels of joins by row id (entry/general.cu), in device
// memory, read by the kernels. All fields are 8 bytes; addresses are device
// addresses.
#pragma once
#include <stdint.h>

// The position of a missing row: the NULL side of an outer join.
#define GJ_NONE 0xffffffffu

// A column of an input, as the rows of a space refer to it.
typedef struct {
  uint64_t values;     // by row of the input: width bytes, or spans
  uint64_t validity;   // uint8 by row of the input, 0: NULL; address 0: no NULLs
  uint64_t positions;  // uint32 by row of the space: row of the input or GJ_NONE; address 0: the same row
  uint64_t width;      // 1, 2, 4, a multiple of 8 up to 64; 0: spans
  uint64_t probe;      // 1: of the probe row of a pair, 0: of the build row
} gj_column;

// A value of variable length.
typedef struct {
  uint64_t address;
  uint64_t length;
} gj_span;

// Compiled expressions; package program defines the instructions.
typedef struct {
  uint64_t code;       // uint64[length + 1]: kernels read one word ahead
  uint64_t length;
  uint64_t columns;    // gj_column[column_count]
  uint64_t column_count;
  uint64_t constants;  // int64[]
  uint64_t slots;      // of 8 bytes that a row needs
  uint64_t failed;     // uint64: becomes 1 where a result is out of range
} gj_program;

// One part of a key.
typedef struct {
  gj_column column;
  uint64_t bits;  // of an exact key: the number's bits that hold this part
} gj_part;

// How to normalise the keys of a side.
typedef struct {
  uint64_t count;       // uint64: rows that have a key
  uint64_t chosen;      // uint32[count]: the selected row numbers; 0: all rows
  uint64_t parts;       // gj_part[part_count]
  uint64_t part_count;
  uint64_t exact;       // 1: the parts concatenated; 0: a hash
  uint64_t seed;        // of the hash
  uint64_t collide;     // 1: for tests, hashes are cut to one bit
  uint64_t out;         // the keys, of 4 or 8 bytes
  uint64_t out_rows;    // if out is 0: row buffer of key and row number (layout/row.cuh)
  uint64_t out_capacity;
} gj_keys;

// Keys and row numbers of one side before partitioning.
typedef struct {
  uint64_t count;   // uint64: rows; 0: the side is already partitioned
  uint64_t key;     // keys of 4 or 8 bytes
  uint64_t chosen;  // uint32: the selected row numbers; 0: 0, 1, 2, ...
  uint64_t origin;  // added to row numbers, to make row ids unique across devices
  uint64_t first;   // as in gj_side
  uint64_t first_capacity;
  uint64_t final;
  uint64_t final_capacity;
  uint64_t counts;
  uint64_t start;
  uint64_t cursor;
  uint64_t tail;
  uint64_t parent_count;
  uint64_t parent_start;
  uint64_t parent_cursor;
  uint64_t parent_tail;
} gj_keyed;

// Where one partition's rows go in one lane (layout/row.cuh). A table of these is
// ordered by partition, then lane.
typedef struct {
  uint64_t at;    // the first row, a multiple of 16
  uint64_t rows;  // capacity
} gj_destination;

// Input from which the device makes a gj_join, because only it knows the row counts.
typedef struct {
  gj_keyed side[2];
  uint64_t bits_first;
  uint64_t bits_second;
  uint64_t chunk_rows;
  uint64_t range_rows;
  uint64_t extra;
  uint64_t counters;
} gj_partition;

// One table of all build rows. Row buffers have the layout of layout/row.cuh.
typedef struct {
  uint64_t count;      // uint64: rows
  uint64_t unordered;  // row buffer of keys and row numbers
  uint64_t rows;       // row buffer: the same ordered by bucket
  uint64_t capacity;   // of both
  uint64_t ends;       // uint32[buckets]: the slot after a bucket's last row
  uint64_t buckets;    // a power of two, at least 4
  uint64_t longest;    // uint64: rows of the longest bucket
  uint64_t covered;    // one bit per slot
} gj_table;

// What the match does with a pair that passes.
enum gj_flag {
  GJ_PAIRS = 1,       // write it out
  GJ_MARK_PROBE = 2,  // mark its probe row
  GJ_MARK_BUILD = 4,  // mark its build row
  GJ_FIRST = 8        // stop at the first partner of a probe row
};

// Counters of one launch of the match.
enum gj_progress {
  GJ_CLAIMED,    // rows of the region that were claimed
  GJ_LIMIT,      // the first row of the first claim that did not fit; all ones at the start
  GJ_SUSPENDED,  // blocks with work left
  GJ_FAILED,     // 1: the condition is out of range for a pair
  GJ_PROGRESS
};

typedef struct {
  uint64_t join;         // gj_join: both sides partitioned
  uint64_t condition;    // gj_program; 0: none
  uint64_t flags;        // gj_flag
  uint64_t probe_marks;  // one bit per row of the space, in words of 4 bytes
  uint64_t build_marks;
  uint64_t build;        // uint32[capacity]: build rows of pairs
  uint64_t probe;        // uint32[capacity]
  uint64_t capacity;     // of the region
  uint64_t progress;     // uint64[GJ_PROGRESS]
  uint64_t saved;        // the state of suspended blocks
  uint64_t table;        // gj_table, for a match without partitions
  uint64_t finished;     // one bit per partitioned row of the probe side, or of the build side; address 0: not kept
} gj_match;
