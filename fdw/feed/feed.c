/*
 * feed/feed.c - chooses and feeds this participant's inputs, in order.
 *
 * All participants feed in the plan's order.  An input that only one of them
 * can feed goes to the first that gets to it.  This file also accounts for the
 * rows, bytes and time of the feed.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "feed/feed.h"

/* ---- feeds the rows of a child plan ---- */

/*
 * A by-reference value is valid until the child is asked for its next row, so
 * a row that has one is written at once.  Rows of by-value columns only are
 * collected and written one column at a time.
 *
 * A scan below keeps the page of its last row pinned, which nothing but the end
 * of the scan changes: copying the row would not help.  So this file may wait
 * for an extent while VACUUM waits for that page.  The wait is short, because
 * the daemon answers each WANT at once, if need be by failing the job; and a daemon
 * that does not answer is given up as in any wait (daemon/wait.c).
 */

#define ROWS_AT_ONCE 64

typedef struct ChildColumn
{
	int			attribute;		/* of the child's slot, from 0 */
	bool		by_value;
	Datum		values[ROWS_AT_ONCE];
	const char *pointers[ROWS_AT_ONCE];
} ChildColumn;

/* A filter of another input's keys. */
typedef struct ChildKey
{
	int			attribute;
	bool		by_value;
	GjKeyFilter *filter;
} ChildKey;

typedef struct ChildFeed
{
	GjWriter   *writer;
	int			ncolumns;
	ChildColumn *columns;
	GjVector   *vectors;
	int			last;			/* number of the last attribute read */
	int			nkeys;
	ChildKey	keys[GJ_MAX_INPUT_FILTERS];
	int			last_key;		/* number of the last attribute tested */
	int			capacity;		/* rows collected before they are written */
	int			rows;
} ChildFeed;

static void
prepare(ChildFeed *feed, GjWriter *writer, MemoryContext context)
{
	feed->writer = writer;
	feed->ncolumns = writer->ncolumns;
	feed->columns = MemoryContextAlloc(context, (feed->ncolumns + 1) * sizeof(ChildColumn));
	feed->vectors = MemoryContextAllocZero(context, (feed->ncolumns + 1) * sizeof(GjVector));
	feed->last = 0;
	feed->capacity = ROWS_AT_ONCE;
	feed->rows = 0;
	for (int i = 0; i < feed->ncolumns; i++)
	{
		const GjColumn *column = writer->columns[i].column;
		ChildColumn *c = &feed->columns[i];

		c->attribute = column->resno - 1;
		c->by_value = get_typbyval(column->type);
		feed->last = Max(feed->last, column->resno);
		feed->vectors[i].pointers = c->pointers;
		if (!c->by_value)
			feed->capacity = 1;
	}
}

static void
prepare_keys(ChildFeed *feed, const GjFeeder *feeder, int input)
{
	const GjPlan *plan = feeder->plan;

	feed->nkeys = 0;
	feed->last_key = 0;
	for (int i = 0; i < plan->nfilters; i++)
	{
		const ChildColumn *c = &feed->columns[plan->filters[i].target.column];

		if (plan->filters[i].target.input != input || feeder->filters[i].extent.base == NULL)
			continue;
		feed->keys[feed->nkeys++] = (ChildKey)
		{
			.attribute = c->attribute, .by_value = c->by_value, .filter = &feeder->filters[i]
		};
		feed->last_key = Max(feed->last_key, c->attribute + 1);
	}
}

/*
 * Tests a row before its other columns are read.  Returns 1 if it passes all
 * filters, 0 if not, and -1 if a key does not have the form that its type
 * promises.
 */
static inline int
has_partners(ChildFeed *feed, TupleTableSlot *slot)
{
	int			passed = 1;

	if (feed->nkeys == 0)
		return 1;
	slot_getsomeattrs(slot, feed->last_key);
	for (int i = 0; i < feed->nkeys && passed > 0; i++)
	{
		const ChildKey *key = &feed->keys[i];
		Datum		value = slot->tts_values[key->attribute];
		const char *pointer = key->by_value ? (const char *) &value : DatumGetPointer(value);
		GjVector	vector = {.pointers = &pointer, .nullable = true};
		uint16		kept;

		if (slot->tts_isnull[key->attribute])
			pointer = NULL;
		passed = gj_key_filter_select(key->filter, &vector, 1, &kept);
	}
	return passed;
}

static inline void
collect(ChildFeed *feed, TupleTableSlot *slot)
{
	int			row = feed->rows++;

	for (int i = 0; i < feed->ncolumns; i++)
	{
		ChildColumn *c = &feed->columns[i];
		Datum		value = slot->tts_values[c->attribute];

		if (slot->tts_isnull[c->attribute])
		{
			c->pointers[row] = NULL;
			feed->vectors[i].nullable = true;
		}
		else if (c->by_value)
		{
			/* little-endian: the datum starts with its lowest byte */
			c->values[row] = value;
			c->pointers[row] = (const char *) &c->values[row];
		}
		else
			c->pointers[row] = DatumGetPointer(value);
	}
}

static inline bool
write_rows(ChildFeed *feed)
{
	int			n = feed->rows;
	GjPut		put = gj_writer_append(feed->writer, feed->vectors, &n);

	if (unlikely(put != GJ_PUT_OK) &&
		(put == GJ_PUT_FAILED || !gj_writer_append_all(feed->writer, feed->vectors, n)))
		return false;

	/* the writer may have advanced the vectors even if all rows fit */
	for (int i = 0; i < feed->ncolumns; i++)
	{
		feed->vectors[i].pointers = feed->columns[i].pointers;
		feed->vectors[i].nullable = false;
	}
	feed->rows = 0;
	if (unlikely(!feed->writer->scratch->isReset))
		MemoryContextReset(feed->writer->scratch);
	return true;
}

bool
gj_feed_child(GjFeeder *feeder, int input, GjWriter *writer)
{
	PlanState  *child = feeder->inputs[input];
	ChildFeed	feed;

	prepare(&feed, writer, feeder->run_context);
	prepare_keys(&feed, feeder, input);
	for (;;)
	{
		TupleTableSlot *slot;
		int			passed;

		CHECK_FOR_INTERRUPTS();
		slot = ExecProcNode(child);
		if (TupIsNull(slot))
			return feed.rows == 0 || write_rows(&feed);
		passed = has_partners(&feed, slot);
		if (passed < 0)
			return gj_fail(&feeder->link->conn,
						   "a numeric value does not fit its declared precision and scale");
		if (passed == 0)
		{
			if (!gj_feed_goes_on(feeder))
				return false;
			continue;
		}
		slot_getsomeattrs(slot, feed.last);
		collect(&feed, slot);
		if (feed.rows < feed.capacity)
			continue;
		if (!write_rows(&feed))
			return false;
		if (!gj_feed_goes_on(feeder))
			return false;
	}
}

/* ---- feed ---- */

void
gj_feeder_init(GjFeeder *feeder, const GjPlan *plan, MemoryContext context)
{
	*feeder = (GjFeeder)
	{
		.plan = plan,
			.inputs = palloc0(plan->ninputs * sizeof(PlanState *)),
			.page_feeds = palloc0(plan->ninputs * sizeof(GjPageFeed *)),
			.kept_feeds = palloc0(plan->ninputs * sizeof(GjKeptFeed *)),
			.kept = palloc0(plan->ninputs * sizeof(GjKept *)),
			.blocks = palloc0(plan->ninputs * sizeof(GjBlockCounts)),
			.filters = palloc0(Max(1, plan->nfilters) * sizeof(GjKeyFilter)),
			.context = context
	};
}

void
gj_feeder_reset(GjFeeder *feeder)
{
	memset(feeder->kept, 0, feeder->plan->ninputs * sizeof(GjKept *));
	memset(feeder->blocks, 0, feeder->plan->ninputs * sizeof(GjBlockCounts));
}

/*
 * Ends the leader's part of scans that it shared with workers.  A Gather that
 * runs again after it was shut down begins them anew, and does not look whether
 * they have ended.
 */
static bool
end_shared_scans(PlanState *state, void *context)
{
	if (state->plan->parallel_aware && IsA(state, SeqScanState))
	{
		ScanState  *scan = (ScanState *) state;

		if (scan->ss_currentScanDesc != NULL)
			table_endscan(scan->ss_currentScanDesc);
		scan->ss_currentScanDesc = NULL;
	}
	else if (state->plan->parallel_aware && IsA(state, IndexScanState))
	{
		IndexScanState *scan = (IndexScanState *) state;

		if (scan->iss_ScanDesc != NULL)
			index_endscan(scan->iss_ScanDesc);
		scan->iss_ScanDesc = NULL;
	}
	else if (state->plan->parallel_aware && IsA(state, IndexOnlyScanState))
	{
		IndexOnlyScanState *scan = (IndexOnlyScanState *) state;

		if (scan->ioss_ScanDesc != NULL)
			index_endscan(scan->ioss_ScanDesc);
		scan->ioss_ScanDesc = NULL;
	}
	return planstate_tree_walker(state, end_shared_scans, context);
}

void
gj_shut_down(PlanState *child)
{
	(void) ExecShutdownNode(child);
	(void) end_shared_scans(child, NULL);
}

static bool
feed_input(GjFeeder *feeder, int input, MemoryContext scratch,
		   uint64 *rows, uint64 *bytes)
{
	const GjPlan *plan = feeder->plan;
	GjLink	   *link = feeder->link;
	bool		shared = feeder->shared != NULL && plan->inputs[input].partial;
	MemoryContext old;
	GjWriter	writer;
	bool		ok;

	if (feeder->shared != NULL && feeder->shared->kept[input] && feeder->kept[input] == NULL &&
		!gj_kept_get(feeder, input))
		return false;
	if (feeder->kept[input] == NULL)	/* gj_feed_kept() asks for filters if they are worth it */
	{
		if (!gj_key_filters_get(link, plan, input, feeder->filters))
			return false;
		if (gj_key_filters_drops_all(plan, input, feeder->filters))
			return gj_key_filters_return(link, plan, input, feeder->filters);
	}
	gj_writer_init(&writer, link, &feeder->chain, plan, input,
				   plan->inputs[input].ncolumns +
				   (feeder->kept[input] != NULL ? plan->inputs[input].nhidden : 0),
				   shared ? plan->workers + 1 : 1, scratch);

	/* the child's own allocations must live as long as the child */
	old = MemoryContextSwitchTo(feeder->context);
	if (feeder->kept[input] != NULL)
		ok = gj_feed_kept(feeder, input, &writer);
	else if (gj_page_feed_possible(feeder, input))
		ok = gj_feed_page(feeder, input, &writer);
	else
		ok = gj_feed_child(feeder, input, &writer);

	if (feeder->shared == NULL)
		gj_shut_down(feeder->inputs[input]);
	MemoryContextSwitchTo(old);
	ok = ok && gj_writer_finish(&writer);
	if (writer.unfit)
		feeder->unfit = MemoryContextStrdup(feeder->context, link->conn.failure);
	*rows += writer.total_rows;
	*bytes += writer.total_bytes;
	MemoryContextReset(scratch);
	return ok && gj_key_filters_return(link, plan, input, feeder->filters);
}

bool
gj_feed(GjFeeder *feeder, GjLink *link, GjShared *shared, MemoryContext run_context)
{
	const GjPlan *plan = feeder->plan;
	uint64		start = gj_now_us();
	uint64		rows = 0;
	uint64		bytes = 0;
	MemoryContext scratch = AllocSetContextCreate(run_context, "gpujoin feed",
												  ALLOCSET_DEFAULT_SIZES);

	feeder->link = link;
	feeder->shared = shared;
	feeder->run_context = run_context;
	feeder->chain = (GjChain) {0};
	link->conn.wait_us = 0;
	for (int i = 0; i < plan->ninputs; i++)
	{
		int			input = plan->order[i];

		if ((shared == NULL || plan->inputs[input].partial || gj_shared_elect(shared, input)) &&
			!feed_input(feeder, input, scratch, &rows, &bytes))
			return false;
		if (!gj_key_filters_fed(link, plan, input))
			return false;
	}
	if (!gj_chain_finish(&link->extents, &feeder->chain, link->participant))
		return false;
	return gj_link_fed(link, rows, bytes, gj_now_us() - start);
}
