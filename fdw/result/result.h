/*
 * result/result.h - rows of the daemon as PostgreSQL shows them.
 */
#ifndef RESULT_RESULT_H
#define RESULT_RESULT_H

#include "postgres.h"

#include "daemon/job_session.h"
#include "job/job.h"

/* ---- reads result batches row by row ---- */

/* ---- reads values too long for a batch from their chains ---- */

/*
 * feed/writer.h describes how they are written.
 */

/*
 * How many extents of chains a reader maps at once.  Results may refer to
 * values in any order.
 */
#define GJ_CHAIN_MAPPED 8

/* A mapped extent of some participant's chain. */
typedef struct GjChainExtent
{
	GjExtent	extent;			/* base NULL: none */
	uint64		chain;
	uint32		bytes;			/* bytes of data in it */
	uint64		last_used;
} GjChainExtent;

typedef struct GjChainReader
{
	GjLink	   *link;
	MemoryContext context;		/* of the values */

	/* saves a result frame that arrives during the wait for an extent */
	bool		(*stash) (void *stash_arg);
	void	   *stash_arg;

	GjChainExtent mapped[GJ_CHAIN_MAPPED];
	uint64		uses;
} GjChainReader;

/*
 * Returns the value of a reference, allocated in the reader's context.  NULL
 * if the daemon fails.
 */
extern char *gj_chain_receive(GjChainReader *chains, const struct gj_chain_ref *ref);

/* Returns the mapped extents to the daemon. */
extern bool gj_chain_release(GjChainReader *chains);

/* ---- reader ---- */

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

/* ---- the daemon's statistics of a job (result/stats.c) ---- */

/*
 * Asks for them and waits until they are the frame received.  reader reads the
 * job's results, which are saved for it; NULL: no more results are read.
 */
extern bool gj_receive_stats(GjLink *link, GjReader *reader);

/* ---- aggregates ---- */

/*
 * Makes the values of custom_scan_tlist from one row of the daemon's result.
 * raw has aggregate->ncolumns entries, values has aggregate->nresults.  New
 * datums are allocated in the current memory context.
 */
extern void gj_finish_group(const GjAggregate *aggregate, const Datum *raw,
							const bool *raw_null, Datum *values, bool *isnull);

/* ---- variances and standard deviations from sums ---- */

/* Which of the four functions. */
typedef struct GjSpread
{
	bool		sample;			/* of a sample, else of the population */
	bool		root;			/* the standard deviation */
} GjSpread;

/*
 * The variance of count values, or its square root, from their sum and the sum
 * of their squares: numerics with the display scale of the values, and twice
 * that.  Sets *isnull if there are too few values.
 */
extern Datum gj_spread(GjSpread spread, int64 count, Datum sum, Datum squares, bool *isnull);

#endif							/* RESULT_RESULT_H */
