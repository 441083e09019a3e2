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

#include "compat_heap.h"
#include "feed/feed.h"
#include "feed/page/page.h"
#include "feed/parts.h"

HeapScanDesc
gj_page_scan(SeqScanState *child)
{
	if (child->ss.ps.chgParam != NULL)
		ExecReScan(&child->ss.ps);
	if (child->ss.ss_currentScanDesc == NULL)
		child->ss.ss_currentScanDesc =
			gj_begin_scan(child->ss.ss_currentRelation, child->ss.ps.state->es_snapshot);
	return (HeapScanDesc) child->ss.ss_currentScanDesc;
}

GjPageFeed *
gj_page_feed_create(ScanState *scan, const GjColumn *columns, int ncolumns, const List *conditions)
{
	GjPageFeed *feed = palloc0(sizeof(GjPageFeed));

	feed->rows = gj_page_rows_create(scan, columns, ncolumns, conditions);
	feed->vectors = palloc0((ncolumns + 1) * sizeof(GjVector));
	feed->copy = palloc(BLCKSZ);
	return feed;
}

void
gj_page_feed_bind(GjFeeder *feeder, int input, GjPageFeed *feed, ScanState *scan)
{
	ResetExprContext(scan->ps.ps_ExprContext);
	gj_page_rows_bind(feed->rows, scan);
	gj_page_feed_add_keys(feeder, input, feed);
}

void
gj_page_feed_add_keys(GjFeeder *feeder, int input, GjPageFeed *feed)
{
	const GjPlan *plan = feeder->plan;

	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].target.input == input && feeder->filters[i].extent.base != NULL)
			gj_page_rows_add_key(feed->rows, plan->filters[i].target.column,
								 &feeder->filters[i]);
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
	gj_begin_parallel_scan(scan, parallel);
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

void
gj_page_unpin(HeapScanDesc scan)
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
	gj_page_unpin(scan);
	return gj_writer_append_all(writer, feed->vectors, n);
}

/* Finds the rows of a page that pass. */
static bool
load(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, Page page, GjTupleCounts *counts)
{
	GjPageRows *rows = feed->rows;

	if (!gj_page_rows_load(rows, page, scan->rs_vistuples, scan->rs_ntuples))
		return gj_fail(writer->extents->conn,
					   "a numeric value does not fit its declared precision and scale");
	counts->tuples += scan->rs_ntuples;
	counts->without_partner += rows->without_partner;
	counts->fed += rows->n;
	gj_page_rows_vectors(rows, feed->vectors);
	return true;
}

bool
gj_page_write(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, GjPrefetch *prefetch,
			  GjTupleCounts *counts)
{
	int			n;

	if (!load(feed, writer, scan, BufferGetPage(scan->rs_cbuf), counts))
		return false;
	gj_prefetch_rest(prefetch);
	n = feed->rows->n;
	if (n == 0)
		return true;
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

bool
gj_page_write_copy(GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan, Page copy,
				   GjTupleCounts *counts)
{
	return load(feed, writer, scan, copy, counts) &&
		gj_writer_append_all(writer, feed->vectors, feed->rows->n);
}

void
gj_page_account(SeqScanState *child, HeapScanDesc scan, const GjTupleCounts *counts)
{
	GjInstrumentation *instrument = child->ss.ps.instrument;

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
feed_pages(GjFeeder *feeder, int input, GjPageFeed *feed, GjWriter *writer, HeapScanDesc scan,
		   GjTupleCounts *counts)
{
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
		if (!gj_page_write(feed, writer, scan, &prefetch, counts))
			return false;
		if (unlikely(!writer->scratch->isReset))
			MemoryContextReset(writer->scratch);
	}
	return true;
}

static GjPageFeed *
create_feed(const GjFeeder *feeder, int input, const GjPart *part, int ncolumns)
{
	ScanState  *scan = (ScanState *) part->child;

	return gj_page_feed_create(scan, gj_part_columns(feeder, input, part, ncolumns), ncolumns,
							   scan->ps.plan->qual);
}

/* Feeds a part by a page feed of it, if one could be created. */
static bool
feed_part(GjFeeder *feeder, int input, const GjPart *part, GjPageFeed *feed, GjWriter *writer)
{
	SeqScanState *child = (SeqScanState *) part->child;
	HeapScanDesc scan;
	GjTupleCounts counts = {0};
	bool		ok = true;

	if (feed->rows == NULL)
		return writer->ncolumns == feeder->plan->inputs[input].ncolumns ?
			gj_feed_child(feeder, input, part->child, writer) :
			gj_fail(&feeder->link->conn, "the page feed cannot read a column");
	scan = gj_page_scan(child);
	if (child->ss.ps.instrument != NULL)
		InstrStartNode(child->ss.ps.instrument);
	gj_page_feed_bind(feeder, input, feed, &child->ss);
	if (!feed->rows->none)
		ok = feed_pages(feeder, input, feed, writer, scan, &counts);
	gj_page_unpin(scan);
	gj_page_account(child, scan, &counts);
	return ok;
}

bool
gj_feed_page(GjFeeder *feeder, int input, const GjPart *part, GjWriter *writer)
{
	MemoryContext context;
	MemoryContext old;
	GjPageFeed *feed;
	bool		ok;

	if (!feeder->parts[input]->leaves)
	{
		if (feeder->page_feeds[input] == NULL)
			feeder->page_feeds[input] = create_feed(feeder, input, part, writer->ncolumns);
		return feed_part(feeder, input, part, feeder->page_feeds[input], writer);
	}

	/* there may be a thousand leaves, and each feed takes about 100 kB */
	context = AllocSetContextCreate(feeder->run_context, "gpujoin leaf", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	feed = create_feed(feeder, input, part, writer->ncolumns);
	MemoryContextSwitchTo(old);
	ok = feed_part(feeder, input, part, feed, writer);
	MemoryContextDelete(context);
	return ok;
}
