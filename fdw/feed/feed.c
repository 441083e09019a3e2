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
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/memutils.h"

#include "compat.h"
#include "feed/feed.h"
#include "feed/parts.h"

void
gj_feeder_init(GjFeeder *feeder, const GjPlan *plan, MemoryContext context)
{
	*feeder = (GjFeeder)
	{
		.plan = plan,
			.inputs = palloc0(plan->ninputs * sizeof(PlanState *)),
			.page_feeds = palloc0(plan->ninputs * sizeof(GjPageFeed *)),
			.kept_feeds = palloc0(plan->ninputs * sizeof(GjKeptFeed *)),
			.parts = palloc0(plan->ninputs * sizeof(GjParts *)),
			.kept = palloc0(plan->ninputs * sizeof(GjKept *)),
			.blocks = palloc0(plan->ninputs * sizeof(GjBlockCounts)),
			.filters = palloc0(Max(1, plan->nfilters) * sizeof(GjKeyFilter)),
			.context = context
	};
}

void
gj_feeder_reset(GjFeeder *feeder)
{
	memset(feeder->parts, 0, feeder->plan->ninputs * sizeof(GjParts *));
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

/* Feeds the parts of an input that are not fed by state. */
static bool
feed_parts(GjFeeder *feeder, int input, const GjParts *parts, GjWriter *writer)
{
	GjTurn		turn = {0};

	if (feeder->kept[input] != NULL && gj_has_others(parts) && !gj_get_filters(feeder, input))
		return false;
	for (int i = 0; i < parts->n; i++)
	{
		const GjPart *part = &parts->parts[i];

		CHECK_FOR_INTERRUPTS();
		if (part->by_state || !gj_part_is_mine(feeder, input, part, &turn))
			continue;
		if (!(part->paged ? gj_feed_page(feeder, input, part, writer) :
			  gj_feed_child(feeder, input, part->child, writer)))
			return false;
	}
	return true;
}

/* The same for all parts.  Counts their rows for EXPLAIN ANALYZE where an Append would. */
static bool
feed_all_parts(GjFeeder *feeder, int input, const GjParts *parts, GjWriter *writer)
{
	GjInstrumentation *instrument = parts->append != NULL ? parts->append->ps.instrument : NULL;
	bool		ok;

	if (instrument != NULL)
		InstrStartNode(instrument);
	ok = (feeder->kept[input] == NULL || gj_feed_kept(feeder, input, writer)) &&
		feed_parts(feeder, input, parts, writer);
	if (instrument != NULL)
		InstrStopNode(instrument, ok ? gj_writer_rows(writer) : 0);
	return ok;
}

static bool
feed_input(GjFeeder *feeder, int input, MemoryContext scratch,
		   uint64 *rows, uint64 *bytes)
{
	const GjPlan *plan = feeder->plan;
	GjLink	   *link = feeder->link;
	bool		shared = feeder->shared != NULL && plan->inputs[input].partial;
	MemoryContext old;
	GjParts    *parts;
	GjWriter	writer;
	bool		ok;

	old = MemoryContextSwitchTo(feeder->run_context);
	parts = gj_parts(feeder, input);
	MemoryContextSwitchTo(old);
	if (feeder->shared != NULL && feeder->shared->kept[input] && feeder->kept[input] == NULL &&
		!gj_kept_get(feeder, input))
		return false;
	if (feeder->kept[input] == NULL)	/* gj_feed_kept() asks for filters if they are worth it */
	{
		if (!gj_get_filters(feeder, input))
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
	ok = feed_all_parts(feeder, input, parts, &writer);

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

		if (plan->inputs[input].feed != GJ_FEED_MIRROR &&
			(shared == NULL || plan->inputs[input].partial || gj_shared_elect(shared, input)) &&
			!feed_input(feeder, input, scratch, &rows, &bytes))
			return false;
		if (!gj_key_filters_fed(link, plan, input))
			return false;
	}
	if (!gj_chain_finish(&link->extents, &feeder->chain, link->participant))
		return false;
	return gj_link_fed(link, rows, bytes, gj_now_us() - start);
}
