/*
 * foreign/scan.c - the executor's side of a ForeignScan of gpujoin_fdw.
 *
 * Nothing is asked before the first row is wanted: a scan may be part of a plan
 * that is only explained, or of a branch that does not run.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "foreign/scan.h"
#include "foreign/versions.h"
#include "foreign/wrapper.h"

Oid
gj_scan_user(const ForeignScan *scan, EState *estate)
{
	Oid			userid = gj_checked_as(scan, estate);

	return OidIsValid(userid) ? userid : GetUserId();
}

/* Callback: the query's memory context is reset, at its end or after an error. */
static void
release(void *arg)
{
	gj_link_close(&((GjScanState *) arg)->link);
}

void
gj_foreign_begin(ForeignScanState *node, int eflags)
{
	const ForeignScan *scan = (const ForeignScan *) node->ss.ps.plan;
	EState	   *estate = node->ss.ps.state;
	GjScanState *state = palloc0(sizeof(GjScanState));

	node->fdw_state = state;
	state->plan = gj_plan_read_lists(scan->fdw_private);
	state->plan->parameter_exprs = scan->fdw_exprs;
	state->relid = RelationGetRelid(node->ss.ss_currentRelation);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	gj_link_init(&state->link, NULL);
	state->release.func = release;
	state->release.arg = state;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &state->release);
	state->run_context = AllocSetContextCreate(estate->es_query_cxt, "gpujoin foreign scan",
											   ALLOCSET_DEFAULT_SIZES);

	/* core does not say that a subquery will run for each row of an outer query */
	state->rewindable = (eflags & EXEC_FLAG_REWIND) || !bms_is_empty(scan->scan.plan.allParam);
	gj_prepare_parameters(&state->values, state->plan, &node->ss.ps);
}

/* The columns of the plan's rows, and those that its conditions read. */
static Bitmapset *
columns_with_conditions(const GjPlan *plan, const ForeignScan *scan)
{
	Bitmapset  *attnums = NULL;

	for (int i = 0; i < plan->inputs[0].ncolumns; i++)
		attnums = bms_add_member(attnums, plan->inputs[0].columns[i].attnum -
								 FirstLowInvalidHeapAttributeNumber);
	pull_varattnos((Node *) scan->fdw_recheck_quals, scan->scan.scanrelid, &attnums);
	return attnums;
}

/*
 * The job of this scan.  The daemon cannot take every value of a parameter: then the
 * conditions are evaluated here.
 */
static const GjPlan *
choose_job(ForeignScanState *node, GjScanState *state)
{
	const ForeignScan *scan = (const ForeignScan *) node->ss.ps.plan;
	MemoryContext old;

	if (gj_evaluate_parameters(&state->values, state->plan, &node->ss.ps) == NULL)
		return state->plan;
	resetStringInfo(&state->values.json);
	if (state->unconditional == NULL)
	{
		old = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
		state->unconditional = gj_plan_of_columns(state->relid, state->plan->inputs[0].mirror->userid,
												  columns_with_conditions(state->plan, scan));
		MemoryContextSwitchTo(old);
	}
	return state->unconditional;
}

/* Lets the job of the last scan run again, or another one for the first time. */
static void
start(ForeignScanState *node, GjScanState *state)
{
	const GjPlan *job;
	MemoryContext old;

	if (state->pin == NULL)
		state->pin = gj_pin(node->ss.ps.state, state->plan->inputs[0].mirror->serverid,
							gj_scan_user((const ForeignScan *) node->ss.ps.plan, node->ss.ps.state));
	job = choose_job(node, state);
	if (state->rewound && state->job == job && strcmp(state->parameters, state->values.json.data) == 0)
	{
		if (!gj_link_run(&state->link))
			gj_scan_failed(&state->link.conn, state->relid);
	}
	else
	{
		gj_link_close(&state->link);
		MemoryContextReset(state->run_context);
		gj_link_init(&state->link, state->run_context);
		old = MemoryContextSwitchTo(state->run_context);
		gj_scan_open(&state->link, job, state->pin, state->values.json.data, 0, state->rewindable);
		state->job = job;
		state->parameters = pstrdup(state->values.json.data);
		gj_table_reader_init(&state->reader, &state->link, job,
							 RelationGetDescr(node->ss.ss_currentRelation));
		MemoryContextSwitchTo(old);
	}
	state->rewound = false;
	if (!gj_reader_start(&state->reader.reader))
		gj_scan_failed(&state->link.conn, state->relid);
	state->running = true;
}

/* All rows have been read.  Ends a job that will not run again. */
static void
finish(ForeignScanState *node, GjScanState *state)
{
	GjConnection *conn = &state->link.conn;
	GjStats		stats;

	state->ended = true;
	if (node->ss.ps.instrument != NULL && gj_receive_stats(&state->link, NULL) &&
		gj_stats_read(&stats, conn->body, conn->frame.length))
	{
		state->have_stats = true;
		state->rows_removed += (double) stats.total->rows_in - (double) stats.total->rows_out;
	}
	if (!state->rewindable)
		gj_link_close(&state->link);
}

TupleTableSlot *
gj_foreign_iterate(ForeignScanState *node)
{
	GjScanState *state = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *econtext = node->ss.ps.ps_ExprContext;

	if (!state->running)
		start(node, state);
	while (!state->ended)
	{
		CHECK_FOR_INTERRUPTS();
		ExecClearTuple(slot);
		switch (gj_table_reader_next(&state->reader, slot->tts_tupleDescriptor,
									 slot->tts_values, slot->tts_isnull))
		{
			case GJ_READ_ROW:
				ExecStoreVirtualTuple(slot);
				if (state->job == state->plan)
					return slot;
				econtext->ecxt_scantuple = slot;
				if (ExecQual(node->fdw_recheck_quals, econtext))
					return slot;
				state->rows_removed++;
				ResetExprContext(econtext);
				break;
			case GJ_READ_END:
				finish(node, state);
				break;
			case GJ_READ_FAILED:
				gj_scan_failed(&state->link.conn, state->relid);
		}
	}
	return ExecClearTuple(slot);
}

void
gj_foreign_rescan(ForeignScanState *node)
{
	GjScanState *state = node->fdw_state;

	if (!state->running)
		return;
	state->rewound = state->link.rewindable && state->link.admitted &&
		gj_reader_report(&state->reader.reader) && gj_reader_stop(&state->reader.reader);
	if (!state->rewound)
		gj_link_close(&state->link);
	state->running = state->ended = false;
}

void
gj_foreign_end(ForeignScanState *node)
{
	GjScanState *state = node->fdw_state;

	if (state != NULL && state->run_context != NULL)
		gj_link_close(&state->link);
}
