/*
 * exec/counts.c - counts what a node did, for the statistics of its statement.
 */
#include "postgres.h"

#include "exec/node.h"
#include "options.h"

static GjWhyNative
why_of(GjFault fault)
{
	switch (fault)
	{
		case GJ_FAULT_SILENT:
			return GJ_WHY_SILENT;
		case GJ_FAULT_BUSY:
			return GJ_WHY_BUSY;
		case GJ_FAULT_FAILING:
		case GJ_FAULT_SOURCE:
			return GJ_WHY_FAILED;
		default:
			return GJ_WHY_UNSUITABLE;
	}
}

void
gj_count_fallback(GjState *state, GjFault fault)
{
	/* with gpujoin.enabled off, the user wishes so */
	if (state->statement != NULL && gj_enabled)
		state->statement->counts.native[why_of(fault)]++;
}

void
gj_count_job(GjState *state)
{
	gj_statement_offloaded(state->statement, state->fed_us, state->joined_us, state->plan->native_ns);
	state->returning_us = gj_now_us();
}

void
gj_count_returned(GjState *state)
{
	if (state->returning_us != 0 && state->statement != NULL)
		state->statement->counts.return_us += gj_now_us() - state->returning_us;
	state->returning_us = 0;
}

void
gj_count_parallel(GjState *state)
{
	GjShared   *shared = state->shared;

	if (gj_shared_outcome(shared) == GJ_OUTCOME_OPEN)
		return;					/* the node did not run */
	gj_statement_called(state->statement);
	if (gj_shared_outcome(shared) == GJ_OUTCOME_NATIVE)
	{
		gj_count_fallback(state, shared->fault);
		return;
	}
	gj_statement_offloaded(state->statement, shared->fed_us, shared->joined_us, state->plan->native_ns);
	state->returning_us = shared->returning_us;
	gj_count_returned(state);
}
