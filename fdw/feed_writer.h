/*
 * feed_writer.h - rows of one input, written as columns into extents.
 */
#ifndef GPUJOIN_FEED_WRITER_H
#define GPUJOIN_FEED_WRITER_H

#include "daemon_session.h"
#include "gpujoin.h"

#ifdef WORDS_BIGENDIAN
#error "gpujoin shares memory in little-endian form only"
#endif

/* What becomes of rows that are to be written. */
typedef enum GjPut
{
	GJ_PUT_OK,
	GJ_PUT_FULL,				/* the next row does not fit this batch */
	GJ_PUT_CHAIN,				/* the next row is one for gj_writer_append_row() */
	GJ_PUT_FAILED				/* the reason is in the connection */
} GjPut;

/* How a column's bytes come about; chosen once per column. */
typedef enum GjCopy
{
	GJ_COPY_1, GJ_COPY_2, GJ_COPY_4, GJ_COPY_8, /* one machine word */
	GJ_COPY_BYTES,				/* by-reference value of fixed length */
	GJ_COPY_VARLENA,
	GJ_COPY_DECIMAL,
	GJ_COPY_NUMERIC_KEY,
	GJ_COPY_BPCHAR_KEY
} GjCopy;

typedef struct GjColumnWriter
{
	const GjColumn *column;
	GjCopy		copy;
	int			length;			/* GJ_COPY_BYTES: of the type */
	bool		packable;		/* GJ_COPY_VARLENA: may have a 1-byte header */
	uint32		inline_limit;	/* varlena: longer values are chained */
	double		width;			/* varlena: bytes of heap a row, expected */

	/* in the batch at hand */
	char	   *values;
	uint8	   *validity;
	char	   *heap;
	uint32		heap_used;
	uint32		heap_size;
	uint32		heap_placed;	/* heap_used when the arrays were placed */
	uint32		nulls;

	/* of the row at hand */
	uint32		needs;			/* bytes of heap, at most; 0: not known */
	bool		chained;		/* its value is chained already */
	struct gj_chain_ref ref;
} GjColumnWriter;

/* An array of the batch on its way to another place in the extent. */
typedef struct GjMove
{
	char	   *from;
	char	   *to;
	Size		bytes;
} GjMove;

/*
 * The values of one column for several rows, as pointers to where the type's
 * bytes lie (for varlena: the header).  Row i is at pointers[i] + offset;
 * with nullable, a NULL pointer is a NULL.
 */
typedef struct GjVector
{
	const char *const *pointers;
	uint32		offset;
	bool		nullable;
} GjVector;

typedef struct GjWriter
{
	GjExtents  *extents;
	uint32		input;			/* of the job */
	int			participant;
	GjChain    *chain;			/* of this participant */
	int			ncolumns;
	GjColumnWriter *columns;
	GjMove	   *moves;			/* 3 a column */
	int			nvarlena;
	double		expected;		/* rows to come: a hint */
	MemoryContext scratch;		/* detoasted values; reset by the caller */

	GjExtent	extent;			/* base NULL: none */
	uint32		rows;
	uint32		capacity;
	uint32		rows_placed;	/* rows when the arrays were placed */
	Size		moved;			/* bytes, since the batch began */
	bool		may_wait;		/* for an extent to chain values in */
	bool		unfit;			/* has met a row that no batch can take */

	uint64		total_rows;		/* handed over */
	uint64		total_bytes;	/* of their values, chained ones included */
} GjWriter;

/* sharers: how many participants feed this input together. */
extern void gj_writer_init(GjWriter *writer, GjLink *link, const GjPlan *plan,
						   int input, int sharers, MemoryContext scratch);

/*
 * Appends as many of *n rows as the batch at hand takes, without waiting for
 * the daemon.  On return *n is the number of rows that are left, and where
 * there are any, vectors begin with the first of them; where there are none,
 * vectors begin anywhere.
 */
extern GjPut gj_writer_append(GjWriter *writer, GjVector *vectors, int *n);

/* Appends n rows, in as many batches as they need.  Waits for the daemon: no
 * page may be pinned that others could want to clean up. */
extern bool gj_writer_append_all(GjWriter *writer, GjVector *vectors, int n);

/* Hands over what there is and lets go of the extent. */
extern bool gj_writer_finish(GjWriter *writer);

/* feed_encode.c: appends the values of one column for n rows behind those that the
 * batch has.  Returns how many it appended, and where those are fewer, why. */
extern int	gj_encode(GjWriter *writer, GjColumnWriter *column,
					  const GjVector *vector, int n, GjPut *why);

/* feed_encode.c: bytes of heap that the first value takes, at most. */
extern uint32 gj_encoded_size(const GjColumnWriter *column, const GjVector *vector);

#endif							/* GPUJOIN_FEED_WRITER_H */
