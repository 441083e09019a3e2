/*
 * extent.h - rows and long values in shared memory.
 *
 * Writer: the side that holds the extent (backend for inputs, daemon for
 * results).  Reader: the other side, after a FILLED or RESULT frame; the
 * socket orders the writes.  If the writer dies before that frame the extent
 * was never announced and is reclaimed; if the reader dies its socket closes
 * and the daemon reclaims its extents.
 */
#ifndef GPUJOIN_EXTENT_H
#define GPUJOIN_EXTENT_H

#include <stdint.h>

#define GJ_EXTENT_MIN_SIZE	(UINT64_C(1) << 20)
#define GJ_EXTENT_MAX_SIZE	(UINT64_C(1) << 30)

#define GJ_BATCH_MAGIC		0x31424a47	/* "GJB1" */
#define GJ_CHAIN_MAGIC		0x31434a47	/* "GJC1" */
#define GJ_MAX_COLUMNS		1664		/* PostgreSQL's target list limit */
#define GJ_MAX_INPUTS		64

/* How the values of a column are stored in a batch. */
enum gj_encoding
{
	/* values: rows * width bytes.  width is 1, 2, 4, 8 or a multiple of 8 up
	 * to 64; shorter values are padded with zero bytes. */
	GJ_ENC_FIXED = 1,

	/* values: (rows + 1) uint32 offsets into heap, not decreasing.  Each value
	 * starts at its offset, begins with PostgreSQL's varlena header (1 byte
	 * where the value fits, else 4 bytes), and is padded with zero bytes to
	 * the column's alignment (4 or 8).  A NULL has an empty span. */
	GJ_ENC_VARLENA = 2
};

/* One column of a batch.  All offsets count from the start of the extent. */
struct gj_column
{
	uint8_t		encoding;		/* enum gj_encoding */
	uint8_t		align;			/* of values (FIXED: 1..8) or of heap (4, 8) */
	uint16_t	width;			/* bytes per value, FIXED; 0 for VARLENA */
	uint32_t	nulls;			/* number of NULLs among rows */
	uint32_t	values_off;		/* multiple of 64 */
	uint32_t	validity_off;	/* bitmap, bit = 1: not NULL, least significant
								 * bit first; multiple of 64; 0: no NULLs */
	uint32_t	heap_off;		/* VARLENA: multiple of 64, else 0 */
	uint32_t	heap_len;		/* VARLENA: bytes in use, else 0 */
};

/* At offset 0 of an extent that holds a batch; ncols gj_column follow. */
struct gj_batch
{
	uint32_t	magic;			/* GJ_BATCH_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	ncols;
	uint32_t	rows;
	uint32_t	flags;			/* must be 0 */
	uint64_t	used;			/* bytes of the extent in use */
	uint64_t	reserved;		/* must be 0 */
};

/*
 * A value too long for a batch ("chained") is stored in extents of a separate
 * kind; the batch has this reference in place of the varlena.  PostgreSQL uses
 * the first byte for external TOAST pointers, which never occur in a batch
 * because values are detoasted first.
 *
 * Each participant that feeds such values fills a chain of extents, numbered
 * from 0, with consecutive values.  A value that reaches the end of an extent
 * continues at the start of the next one's data; only the last extent of a
 * chain may be partly filled.
 */
#define GJ_CHAIN_REF_BYTE	0x01
#define GJ_CHAIN_REF_TAG	0x47

struct gj_chain_ref
{
	uint8_t		header;			/* GJ_CHAIN_REF_BYTE */
	uint8_t		tag;			/* GJ_CHAIN_REF_TAG */
	uint16_t	reserved;		/* must be 0 */
	uint32_t	offset;			/* of the start, in that extent's data */
	uint64_t	chain;			/* of the start: participant << 32 | number */
	uint64_t	length;			/* bytes of the value, header included */
};

/* At offset 0 of an extent of a chain; the data follow at GJ_CHAIN_DATA_OFF. */
struct gj_chain_header
{
	uint32_t	magic;			/* GJ_CHAIN_MAGIC */
	uint16_t	version;		/* GJ_LAYOUT_VERSION */
	uint16_t	reserved;		/* must be 0 */
	uint64_t	chain;			/* participant << 32 | number, unique in a job */
	uint32_t	bytes;			/* of data, > 0 */
	uint32_t	reserved2;		/* must be 0 */
};

#define GJ_CHAIN_DATA_OFF	64

#endif							/* GPUJOIN_EXTENT_H */
