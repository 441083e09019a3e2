/*
 * result/reader.h - reads result batches row by row.
 */
#ifndef RESULT_READER_H
#define RESULT_READER_H

#include "daemon/job_session.h"
#include "result/long_values.h"

/* Maximum number of batches in flight from the daemon. */
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
	GJ_VALUE_NAME,				/* by reference, ends at a zero byte */
	GJ_VALUE_VARLENA,
	GJ_VALUE_DECIMAL
} GjValue;

typedef struct GjColumnReader
{
	const GjColumn *column;
	GjValue		value;
	char	   *numeric;		/* GJ_VALUE_DECIMAL: the datum of the row */

	/* in the current batch */
	const char *values;
	const uint8 *validity;		/* NULL: no NULLs */
	const char *heap;
	uint32		heap_len;

	/* the last chained value read; NULL: none */
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

	int			credits;		/* granted to the daemon and not used yet */
	int			npending;
	GjPending	pending[GJ_CREDITS];
	bool		ended;

	uint64		returned;		/* rows since the last report to the daemon */
	uint64		since_us;
} GjReader;

/*
 * Initializes a reader.  Its buffers are allocated in the current memory
 * context.
 */
extern void gj_reader_init(GjReader *reader, GjLink *link, const GjPlan *plan);

/* Asks for the first batches.  The job must be running. */
extern bool gj_reader_start(GjReader *reader);

/* Returns the next row, as datums that are valid until the next call. */
extern GjRead gj_reader_next(GjReader *reader, Datum *values, bool *isnull);

/* Returns all batches to the daemon, so that the job can run again. */
extern bool gj_reader_stop(GjReader *reader);

/*
 * Reports to the daemon the rows read and the time taken since the last
 * report.
 */
extern bool gj_reader_report(GjReader *reader);

/* Saves the RESULT or END frame just received for later. */
extern bool gj_reader_stash(GjReader *reader);

#endif							/* RESULT_READER_H */
