// Descriptors of the kernels that group rows (entry/aggregate.cu), in device memory.
// All fields are 8 bytes; addresses are device addresses.
#pragma once
#include "layout/general.h"

// What a group keeps of values; the numbers are those of package program.
enum gj_cell_kind { GJ_COUNT, GJ_SEEN, GJ_SUM, GJ_SUM_WIDE, GJ_MIN, GJ_MAX };

// A cell. In a table of the device it is words of 8 bytes: a sum is the sum of its
// words, each times 2^32 to the power of its number; a sum of integers of 8 bytes has
// two of them, one of 16 bytes has four, all other cells have one. In the table of a
// block a count is one word of 4 bytes, and a sum is a number of three or five such
// words in two's complement; the least and the greatest are 8 bytes.
typedef struct {
  uint64_t kind;   // gj_cell_kind
  uint64_t at;     // its first word of a group's cells
  uint64_t local;  // the same in the table of a block: of the words of 4 bytes, or of those of 8
} gj_cell;

// A hash table of groups. A slot is one record: its state, if keys have several
// words, its key and its cells, so that adding to a group touches few sectors. Behind
// the slots are two for groups that have no key which a slot could hold: the key
// GJ_NO_KEY, or that of no keys at all, and NULL.
typedef struct {
  uint64_t words;       // of 8 bytes, of a key
  uint64_t capacity;    // slots, a power of two
  uint64_t limit;       // of groups
  uint64_t probes;      // slots that are tried for a group before the table is full
  uint64_t count;       // uint64: groups
  uint64_t stride;      // words of 8 bytes from a slot to the next
  uint64_t states;      // of the first slot: uint64, gj_slot_state; address 0: keys have one word
  uint64_t keys;        // of the first slot: uint64[words]; of one word, GJ_NO_KEY: the slot is free
  uint64_t cells;       // of the first slot: uint64[cell_words]
  uint64_t special;     // uint32[2]: 1: the group behind the slots is there
  uint64_t cell_words;
  uint64_t kinds;       // gj_cell[cell_count]
  uint64_t cell_count;
  uint64_t inputs;      // of which a row is kept for each group
  uint64_t firsts;      // uint32[inputs] of each slot, and of the two behind
  uint64_t collide;     // 1: for tests, hashes are cut to one bit
} gj_groups;

#define GJ_NO_KEY 0x8000000000000000ull

enum gj_slot_state { GJ_FREE, GJ_TAKEN, GJ_READY };

// Where the rows of an input are whose columns belong to groups.
typedef struct {
  uint64_t positions;  // uint32 by row of the space: row of the view or GJ_NONE; address 0: the same row
  uint64_t numbers;    // uint32 by row of the view: row of the input; address 0: first and following
  uint64_t first;
} gj_origin;

// What a launch does. GJ_DIRECTLY: each block groups any rows. GJ_SCATTER: the program
// ends with the key; rows are noted in the partition of their key, and in `left` if that
// is full. In place of a table, a block has two uint32 for each partition. GJ_GATHER: each block groups one partition after the other, whose groups fit
// its table.
enum gj_mode { GJ_DIRECTLY, GJ_SCATTER, GJ_GATHER };

#define GJ_COUNTS_APART 8  // so that counts are in different sectors

// A launch over rows of a space.
typedef struct {
  gj_program program;
  uint64_t filter;          // instructions at its beginning that decide which rows go on
  uint64_t filter_columns;  // columns, the first ones, that they read
  uint64_t groups;      // gj_groups
  uint64_t first;       // row of the space
  uint64_t rows;
  uint64_t chosen;      // uint32[rows]: the rows; address 0: from first on
  uint64_t left;        // uint32[rows]: rows for whose groups there was no slot
  uint64_t left_count;  // uint64
  uint64_t origins;     // gj_origin[inputs]
  uint64_t no_keys;     // 1: all rows are of one group
  uint64_t mode;        // gj_mode
  uint64_t begin;       // the first instruction
  // Partitions of the rows by the hash of their keys.
  uint64_t partitions;          // a power of two
  uint64_t partition_capacity;  // rows
  uint64_t partition_rows;      // uint32[partition_capacity] of each: the rows
  uint64_t partition_counts;    // uint32 of each, GJ_COUNTS_APART apart: rows, also those that were too many
  // Shared memory: what a block knows, then the program, if it fits, and by offset in
  // bytes the rows that have passed the filter, the slots and the block's table.
  uint64_t staged;      // 1: the instructions and the columns fit
  uint64_t passed_at;
  uint64_t slots_at;
  uint64_t local_at;
  // The tables of blocks. Each cell is there several times, to be added to by
  // different threads of a warp.
  uint64_t local_capacity;  // slots, a power of two; 0: there are none
  uint64_t local_groups;    // that have cells, at most 65535, with the two that have no key; 0: none
  uint64_t local_probes;    // slots that are tried for a group
  uint64_t local_words;     // of 4 bytes that the cells of a group have
  uint64_t local_wides;     // of 8 bytes
  uint64_t copies;          // a power of two, at most 32
} gj_aggregate;

// How a column of the result is made.
enum gj_result_kind { GJ_KEY_OF, GJ_COUNT_OF, GJ_SUM_OF, GJ_SQUARES_OF, GJ_LEAST_OF, GJ_ROW_OF };

typedef struct {
  uint64_t groups;    // gj_groups
  uint64_t list;      // uint32[rows]: slots
  uint64_t rows;
  uint64_t kind;      // gj_result_kind
  uint64_t width;     // of its values in bytes
  uint64_t word;      // of the key, of 16 bytes the first of two; or the cell's first word
  uint64_t shift;     // of the key in its word
  uint64_t digits;    // words of a sum
  uint64_t null;      // of a key: bit << 32 | word that says that it is NULL, or GJ_ALONE; else the word that is 0 if it is
  uint64_t out;       // values
  uint64_t validity;  // uint8[rows]; address 0: none is NULL
  uint64_t failed;    // uint64: becomes 1 where a sum is out of range
} gj_result;

#define GJ_ALONE 0xffffffffffffffffull   // NULL is a group of its own
