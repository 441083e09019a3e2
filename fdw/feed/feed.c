/*
 * feed/feed.c - chooses and feeds this participant's inputs, in order.
 *
 * All participants feed in the plan's order.  An input that only one of them
 * can feed goes to the first that gets to it.  This file also accounts for the
 * rows, bytes and time of the feed.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "exec/node.h"

static bool
feed_input(GjState *state, int input, MemoryContext scratch,
		   uint64 *rows, uint64 *bytes)
{
	GjPlan	   *plan = state->plan;
	MemoryContext old;
	bool		shared = state->shared != NULL && plan->inputs[input].partial;
	GjWriter	writer;
	bool		ok;

	if (!gj_key_filters_get(&state->link, plan, input, state->filters))
		return false;
	if (gj_key_filters_drops_all(plan, input, state->filters))
		return gj_key_filters_return(&state->link, plan, input, state->filters);
	gj_writer_init(&writer, &state->link, plan, input,
				   shared ? plan->workers + 1 : 1, scratch);

	/* the child's own allocations must live as long as the child */
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	if (gj_page_feed_possible(state, input))
		ok = gj_feed_page(state, input, &writer);
	else
		ok = gj_feed_child(state, input, &writer);

	/*
	 * A Gather in the child plan releases its workers and its shared memory,
	 * and keeps the statistics that EXPLAIN ANALYZE shows.
	 */
	if (state->shared == NULL)
		(void) ExecShutdownNode(state->inputs[input]);
	MemoryContextSwitchTo(old);
	ok = ok && gj_writer_finish(&writer);
	if (writer.unfit)
		state->unfit = MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt,
										   state->link.conn.failure);
	*rows += writer.total_rows;
	*bytes += writer.total_bytes;
	MemoryContextReset(scratch);
	return ok && gj_key_filters_return(&state->link, plan, input, state->filters);
}

bool
gj_feed(GjState *state)
{
	uint64		start = gj_now_us();
	uint64		rows = 0;
	uint64		bytes = 0;
	MemoryContext scratch = AllocSetContextCreate(state->run_context,
												  "OffloadJoin feed",
												  ALLOCSET_DEFAULT_SIZES);

	state->link.conn.wait_us = 0;
	for (int i = 0; i < state->plan->ninputs; i++)
	{
		int			input = state->plan->order[i];

		if ((state->shared == NULL || state->plan->inputs[input].partial ||
			 gj_shared_elect(state->shared, input)) &&
			!feed_input(state, input, scratch, &rows, &bytes))
			return false;
		if (!gj_key_filters_fed(&state->link, state->plan, input))
			return false;
	}
	if (!gj_chain_finish(&state->link.extents, &state->link.chain,
						 state->link.participant))
		return false;
	return gj_link_fed(&state->link, rows, bytes, gj_now_us() - start);
}
