/*
 * feed/page/page.h - the page feed: the visible tuples of one heap page as vectors of values.
 */
#ifndef FEED_PAGE_PAGE_H
#define FEED_PAGE_PAGE_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "nodes/execnodes.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/bufpage.h"
#include "utils/relcache.h"

#include "feed/feed.h"
#include "feed/key_filter.h"
#include "job/page_qual.h"
#include "numeric/decimal.h"

/* ---- finds the next page of a scan and brings it into the cache ---- */

/* Starts with all fields zero. */
typedef struct GjPrefetch
{
	int			skip;			/* pages before the next attempt */
	Buffer		next;			/* probably has the next page; invalid: unknown */
	int			distance;		/* from the buffer of the page before it */
	const char *rest;			/* the page, if its second half was not requested; or NULL */
	const char *sparse;			/* the page, if those of its tuples were not; or NULL */
	int			reach;			/* of its tuples, if sparse */
} GjPrefetch;

/*
 * Does a shared buffer seem to have this block?  It is neither locked nor
 * pinned, so this is no more than a guess.
 */
extern bool gj_seems_to_have(Buffer buffer, BlockNumber block);

/*
 * Requests cache lines of the page that the scan reads next, after the one in
 * buffer: one half, or its line pointers if few lines of its tuples are read.  The
 * scan reads the first "reach" bytes of a tuple; 0: unknown.  Does nothing if block
 * is InvalidBlockNumber.
 */
extern void gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block,
							 Buffer buffer, int reach);

/*
 * Requests the other half, or the lines of the tuples.  A processor may ignore
 * requests if too many are pending, so this comes some time after the first ones.
 */
extern void gj_prefetch_rest(GjPrefetch *prefetch);

/*
 * Pins the page that was requested last, if its buffer is known.  Returns
 * InvalidBuffer if it is not.
 */
extern Buffer gj_prefetched_page(const GjPrefetch *prefetch, Relation rel,
								 BlockNumber block, BufferAccessStrategy strategy);

/* ---- unmaps shared buffers that a parallel worker has read ---- */

/* Neighbouring buffers that were read one after the other.  Starts with all fields zero. */
typedef struct GjTouched
{
	Buffer		first;
	Buffer		last;
} GjTouched;

/* To be called before the scan reads the page in a buffer, when it has done with those before. */
extern void gj_touch_page(GjTouched *run, Buffer buffer);

/* ---- the visible tuples of one heap page as vectors of values ---- */

/* An attribute up to the last one that is read. */
typedef struct GjPageStep
{
	int16		length;			/* pg_attribute.attlen */
	uint8		mask;			/* its alignment - 1 */
	const char **out;			/* array for pointers to it, per tuple that may
								 * have NULLs */
	const char *missing;		/* its value in older tuples */
} GjPageStep;

/* The attributes of a run whose position it stores. */
typedef enum GjRunTarget
{
	GJ_RUN_NOTHING,
	GJ_RUN_FIXED,				/* some of fixed length, by the first one */
	GJ_RUN_VARLENA,				/* one */
	GJ_RUN_CSTRING				/* one */
} GjRunTarget;

/* Attributes over which tuples without NULLs are walked together. */
typedef struct GjPageRun
{
	int			end;			/* the step after the last one */
	int			skipped;		/* varlenas before the target, none of them read */
	uint8		skip_mask;		/* their alignment - 1 */
	uint8		mask;			/* the target's */
	GjRunTarget target;
	uint32		length;			/* GJ_RUN_FIXED: of all */
	int			last_use;		/* last check that reads it; INT_MAX: others do */
	const char **starts;		/* of the target, MaxHeapTuplesPerPage */
} GjPageRun;

/* An attribute that is read by columns, by conditions, or by both. */
typedef struct GjPageAttribute
{
	int			step;
	int			fixed_offset;	/* in tuples without NULLs; -1: none */
	const char **starts;		/* in tuples without NULLs it is here, */
	uint32		start;			/* plus this */
	int			last_use;		/* last check that reads it; INT_MAX: others do */
	const char *missing;		/* value in older tuples; NULL: NULL */
	Datum		missing_value;	/* storage for missing, if by value */
	const char **pointers;		/* in other tuples; MaxHeapTuplesPerPage */
} GjPageAttribute;

/* The values that GJ_TEST_IN and GJ_TEST_NOT_IN compare with. */
typedef struct GjPageList
{
	int			n;
	int64	   *integers;		/* ascending */
	struct varlena **texts;		/* without trailing blanks, if of char(n) */
} GjPageList;

typedef struct GjPageCheck
{
	GjPageQual	qual;
	int			attribute;		/* in GjPageRows.attributes */
	int			other;			/* the one it is compared with; -1: a value */
	ExprState  *value;			/* NULL if there is none */
	GjQuickNumeric numeric;		/* of numerics */
	GjPageList	list;			/* after binding */
	GjPageTest	test;			/* after binding: on 64-bit integers */
	int64		low;			/* the range that passes, or fails <> */
	int64		high;
	bool		merged;			/* into an earlier check */
} GjPageCheck;

/* A filter of another input's keys. */
typedef struct GjPageKey
{
	int			attribute;		/* in GjPageRows.attributes */
	GjKeyFilter *filter;
} GjPageKey;

/* The conditions that the executor's expressions evaluate, row by row. */
typedef struct GjPageExpression
{
	ExprState  *qual;			/* NULL: none */
	ExprContext *econtext;
	TupleTableSlot *slot;
	int			nattributes;
	int		   *attributes;		/* that it reads, in GjPageRows.attributes */
} GjPageExpression;

typedef struct GjPageRows
{
	int			nsteps;
	GjPageStep *steps;
	int			first_walk;		/* first step whose end differs by tuple */
	int			walk_offset;	/* its offset, before alignment */
	int			nruns;
	GjPageRun  *runs;			/* of the steps from first_walk on */
	int			data_last_use;	/* of attributes with a fixed offset: last_use */
	int			nattributes;
	GjPageAttribute *attributes;
	int			ncolumns;
	int		   *columns;		/* of the writer: indexes into attributes */
	int			last_column;	/* the last of these in a tuple; -1: none */
	int			nchecks;
	GjPageCheck *checks;		/* ordered by the last attribute they need */
	MemoryContext lists;		/* of the checks */
	int			nkeys;
	GjPageKey	keys[GJ_MAX_INPUT_FILTERS];
	GjPageExpression expression;
	bool		none;			/* a comparison with NULL: no row passes */
	int			reach;			/* bytes of a tuple up to the end of the last attribute
								 * that is read, in one of the last pages; 0: unknown */
	int			unmeasured;		/* pages until it is measured again */

	/* the current page */
	int			n;
	int			without_partner;	/* tuples dropped by filters of keys */
	bool		uniform;		/* no NULLs and no missing attributes */
	int			walked;			/* steps that were walked in all kept tuples */
	int			walked_runs;	/* uniform: runs of them */
	const char *data[MaxHeapTuplesPerPage]; /* start of the attributes */
	const char *ends[MaxHeapTuplesPerPage]; /* uniform: of the walked runs, if any */
	HeapTupleHeader tuples[MaxHeapTuplesPerPage];
	uint32		offsets[MaxHeapTuplesPerPage];	/* else: ends of the walked steps */
} GjPageRows;

/*
 * Prepares to read these columns and to evaluate conditions, those of a scan or
 * none, in the current memory context.  Returns NULL if the page feed cannot
 * evaluate one of them (job/page_qual.h), or if a column does not exist.
 */
extern GjPageRows *gj_page_rows_create(ScanState *scan, const GjColumn *columns, int ncolumns,
									   const List *conditions);

/* Evaluates the conditions' parameters for the next scan. */
extern void gj_page_rows_bind(GjPageRows *rows, ScanState *scan);

/*
 * Tests a column of the writer in all tuples loaded from now on, until
 * gj_page_rows_bind().
 */
extern void gj_page_rows_add_key(GjPageRows *rows, int column, GjKeyFilter *filter);

/*
 * Loads n tuples of a page and keeps those that pass all conditions and filters; rows->n
 * becomes their number.  Returns false if a value does not have the form that
 * its type promises.
 */
extern bool gj_page_rows_load(GjPageRows *rows, Page page,
							  const OffsetNumber *offsets, int n);

/* Returns the columns of the kept tuples. */
extern void gj_page_rows_vectors(const GjPageRows *rows, GjVector *vectors);

/* Adjusts all pointers after the page was copied to another address. */
extern void gj_page_rows_move(GjPageRows *rows, const char *from, const char *to);

/* ---- finds the attributes of the tuples of one heap page ---- */

/*
 * Plans the steps up to the last attribute read, and finds the fixed offsets.
 */
extern void gj_page_walk_plan(GjPageRows *rows, TupleDesc desc);

/* The bytes of a tuple up to the end of the last step. */
extern int	gj_page_reach(const GjPageRows *rows, HeapTupleHeader tuple);

/* Prepares to walk the tuples of a page, given rows->uniform. */
extern void gj_page_walk_start(GjPageRows *rows);

/*
 * Walks the kept tuples of the current page up to an attribute, and finds all
 * that are read up to it.
 */
extern void gj_page_walk(GjPageRows *rows, int attribute);

/*
 * feed/page/walk.c: plans the runs of the steps from rows->first_walk on.
 */
extern void gj_page_runs_plan(GjPageRows *rows);

/* feed/page/walk.c: walks over one run in all kept tuples. */
extern void gj_page_run_walk(const GjPageRun *run, const char *const *from, uint32 offset,
							 const char **to, int n);

/* ---- the page feed's conditions on vectors of values ---- */

/*
 * Evaluates the value that the column is compared with, if any.  A list is
 * made in the memory context.  Returns false if the value is NULL, in which
 * case no row passes.
 */
extern bool gj_page_check_bind(GjPageCheck *check, ExprContext *econtext,
							   MemoryContext lists);

/*
 * Makes one check of all comparisons of one column.  Returns false if no row
 * passes them.
 */
extern bool gj_page_checks_merge(GjPageCheck *checks, int n);

/*
 * Stores in kept, in ascending order, which of n rows pass.  Returns their
 * number, or -1 if a value does not have the form that its type promises.
 */
extern int	gj_page_check_filter(const GjPageCheck *check, const GjVector *vector,
								 int n, uint16 *kept);

/* The same for a check of two columns. */
extern int	gj_page_check_compare(const GjPageCheck *check, const GjVector *left,
								  const GjVector *right, int n, uint16 *kept);

/* ---- the page feed's searches of values in a list ---- */

/*
 * Makes the list of a check from the text or array it is compared with, in the
 * current memory context.  NULLs are left out: no value equals them.
 */
extern void gj_page_list_read(GjPageCheck *check, Datum value);

/* gj_page_check_filter() for GJ_TEST_IN and GJ_TEST_NOT_IN. */
extern int	gj_page_list_filter(const GjPageCheck *check, const GjVector *vector,
								int n, uint16 *kept);

/* ---- the steps of a scan ---- */

struct GjPageFeed
{
	GjPageRows *rows;			/* NULL: no page feed */
	GjVector   *vectors;
	char	   *copy;			/* of a page */
};

/* Tuples of a scan. */
typedef struct GjTupleCounts
{
	double		tuples;
	double		without_partner;	/* dropped by filters of keys */
	double		fed;
} GjTupleCounts;

/* Prepares to feed these columns of the rows that pass the conditions. */
extern GjPageFeed *gj_page_feed_create(ScanState *scan, const GjColumn *columns, int ncolumns,
									   const List *conditions);

/* Binds the conditions and the filters of an input for the next scan. */
extern void gj_page_feed_bind(GjFeeder *feeder, int input, GjPageFeed *feed, ScanState *scan);

/* Tests the rows of the scan by the input's filters, from now on. */
extern void gj_page_feed_add_keys(GjFeeder *feeder, int input, GjPageFeed *feed);

/* The scan that the child uses, begun as the child would if there is none yet. */
extern HeapScanDesc gj_page_scan(SeqScanState *child);

/* Releases the scan's page. */
extern void gj_page_unpin(HeapScanDesc scan);

/* Writes the rows of the scan's page that pass.  Waits as needed, and then unpins the page. */
extern bool gj_page_write(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan,
						  GjPrefetch *prefetch, GjTupleCounts *counts);

/* The same for a copy of the scan's page, which is unpinned. */
extern bool gj_page_write_copy(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, Page copy,
							   GjTupleCounts *counts);

/*
 * Counts the scan's tuples, those that its conditions removed, and the time since
 * InstrStartNode(), for EXPLAIN ANALYZE and the statistics views.
 */
extern void gj_page_account(SeqScanState *child, HeapScanDesc scan, const GjTupleCounts *counts);

#endif							/* FEED_PAGE_PAGE_H */
