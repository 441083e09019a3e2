/*
 * writer.h - rows of one input, written as columns into extents.
 */
#ifndef GPUJOIN_WRITER_H
#define GPUJOIN_WRITER_H

#include "extent.h"
#include "gpujoin.h"

#ifdef WORDS_BIGENDIAN
#error "gpujoin shares memory in little-endian form only"
#endif

/*
 * Heap that the varlena values of one column of one heap page take at most,
 * if none of them is compressed or stored elsewhere: their bytes, and for each
 * a header made anew and padding.
 */
#define GJ_PAGE_HEAP (BLCKSZ + 4096)

/* What becomes of rows that are to be written. */
typedef enum GjPut
{
	GJ_PUT_OK,
	GJ_PUT_FULL,				/* no room in this batch */
	GJ_PUT_CHAIN,				/* a value needs extents of its own: waiting */
	GJ_PUT_FAILED				/* not at all; the reason is in the connection */
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
	double		seen_width;		/* varlena: bytes of heap a row */

	/* in the batch at hand */
	char	   *values;
	uint8	   *validity;
	char	   *heap;
	uint32		heap_used;
	uint32		heap_size;
	uint32		nulls;
} GjColumnWriter;

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
	int			ncolumns;
	GjColumnWriter *columns;
	int			nvarlena;
	uint32		inline_limit;	/* longer values are chained */
	double		expected;		/* rows to come: a hint */
	MemoryContext scratch;		/* detoasted values; reset by the caller */

	GjExtent	extent;			/* base NULL: none */
	uint32		rows;
	uint32		capacity;
	bool		may_wait;		/* chaining allowed: no page is pinned */
	uint32	   *next_chain;		/* numbers this participant's chains */

	uint64		total_rows;		/* handed over */
	uint64		total_bytes;
} GjWriter;

/* sharers: how many participants feed this input together. */
extern void gj_writer_init(GjWriter *writer, GjExtents *extents,
						   const GjPlan *plan, int input, int participant,
						   int sharers, uint32 *next_chain, MemoryContext scratch);

/* Is there room for rows more, whose varlena values take heap_bytes in any
 * column? */
extern bool gj_writer_has_room(const GjWriter *writer, uint32 rows,
							   uint32 heap_bytes);

/* Hands over the batch at hand, if it has rows, and starts an empty one; waits
 * for an extent where none is at hand. */
extern bool gj_writer_next_batch(GjWriter *writer);

/* Appends n rows, all or none.  Does not wait unless may_wait is set. */
extern GjPut gj_writer_append(GjWriter *writer, const GjVector *vectors, int n);

/* Appends one row and waits as it must. */
extern bool gj_writer_append_row(GjWriter *writer, const GjVector *vectors);

/* Hands over what there is and lets go of the extent. */
extern bool gj_writer_finish(GjWriter *writer);

/* encode.c: appends the values of one column to rows first .. first + n - 1. */
extern GjPut gj_encode(GjWriter *writer, GjColumnWriter *column, uint32 first,
					   const GjVector *vector, int n);

/* chain.c: sends a value in extents of its own; fills the reference. */
extern bool gj_chain_send(GjWriter *writer, const char *value, uint64 length,
						  struct gj_chain_ref *ref);

#endif							/* GPUJOIN_WRITER_H */
