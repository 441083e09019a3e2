/*
 * feed/child.c - feeds the rows of a plan, row by row.
 *
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
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "feed/feed.h"
#include "feed/writer.h"

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
gj_feed_child(GjFeeder *feeder, int input, PlanState *child, GjWriter *writer)
{
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
