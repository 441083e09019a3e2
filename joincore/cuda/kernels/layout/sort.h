/* The memory that the kernels of the sort-merge join and of the join without
 * partitions share with the host: descriptors in device memory, written by the host
 * before the first launch, read by the kernels. All fields are 8 bytes, addresses
 * are device addresses and multiples of 16, counts are rows unless noted.
 * joincore/cuda/columnar mirrors the structs. */
#pragma once
#include <stdint.h>

#define GJ_SORT_COLUMNS 17   /* of a side: the key and 16 more */
#define GJ_SORT_PASSES 4
#define GJ_SORT_FAN 512      /* values of a digit */
#define GJ_RESULT_COLUMNS 33 /* the key and 16 a side */

/* A column and its buffers in each pass. */
typedef struct {
  uint64_t at[5]; /* pass p reads at[p] and writes at[p + 1]; at[0] = 0: row numbers */
  uint64_t bytes; /* of a value: 1, 2, 4, 8 or 16 */
} gj_sort_column;

typedef struct {
  uint64_t rows;    /* below 2^32 - 2^20 */
  uint64_t columns; /* number of columns, the key first */
  gj_sort_column column[GJ_SORT_COLUMNS];
} gj_sort_side;

/* The sort of both sides by the same bits of their keys' hashes. */
typedef struct {
  gj_sort_side side[2];
  uint64_t passes;
  uint64_t shift[GJ_SORT_PASSES]; /* pass p sorts by hash >> shift[p] & mask[p] */
  uint64_t mask[GJ_SORT_PASSES];
  uint64_t histogram; /* uint32[2][passes][GJ_SORT_FAN], zero before the first launch */
  uint64_t tickets;   /* uint32[passes], zero before the first launch */
  uint64_t status;    /* uint64[tiles of both sides][GJ_SORT_FAN], zero before the first launch */
} gj_sort;

/* One column of a join's result: from[row], where `row` is the build or probe row of
 * a result row. from = 0: the numbers 0, 1, 2, ... A gather reads row from
 * index[step * result row]. */
typedef struct {
  uint64_t side;  /* 0: build, 1: probe */
  uint64_t bytes; /* of a value: 1, 2, 4, 8 or 16 */
  uint64_t from;
  uint64_t index; /* uint32; only for gathers, may equal `to` */
  uint64_t step;  /* of a gather, and of a match that writes 4 bytes: to[step * result row]; otherwise 1 */
  uint64_t to;
} gj_result_column;

typedef struct {
  uint64_t columns;
  uint64_t capacity; /* rows beyond it are counted, not written */
  uint64_t rows;     /* uint64: rows of the result, including those that did not fit */
  gj_result_column column[GJ_RESULT_COLUMNS];
} gj_result;

/* An equal run: build and probe rows with the same sort bits, too many for a tile. */
typedef struct {
  uint64_t first_slice; /* slices of the runs before it */
  uint64_t build, build_rows;
  uint64_t probe, probe_rows;
} gj_equal_run;

/* The merge of two sides sorted by the top `bits` bits of their keys' hashes. */
typedef struct {
  uint64_t rows[2];
  uint64_t key[2];
  uint64_t bits;    /* 0..32 */
  uint64_t tiles;
  uint64_t splits;   /* uint32[tiles + 1]: build rows before each tile */
  uint64_t runs;     /* gj_equal_run[rows[0] / 128 + tiles] */
  uint64_t deferred; /* uint64: runs << 38 | their slices, zero before the launch */
  uint64_t slice;    /* uint64: next slice, zero before the launch */
  gj_result result;
} gj_merge;

/* A hash table over the build rows, or an array if the range of their keys is no
 * wider than 2 * slots; and the probe of it. */
typedef struct {
  uint64_t rows[2]; /* the build side's count is below slots, unless the table is an array */
  uint64_t key[2];
  uint64_t slots;   /* a multiple of 8, at most 2^32 */
  uint64_t table;   /* uint64[slots], or uint32[the range's width]; all ones before the first launch */
  uint64_t range;   /* uint64[3]: the build keys' smallest, the largest's complement, rows whose keys lie near those of
                       the rows before; all ones, all ones and zero before they are looked for */
  uint64_t next;    /* uint32[rows[0]] */
  uint64_t repeats; /* uint32, zero before the first launch: not zero where build rows share a key, or a tag */
  gj_result result;
} gj_table;

#define GJ_SPREAD_DEVICES 8

/* A hash table whose slots and build rows lie in the memory of several devices, and the probe of it by one of them.
 * Units of 1 << unit_bits slots each lie in one device's memory. A search does not leave its unit. A build row's
 * number is its device << row_bits | its number there. */
typedef struct {
  gj_table table;     /* without rows[0], key[0], table, range and next */
  uint64_t devices;
  uint64_t own;       /* this device */
  uint64_t row_bits;  /* at most 32 */
  uint64_t unit_bits; /* 3 or more; a table has one or several units */
  uint64_t unit;      /* uint64[units]: their addresses; where rows are entered, 0 for units of other devices */
  uint64_t full;      /* uint32, zero before the first launch: not zero where a unit had no slot for a row */
  uint64_t rows[GJ_SPREAD_DEVICES]; /* build rows, by device */
  uint64_t key[GJ_SPREAD_DEVICES];
  uint64_t next[GJ_SPREAD_DEVICES]; /* uint32[rows], all ones before the first launch */
} gj_spread;
