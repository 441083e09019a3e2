/*
 * result_reader.h - result batches, read row by row.
 */
#ifndef GPUJOIN_RESULT_READER_H
#define GPUJOIN_RESULT_READER_H

#include "daemon_session.h"
#include "result_chain.h"

/* Batches that the daemon may have on their way to us. */
#define GJ_CREDITS 2

typedef enum GjRead
{
	GJ_READ_ROW,
	GJ_READ_END,
	GJ_READ_FAILED				/* the reason is in the connection */
} GjRead;

typedef enum GjValue
{
	GJ_VALUE_1, GJ_VALUE_2, GJ_VALUE_4, GJ_VALUE_8, /* by value */
	GJ_VALUE_BYTES,				/* by reference, fixed length */
	GJ_VALUE_NAME,				/* of these the one that ends at a zero byte */
	GJ_VALUE_VARLENA,
	GJ_VALUE_DECIMAL
} GjValue;

typedef struct GjColumnReader
{
	const GjColumn *column;
	GjValue		value;
	char	   *numeric;		/* GJ_VALUE_DECIMAL: the datum of the row */

	/* in the batch at hand */
	const char *values;
	const uint8 *validity;		/* NULL: no NULLs */
	const char *heap;
	uint32		heap_len;

	/* the chained value that was read last; NULL: none */
	struct gj_chain_ref ref;
	char	   *chained;
} GjColumnReader;

typedef struct GjPending
{
	GjExtent	extent;
	uint32		rows;
} GjPending;

typedef struct GjReader
{
	GjLink	   *link;
	int			ncolumns;
	GjColumnReader *columns;
	GjChainReader chains;

	GjExtent	extent;			/* base NULL: none */
	uint32		rows;
	uint32		row;			/* the next one */

	int			credits;		/* given to the daemon, not used up yet */
	int			npending;
	GjPending	pending[GJ_CREDITS];
	bool		ended;

	uint64		returned;		/* rows, since the daemon was told last */
	uint64		since_us;
} GjReader;

/* The buffers live in the current memory context. */
extern void gj_reader_init(GjReader *reader, GjLink *link, const GjPlan *plan);

/* Starts the flow of batches; the job runs. */
extern bool gj_reader_start(GjReader *reader);

/* The next row, as datums that are valid until the next call. */
extern GjRead gj_reader_next(GjReader *reader, Datum *values, bool *isnull);

/* Gives back all batches, so that the job can run again. */
extern bool gj_reader_stop(GjReader *reader);

/* Tells the daemon how many rows were read, in which time, since it was told
 * last. */
extern bool gj_reader_report(GjReader *reader);

/* Keeps the RESULT or END frame that was just received for later. */
extern bool gj_reader_stash(GjReader *reader);

#endif							/* GPUJOIN_RESULT_READER_H */
