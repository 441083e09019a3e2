/*
 * feed/page/scan.c - feeds rows of a sequential scan directly from heap pages.
 *
 * Only this file knows how a heap scan advances from page to page.  Reading a
 * page depends on the PostgreSQL version (compat.h).  The scan descriptor is
 * the child's own, so parallel scans share it and the executor ends it.  The
 * heap's own routine reads the pages and so takes care of pruning, visibility,
 * predicate locks and the buffer ring.
 *
 * No page stays pinned while we wait for the daemon.  If a batch fills up
 * before the page is finished, the page is copied and its remaining rows go
 * into the next batch from that copy.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/syncscan.h"
#include "access/tableam.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "feed/feed.h"
#include "feed/page/page.h"

struct GjPageFeed
{
	GjPageRows *rows;			/* NULL: no page feed */
	GjVector   *vectors;
	char	   *copy;			/* of a page */
};

/* Tuples of a scan. */
typedef struct Counts
{
	double		tuples;
	double		without_partner;	/* dropped by filters of keys */
	double		fed;
} Counts;

/*
 * The scan that the child uses, begun as the child would if there is none yet.
 */
static TableScanDesc
scan_of(SeqScanState *child)
{
	if (child->ss.ps.chgParam != NULL)
		ExecReScan(&child->ss.ps);
	if (child->ss.ss_currentScanDesc == NULL)
		child->ss.ss_currentScanDesc =
			table_beginscan(child->ss.ss_currentRelation,
							child->ss.ps.state->es_snapshot, 0, NULL);
	return child->ss.ss_currentScanDesc;
}

bool
gj_page_feed_possible(const GjFeeder *feeder, int input)
{
	SeqScanState *child = (SeqScanState *) feeder->inputs[input];
	Snapshot	snapshot;

	if (feeder->plan->inputs[input].feed != GJ_FEED_PAGE ||
		!IsA(child, SeqScanState) ||
		child->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return false;
	snapshot = child->ss.ss_currentScanDesc != NULL ?
		child->ss.ss_currentScanDesc->rs_snapshot : child->ss.ps.state->es_snapshot;
	return snapshot != NULL && IsMVCCSnapshot(snapshot);
}

static GjPageFeed *
create_feed(SeqScanState *child, const GjWriter *writer)
{
	GjPageFeed *feed = palloc0(sizeof(GjPageFeed));

	feed->rows = gj_page_rows_create(&child->ss, writer);
	feed->vectors = palloc0((writer->ncolumns + 1) * sizeof(GjVector));
	feed->copy = palloc(BLCKSZ);
	return feed;
}

/* ---- from page to page ---- */

static BlockNumber
first_block(HeapScanDesc scan)
{
	ParallelBlockTableScanDesc parallel =
	(ParallelBlockTableScanDesc) scan->rs_base.rs_parallel;

	if (scan->rs_nblocks == 0 || scan->rs_numblocks == 0)
		return InvalidBlockNumber;
	if (parallel == NULL)
		return scan->rs_startblock;
	table_block_parallelscan_startblock_init(scan->rs_base.rs_rd,
											 scan->rs_parallelworkerdata, parallel);
	return table_block_parallelscan_nextpage(scan->rs_base.rs_rd,
											 scan->rs_parallelworkerdata, parallel);
}

static BlockNumber
next_block(HeapScanDesc scan, BlockNumber block)
{
	if (scan->rs_base.rs_parallel != NULL)
		return table_block_parallelscan_nextpage(scan->rs_base.rs_rd,
												 scan->rs_parallelworkerdata,
												 (ParallelBlockTableScanDesc) scan->rs_base.rs_parallel);
	if (++block >= scan->rs_nblocks)
		block = 0;

	/* report our position for synchronized scans */
	if (scan->rs_base.rs_flags & SO_ALLOW_SYNC)
		ss_report_location(scan->rs_base.rs_rd, block);
	return block == scan->rs_startblock ? InvalidBlockNumber : block;
}

static void
unpin(HeapScanDesc scan)
{
	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = InvalidBuffer;
	scan->rs_cblock = InvalidBlockNumber;
}

/* ---- from a page to the batch ---- */

/* Writes the last n rows of the page from a copy, and waits as needed. */
static bool
write_copied(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, int n)
{
	Page		page = BufferGetPage(scan->rs_cbuf);

	memcpy(feed->copy, page, BLCKSZ);
	gj_page_rows_move(feed->rows, page, feed->copy);
	unpin(scan);
	return gj_writer_append_all(writer, feed->vectors, n);
}

static bool
write_page(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, GjPrefetch *prefetch)
{
	GjPageRows *rows = feed->rows;
	int			n;

	if (!gj_page_rows_load(rows, BufferGetPage(scan->rs_cbuf), scan->rs_vistuples,
						   scan->rs_ntuples))
		return gj_fail(writer->extents->conn,
					   "a numeric value does not fit its declared precision and scale");
	gj_prefetch_rest(prefetch);
	n = rows->n;
	if (n == 0)
		return true;
	gj_page_rows_vectors(rows, feed->vectors);
	switch (gj_writer_append(writer, feed->vectors, &n))
	{
		case GJ_PUT_OK:
			return true;
		case GJ_PUT_FAILED:
			return false;
		case GJ_PUT_FULL:
		case GJ_PUT_CHAIN:
			break;
	}
	return write_copied(feed, writer, scan, n);
}

/*
 * Counts the scan's tuples, those that its conditions removed, and the time
 * for EXPLAIN ANALYZE and the statistics views.
 */
static void
account(SeqScanState *child, HeapScanDesc scan, const Counts *counts)
{
	Instrumentation *instrument = child->ss.ps.instrument;

	gj_count_tuples_read(scan->rs_base.rs_rd, counts->tuples);
	if (instrument != NULL)
	{
		instrument->nfiltered1 += counts->tuples - counts->without_partner - counts->fed;
		InstrStopNode(instrument, counts->fed);
	}
}

/* Does another input have the same table, whose pages this process then reads twice? */
static bool
is_read_twice(const GjPlan *plan, int input)
{
	for (int i = 0; i < plan->ninputs; i++)
		if (i != input && plan->inputs[i].relid == plan->inputs[input].relid)
			return true;
	return false;
}

static bool
feed_pages(GjFeeder *feeder, int input, GjWriter *writer, HeapScanDesc scan, Counts *counts)
{
	GjPageFeed *feed = feeder->page_feeds[input];
	bool		twice = is_read_twice(feeder->plan, input);
	Relation	rel = scan->rs_base.rs_rd;
	GjPrefetch	prefetch = {0};
	GjTouched	touched = {0};
	BlockNumber next;
	bool		visible = true;

	for (BlockNumber block = first_block(scan); block != InvalidBlockNumber; block = next)
	{
		CHECK_FOR_INTERRUPTS();
		if (!gj_feed_goes_on(feeder))
			return false;
		next = next_block(scan, block);
		gj_read_heap_page(scan, block,
						  gj_prefetched_page(&prefetch, rel, block, scan->rs_strategy),
						  &visible);
		if (!twice)
			gj_touch_page(&touched, scan->rs_cbuf);
		gj_prefetch_page(&prefetch, rel, next, scan->rs_cbuf, feed->rows->reach);
		counts->tuples += scan->rs_ntuples;
		if (!write_page(feed, writer, scan, &prefetch))
			return false;
		counts->without_partner += feed->rows->without_partner;
		counts->fed += feed->rows->n;
		if (unlikely(!writer->scratch->isReset))
			MemoryContextReset(writer->scratch);
	}
	return true;
}

bool
gj_feed_page(GjFeeder *feeder, int input, GjWriter *writer)
{
	SeqScanState *child = (SeqScanState *) feeder->inputs[input];
	GjPageFeed *feed = feeder->page_feeds[input];
	HeapScanDesc scan;
	Counts		counts = {0};
	bool		ok = true;

	if (feed == NULL)
		feed = feeder->page_feeds[input] = create_feed(child, writer);
	if (feed->rows == NULL)
		return gj_feed_child(feeder, input, writer);

	scan = (HeapScanDesc) scan_of(child);
	if (child->ss.ps.instrument != NULL)
		InstrStartNode(child->ss.ps.instrument);
	ResetExprContext(child->ss.ps.ps_ExprContext);
	gj_page_rows_bind(feed->rows, &child->ss);
	for (int i = 0; i < feeder->plan->nfilters; i++)
		if (feeder->plan->filters[i].target.input == input &&
			feeder->filters[i].extent.base != NULL)
			gj_page_rows_add_key(feed->rows, feeder->plan->filters[i].target.column,
								 &feeder->filters[i]);
	if (!feed->rows->none)
		ok = feed_pages(feeder, input, writer, scan, &counts);
	unpin(scan);
	account(child, scan, &counts);
	return ok;
}
