/*
 * feed/writer.h - writes the rows of one input into extents, column by column.
 */
#ifndef FEED_WRITER_H
#define FEED_WRITER_H

#include "postgres.h"

#include "daemon/job_session.h"
#include "job/job.h"
#include "numeric/decimal.h"

/* ---- writes values too long for a batch into a chain of extents ---- */

/*
 * Each participant that feeds such values has a chain of extents.  The chain
 * stores the values one after another, without gaps, and a value may continue
 * in the next extent.  The batch contains a reference with the position of the
 * value's start.
 */

/* The write position of this participant's own chain. */
typedef struct GjChain
{
	GjExtent	extent;			/* base NULL: none */
	uint32		used;			/* bytes of data in it */
	uint32		extents;		/* number of extents handed over */
} GjChain;

/*
 * Appends a value to the participant's chain and fills in the reference to it.
 * Waits for extents if necessary.
 */
extern bool gj_chain_write(GjExtents *extents, GjChain *chain, int participant,
						   const char *value, uint64 length, struct gj_chain_ref *ref);

/* Hands over the last extent of the chain. */
extern bool gj_chain_finish(GjExtents *extents, GjChain *chain, int participant);

/* ---- writer ---- */

#ifdef WORDS_BIGENDIAN
#error "gpujoin shares memory in little-endian form only"
#endif

/* Result of an attempt to write rows. */
typedef enum GjPut
{
	GJ_PUT_OK,
	GJ_PUT_FULL,				/* the next row does not fit this batch */
	GJ_PUT_CHAIN,				/* the next row needs gj_writer_append_row() */
	GJ_PUT_FAILED				/* the connection has the reason */
} GjPut;

/* How a column's bytes are produced; chosen once per column. */
typedef enum GjCopy
{
	GJ_COPY_1, GJ_COPY_2, GJ_COPY_4, GJ_COPY_8, /* one machine word */
	GJ_COPY_BYTES,				/* by-reference value of fixed length */
	GJ_COPY_VARLENA,
	GJ_COPY_DECIMAL,
	GJ_COPY_NUMERIC_KEY,
	GJ_COPY_BPCHAR_KEY,
	GJ_COPY_NAME_KEY,
	GJ_COPY_FLOAT4_KEY,
	GJ_COPY_FLOAT8_KEY,
	GJ_COPY_FLOAT4_ORDER,
	GJ_COPY_FLOAT8_ORDER,
	GJ_COPY_DATE_KEY,
	GJ_COPY_INTERVAL_KEY,
	GJ_COPY_UNSCALED,
	GJ_COPY_SCALE
} GjCopy;

typedef struct GjColumnWriter
{
	const GjColumn *column;
	GjCopy		copy;
	int			length;			/* GJ_COPY_BYTES: of the type */
	bool		packable;		/* GJ_COPY_VARLENA: may have a 1-byte header */
	uint32		inline_limit;	/* varlena: longer values are chained */
	GjQuickNumeric numeric;		/* GJ_COPY_DECIMAL, GJ_COPY_UNSCALED */
	double		width;			/* varlena: expected heap bytes per row */

	/* in the current batch */
	char	   *values;
	uint8	   *validity;
	char	   *heap;
	uint32		heap_used;
	uint32		heap_size;
	uint32		heap_placed;	/* heap_used when the arrays were placed */
	uint32		nulls;

	/* in the current row */
	uint32		needs;			/* upper bound of its heap bytes; 0: unknown */
	bool		chained;		/* its value is chained already */
	struct gj_chain_ref ref;
} GjColumnWriter;

/* An array of the batch that is to be moved within the extent. */
typedef struct GjMove
{
	char	   *from;
	char	   *to;
	Size		bytes;
} GjMove;

/*
 * The values of one column for several rows, as pointers to the bytes of the
 * type (for varlena, to the header).  Row i is at pointers[i] + offset.  If
 * nullable, a NULL pointer is a NULL.
 */
typedef struct GjVector
{
	const char *const *pointers;
	uint32		offset;
	bool		nullable;
} GjVector;

/* The blocks whose rows are in a batch, all of them, if whole blocks are captured. */
typedef struct GjCapture
{
	uint32		n;
	uint32		size;			/* allocated */
	struct gj_captured_block *blocks;
} GjCapture;

typedef struct GjWriter
{
	GjExtents  *extents;
	uint32		input;			/* of the job */
	int			participant;
	GjChain    *chain;			/* of this participant */
	int			ncolumns;
	GjColumnWriter *columns;
	GjMove	   *moves;			/* 3 per column */
	int			nvarlena;
	double		expected;		/* expected number of remaining rows: a hint */
	GjCapture  *capture;		/* NULL: batches are of any rows */
	MemoryContext scratch;		/* detoasted values; reset by the caller */

	GjExtent	extent;			/* base NULL: none */
	uint32		rows;
	uint32		capacity;
	uint32		rows_placed;	/* rows when the arrays were placed */
	Size		moved;			/* bytes moved since the batch began */
	bool		may_wait;		/* may wait for an extent of the chain */
	bool		unfit;			/* met a row that fits no batch */

	uint64		total_rows;		/* handed over */
	uint64		total_bytes;	/* of their values, including chained ones */
} GjWriter;

/* How the values of a type of this length are written to a column. */
extern GjCopy gj_copy_of(const GjColumn *column, int length);

/*
 * Writes the first ncolumns of the input.  Long values go to chain.  sharers is the
 * number of participants that feed this input together.
 */
extern void gj_writer_init(GjWriter *writer, GjLink *link, GjChain *chain, const GjPlan *plan,
						   int input, int ncolumns, int sharers, MemoryContext scratch);

/*
 * Appends as many of *n rows as fit the current batch, without waiting for the
 * daemon.  On return *n is the number of remaining rows.  If it is not zero,
 * the vectors start with the first remaining row; if it is zero, their
 * position is undefined.
 */
extern GjPut gj_writer_append(GjWriter *writer, GjVector *vectors, int *n);

/*
 * Appends n rows, in as many batches as they need.  Because it waits for the
 * daemon, a caller that can help it holds no pin on a page that others may want
 * to clean up.
 */
extern bool gj_writer_append_all(GjWriter *writer, GjVector *vectors, int n);

/* Removes the rows of the current batch from number rows on. */
extern void gj_writer_cut(GjWriter *writer, uint32 rows);

/*
 * Hands over the current batch and starts an empty one.  Waits for an extent
 * if none is available.
 */
extern bool gj_writer_next(GjWriter *writer);

/* Hands over the current batch, if any, and releases the extent. */
extern bool gj_writer_finish(GjWriter *writer);

/* The rows that were written so far. */
static inline uint64
gj_writer_rows(const GjWriter *writer)
{
	return writer->total_rows + writer->rows;
}

/*
 * feed/encode.c: appends the values of one column for n rows after those
 * already in the batch.  Returns how many it appended and, if fewer than n,
 * the reason.
 */
extern int	gj_encode(GjWriter *writer, GjColumnWriter *column,
					  const GjVector *vector, int n, GjPut *why);

/*
 * feed/encode_short.c: appends the values from row first on, up to one that is
 * NULL, long, toasted, or near the end of the heap.  Returns that row, or n.
 */
extern int	gj_encode_short(const GjWriter *writer, GjColumnWriter *column,
							const GjVector *vector, int first, int n);

/* feed/encode.c: upper bound of the heap bytes that the first value needs. */
extern uint32 gj_encoded_size(const GjColumnWriter *column, const GjVector *vector);

/* ---- where the columns of a batch are in its extent ---- */

static inline bool
gj_is_varlena(const GjColumnWriter *c)
{
	return c->column->encoding == GJ_ENC_VARLENA;
}

/* Bytes per entry of the array of values: a value, or an offset. */
static inline Size
gj_item_size(const GjColumnWriter *c)
{
	return gj_is_varlena(c) ? sizeof(uint32) : (Size) c->column->width;
}

/* Expected bits per row in the extent. */
extern double gj_layout_row_bits(const GjWriter *writer);

/* Bytes of the extent in use, not counting alignment. */
extern Size gj_layout_bytes(const GjWriter *writer);

/*
 * Divides the extent among the columns.  The rows already in the batch and one
 * more, which needs the bytes given in each column's needs, must fit.  The
 * rest is sized for as many rows of the expected widths as possible.  Returns
 * false, without changing anything, if not even one more row fits.
 */
extern bool gj_layout_place(GjWriter *writer);

/*
 * Moves the arrays so that the first row of vectors fits, if the extent has
 * enough free space to justify it.
 */
extern bool gj_layout_make_room(GjWriter *writer, const GjVector *vectors);

#endif							/* FEED_WRITER_H */
