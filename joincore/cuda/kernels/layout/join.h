// The memory that a fused join's kernels share with the host: one gj_join per join,
// in device memory, written by the host before the first launch. All fields are 8
// bytes, addresses are device addresses and multiples of 16, counts are rows unless
// noted. Kernels read it and write only the memory that it points to.
#pragma once
#include <stdint.h>

#define GJ_MAX_COLUMNS 8  // payload columns of equal width that a kernel carries

// Device counters, zero before the first launch.
enum gj_counter {
  GJ_TICKET,         // next work item of the match kernel
  GJ_OUTPUT_CHUNKS,  // output chunks claimed
  GJ_OUTPUT_ROWS,    // rows of the result, including those that did not fit
  GJ_BYPASSED,       // probe rows joined without partitioning
  GJ_KEPT,           // probe rows that passed the Bloom filter
  GJ_COUNTERS
};

// Where one value of a row is read, and where it is written in the result. Sides
// with columns of different widths, and row ids, have fields instead of columns. Fields
// that are carried are in the order of their bytes in the row. The payload begins with the
// words that do not make up four. No field crosses from them into the words behind them,
// where each field begins at a multiple of its width.
typedef struct {
  uint64_t from, from_stride;  // first value, bytes from one to the next
  uint64_t to, to_stride;
  uint64_t bytes;              // 1, 2, 4, 8 or 16
  uint64_t at;                 // if it is carried: bytes of the row's payload before it
} gj_field;

// A packed payload is an array of lanes: a row's values, the widest first, fill one
// lane of 64 bytes after the other, and the last lane has what is left, a multiple of 4
// bytes. No value crosses lanes. Each lane of all rows is an array of its own. The match
// writes a row's position in the lanes in place of its payload.
//
// The same list describes how the first pass writes fields that are carried: then lanes
// are those of a row buffer (layout/row.cuh). If a lane has the key and payload, it is the
// first one and begins where the buffer does, and its first value is the key.
#define GJ_LANE_BYTES 64
#define GJ_MAX_PACKED 128  // values of a list
typedef struct {
  uint64_t from;        // the input's column
  uint64_t to;          // the result's; 0 if values are carried
  uint64_t bytes;       // 1, 2, 4, 8 or 16
  uint64_t offset;      // in the lane
  uint64_t lane;        // its array
  uint64_t lane_bytes;
} gj_packed;

// A sample of the probe side's keys: a direct-mapped table by hash. The histogram
// of the build side takes it and looks up every build key. Zero before the first
// launch.
#define GJ_SAMPLE_SLOTS 8192
#define GJ_HOT_KEYS 1024  // maximum
enum gj_summary {
  GJ_SAMPLED,          // probe rows in the sample
  GJ_SAMPLED_MATCHED,  // of these, rows with a match
  GJ_SAMPLED_HOT,      // of these, rows with a hot key: frequent in the sample, once in the build side
  GJ_SAMPLED_KEYS,     // distinct keys
  GJ_HOT,              // hot keys
  GJ_SUMMARY = 8
};
typedef struct {
  uint64_t summary[GJ_SUMMARY];
  uint64_t entry[GJ_SAMPLE_SLOTS];    // the slot's key: sample_entry() of its hash; 0: none
  uint32_t count[GJ_SAMPLE_SLOTS];    // sampled probe rows with the key
  uint32_t matches[GJ_SAMPLE_SLOTS];  // build rows with the key: 0, 1, or 2 and more for several
  uint32_t row[GJ_SAMPLE_SLOTS];      // the number of one of these
  uint32_t hot[GJ_SAMPLE_SLOTS];      // the number of a hot key, ~0 for others
  uint32_t hot_row[GJ_HOT_KEYS];      // a hot key's build row
} gj_sample;

// One input of the join. Its payload is carried, as columns of equal width or as
// fields; or it is a row id by which fields are gathered; or it is
// packed, and fields are gathered from lanes by the row's position in them.
typedef struct {
  uint64_t rows;                   // below 2^32 - 2^20
  uint64_t key;                    // key column
  uint64_t column[GJ_MAX_COLUMNS]; // payload columns of equal width; 0 after the last
  uint64_t fields;                 // gj_field[field_count]
  uint64_t field_count;
  uint64_t first;                  // row buffer after the first pass; unused where bits_second is 0
  uint64_t first_capacity;
  uint64_t final;                  // row buffer after the last pass
  uint64_t final_capacity;
  uint64_t count;                  // uint32[max(4, partitions)], zero before the first launch
  uint64_t start;                  // uint32[partitions]: first row in final
  uint64_t cursor;                 // uint32[partitions]: next free row in final from the front
  uint64_t tail;                   // uint32[partitions]: the row after the last free one
  uint64_t parent_count;           // uint32[1 << bits_first]; this and the next three as above, for first
  uint64_t parent_start;
  uint64_t parent_cursor;
  uint64_t parent_tail;
  uint64_t packed;                 // gj_packed[packed_count], lane by lane; of a packed payload, then 3 of 0 bytes
  uint64_t packed_count;
  uint64_t positions;              // uint32[]: of a packed payload, by row of the result
} gj_side;

typedef struct {
  gj_side side[2];       // 0: build, 1: probe
  uint64_t bits_first;   // hash bits of the first pass
  uint64_t bits_second;  // of the second; 0: there is none
  uint64_t chunk_rows;   // build rows a work item takes: the match kernel's capacity
  uint64_t range_rows;   // probe rows a work item takes
  uint64_t extra;        // uint64[partitions + 1]: work items beyond one a partition, exclusive sums
  uint64_t counters;     // uint64[GJ_COUNTERS]
  uint64_t sample;       // gj_sample; 0: none is taken
  uint64_t bypassed;     // one bit per probe row: the bypass joined it; 0: no bypass
  uint64_t output_capacity;  // a multiple of output_chunk; at least the result's rows + tail_count * output_chunk
  uint64_t output_chunk;     // rows of a chunk: a power of two, at least 512
  uint64_t tails;            // uint64[tail_count]: the last chunk of each block that writes << 32 | rows used of it
  uint64_t tail_count;       // blocks of the match, then those of the bypass: at most 1024
  uint64_t bypass_tail;      // index of the first tail of the bypass
  uint64_t output_key;   // 0: not wanted
  uint64_t output_column[2][GJ_MAX_COLUMNS];
} gj_join;
