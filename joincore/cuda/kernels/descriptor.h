// The memory a join's kernels share with their host: one gj_join per join, in
// device memory, written by the host before the first launch. All fields are
// 8 bytes, addresses are device addresses and multiples of 16, counts are rows
// unless said. The kernels read it; only what it points to is written.
#pragma once
#include <stdint.h>

#define GJ_MAX_COLUMNS 8

// Device counters, zero before the first launch.
enum gj_counter {
  GJ_TICKET,         // next work item of the match kernel
  GJ_OUTPUT_CHUNKS,  // output chunks claimed
  GJ_OUTPUT_ROWS,    // rows of the result, also those that did not fit
  GJ_SIDES_SCANNED,
  GJ_COUNTERS = 4
};

// One input of the join.
typedef struct {
  uint64_t rows;                   // below 2^32 - 2^20
  uint64_t key;                    // key column
  uint64_t column[GJ_MAX_COLUMNS]; // payload columns, none for row ids
  uint64_t first;                  // row buffer after the first pass; unused where bits_second is 0
  uint64_t first_capacity;
  uint64_t final;                  // row buffer after the last pass
  uint64_t final_capacity;
  uint64_t count;                  // uint32[max(4, partitions)], zero before the first launch
  uint64_t start;                  // uint32[partitions]: first row in final
  uint64_t cursor;                 // uint32[partitions]: next free row in final from the front
  uint64_t tail;                   // uint32[partitions]: the row after the last free one
  uint64_t parent_count;           // uint32[1 << bits_first], likewise for first
  uint64_t parent_start;
  uint64_t parent_cursor;
  uint64_t parent_tail;
} gj_side;

typedef struct {
  gj_side side[2];       // 0: build, 1: probe
  uint64_t bits_first;   // hash bits of the first pass
  uint64_t bits_second;  // of the second; 0: there is none
  uint64_t chunk_rows;   // build rows a work item takes: the match kernel's capacity
  uint64_t range_rows;   // probe rows a work item takes
  uint64_t extra;        // uint64[partitions + 1]: work items beyond one a partition, exclusive sums
  uint64_t counters;     // uint64[GJ_COUNTERS]
  uint64_t output_capacity;  // a multiple of output_chunk; at least the result's rows + blocks of the match * output_chunk
  uint64_t output_chunk;     // rows of a chunk: a power of two, at least 512
  uint64_t tails;            // uint64[blocks of the match]: each block's last chunk << 32 | rows used of it
  uint64_t tail_count;       // blocks of the match, at most 1024
  uint64_t output_key;   // 0: not wanted
  uint64_t output_column[2][GJ_MAX_COLUMNS];
} gj_join;
