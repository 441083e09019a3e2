/*
 * exec/node.c - the executor methods of the OffloadJoin and the OffloadBlock node.
 *
 * A scan of the node decides once, before its first row, whether the daemon or
 * the native child delivers the rows.  Until then, any failure of the daemon
 * selects the native child.  After the first row a failure is an error,
 * because the rows that are still missing cannot be determined.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "daemon/status.h"
#include "exec/node.h"
#include "options.h"

static void begin(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec(CustomScanState *css);
static void end(CustomScanState *css);
static void rescan(CustomScanState *css);
static void shutdown_node(CustomScanState *css);
static void explain(CustomScanState *css, List *ancestors, ExplainState *es);

CustomScanMethods gj_scan_methods = {
	.CustomName = "OffloadJoin",
	.CreateCustomScanState = gj_create_state,
};

CustomScanMethods gj_feed_methods = {
	.CustomName = "OffloadFeed",
	.CreateCustomScanState = gj_create_state,
};

#define EXEC_METHODS(name) { \
	.CustomName = name, \
	.BeginCustomScan = begin, \
	.ExecCustomScan = exec, \
	.EndCustomScan = end, \
	.ReScanCustomScan = rescan, \
	.EstimateDSMCustomScan = gj_estimate_dsm, \
	.InitializeDSMCustomScan = gj_initialize_dsm, \
	.ReInitializeDSMCustomScan = gj_reinitialize_dsm, \
	.InitializeWorkerCustomScan = gj_initialize_worker, \
	.ShutdownCustomScan = shutdown_node, \
	.ExplainCustomScan = explain, \
}

static const CustomExecMethods join_methods = EXEC_METHODS("OffloadJoin");
static const CustomExecMethods block_methods = EXEC_METHODS("OffloadBlock");
static const CustomExecMethods feed_methods = EXEC_METHODS("OffloadFeed");

Node *
gj_create_state(CustomScan *scan)
{
	GjState    *state = (GjState *) newNode(sizeof(GjState), T_CustomScanState);

	state->plan = gj_plan_read(scan);
	state->css.methods = state->plan->aggregate == NULL ? &join_methods :
		state->plan->has_native ? &block_methods : &feed_methods;
	return (Node *) state;
}

/*
 * Callback: the query's memory context is reset, at its end or after an error.
 */
static void
release(void *arg)
{
	gj_link_close(&((GjState *) arg)->link);
}

static void
begin(CustomScanState *css, EState *estate, int eflags)
{
	GjState    *state = (GjState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	int			ninputs = state->plan->ninputs;
	int			nchildren = ninputs + state->plan->has_native;

	if (state->plan->has_native)
	{
		scan = gj_with_shared_scans(scan, list_nth(scan->custom_plans, ninputs));
		css->ss.ps.plan = &scan->scan.plan;
	}
	gj_link_init(&state->link, NULL);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		state->statement = gj_statement(estate);
	state->release.func = release;
	state->release.arg = state;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &state->release);
	state->algorithm = gj_algorithm;
	state->rescan.forced = state->plan->forced;
	state->may_rewind = (eflags & EXEC_FLAG_REWIND) != 0;
	state->run_context = AllocSetContextCreate(estate->es_query_cxt, "OffloadJoin",
											   ALLOCSET_DEFAULT_SIZES);

	gj_prepare_parameters(&state->values, state->plan, &state->css.ss.ps);
	state->raw_values = palloc0(Max(1, state->plan->noutputs) * sizeof(Datum));
	state->raw_nulls = palloc0(Max(1, state->plan->noutputs) * sizeof(bool));
	state->pins = palloc0(Max(1, ninputs) * sizeof(GjPin *));
	gj_feeder_init(&state->feeder, state->plan, estate->es_query_cxt);
	state->report.blocks = state->feeder.blocks;
	state->report.pins = state->pins;
	for (int i = 0; i < nchildren; i++)
	{
		PlanState  *child;

		/* EXPLAIN without ANALYZE shows one plan, not two */
		if (i == ninputs && state->plan->defect == NULL && (eflags & EXEC_FLAG_EXPLAIN_ONLY))
			break;
		child = ExecInitNode(list_nth(scan->custom_plans, i), estate, eflags);
		css->custom_ps = lappend(css->custom_ps, child);
		if (i < ninputs)
			state->feeder.inputs[i] = child;
		else
			state->native = child;
	}
}

/*
 * Switches this scan to the native child, and records the reason.  Inputs that
 * were fed in part release their resources first, above all parallel workers,
 * which the native child may need.
 */
static void
go_native(GjState *state, const char *reason)
{
	if (reason != NULL)
		strlcpy(state->report.fallback, reason, sizeof(state->report.fallback));
	/* without a native child, the node above runs the native plan */
	state->mode = state->plan->has_native ? GJ_MODE_NATIVE : GJ_MODE_DONE;
	state->gave_up = true;
	gj_link_close(&state->link);
	if (state->shared == NULL)
		for (int i = 0; i < state->plan->ninputs; i++)
			gj_shut_down(state->feeder.inputs[i]);
}

/* go_native() because of a failure, which the server's log shows. */
static void
fall_back(GjState *state, const char *reason, GjFault fault)
{
	gj_rescan_drop(&state->rescan);
	gj_log_fallback(state, reason);
	gj_count_fallback(state, fault);
	go_native(state, reason);
}

/* Runs the join of a job whose rows are fed, up to its first row. */
static bool
run_join(GjState *state)
{
	uint64		since_us = gj_now_us();
	bool		ok = gj_link_run(&state->link);

	state->joined_us = gj_now_us() - since_us;
	return ok;
}

/* Runs a whole job, up to its first row. */
static bool
run_job(GjState *state)
{
	GjLink	   *link = &state->link;
	const char *unfit;
	GjRuntime	runtime = {.algorithm = state->algorithm};
	uint64		since_us = gj_now_us();

	if (!gj_enabled)
		return gj_fail(&link->conn, "gpujoin.enabled is off");
	if (state->feeder.unfit != NULL)
		return gj_fail(&link->conn, "%s", state->feeder.unfit);
	unfit = gj_evaluate_parameters(&state->values, state->plan, &state->css.ss.ps);
	if (unfit != NULL)
		return gj_fail(&link->conn, "%s", unfit);
	runtime.parameters = state->values.json.data;
	runtime.tokens = gj_pin_mirrors(state);
	if (!gj_link_connect(link, gj_socket) ||
		!gj_link_open(link, state->plan, &runtime, 1, state->may_rewind) ||
		!gj_kept_open(&state->feeder, link, NULL, state->run_context) ||
		!gj_feed(&state->feeder, link, NULL, state->run_context))
		return false;
	state->fed_us = gj_now_us() - since_us;
	return run_join(state);
}

/* Chooses the source of this scan's rows. */
static void
start(GjState *state)
{
	GjLink	   *link = &state->link;
	MemoryContext old;
	double		bytes = gj_feed_bytes(state->plan);
	uint64		since_us = gj_now_us();

	state->executed = true;
	if (!state->rewind)
		gj_report_forget(state);
	if (state->css.ss.ps.state->es_epq_active != NULL)
	{
		go_native(state, NULL);
		return;
	}
	if (state->shared != NULL)
	{
		gj_parallel_start(state);	/* the leader counts when the scan ends */
		if (state->mode == GJ_MODE_NATIVE)
			go_native(state, NULL);
		return;
	}

	gj_statement_called(state->statement);
	if (state->plan->defect != NULL)
	{
		fall_back(state, state->plan->defect, GJ_FAULT_NONE);
		return;
	}
	if (!state->rewind && !gj_verify && state->plan->has_native)
	{
		bool		native = gj_rescan_native(&state->rescan);

		gj_rescan_begin(&state->rescan, native);
		if (native)
		{
			go_native(state, "the native plan takes less time for repeated scans");
			return;
		}
	}
	if (!state->rewind)
	{
		GjFault		fault;
		const char *reason = gj_breaker_reason(gj_socket, bytes, &fault);

		if (reason != NULL && gj_enabled)
		{
			fall_back(state, reason, fault);
			return;
		}
		gj_prepare_run(state);
	}
	old = MemoryContextSwitchTo(state->run_context);
	if (state->rewind)
		state->fed_us = 0;
	if (state->rewind ? run_join(state) : run_job(state))
	{
		if (!state->rewind)
			gj_reader_init(&state->reader, link, state->plan);
		if (gj_reader_start(&state->reader))
			state->mode = GJ_MODE_OFFLOAD;
	}
	state->rewind = false;
	MemoryContextSwitchTo(old);

	if (state->mode != GJ_MODE_OFFLOAD)
	{
		gj_breaker_failed(gj_socket, bytes, link->conn.fault, gj_now_us() - since_us,
						  link->conn.failure);
		fall_back(state, link->conn.failure, link->conn.fault);
		return;
	}
	gj_breaker_succeeded(gj_socket, bytes);
	gj_count_job(state);
	if (gj_verify)
		gj_verify_run(state);
}

/* Reports that the daemon failed after it had promised rows. */
static void
lost(GjState *state)
{
	GjConnection *conn = &state->link.conn;

	if (state->shared == NULL && !state->returned_row)
	{
		fall_back(state, conn->failure, conn->fault);
		return;
	}
	gj_link_close(&state->link);
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("join daemon failed while returning rows"),
			 gj_failure_detail(conn),
			 errhint("Run the query again. It uses the native plan while the daemon is not running.")));
}

static TupleTableSlot *
next(CustomScanState *css)
{
	GjState    *state = (GjState *) css;
	ExprContext *econtext = css->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = css->ss.ss_ScanTupleSlot;
	bool		found = false;

	ResetExprContext(econtext);
	while (!found)
	{
		switch (state->mode)
		{
			case GJ_MODE_START:
				start(state);
				break;
			case GJ_MODE_OFFLOAD:
				switch (gj_offload_next(state))
				{
					case GJ_READ_ROW:
						found = true;
						break;
					case GJ_READ_END:
						state->mode = GJ_MODE_DONE;
						gj_count_returned(state);
						if (state->shared != NULL)
							gj_shared_ended(state->shared);
						gj_finish_job(state);
						break;
					case GJ_READ_FAILED:
						lost(state);
						break;
				}
				break;
			case GJ_MODE_NATIVE:
				if (gj_native_next(state))
					found = true;
				else
					state->mode = GJ_MODE_DONE;
				break;
			case GJ_MODE_VERIFIED:
				if (tuplestore_gettupleslot(state->verified, true, false,
											state->verified_slot))
				{
					ExecCopySlot(gj_native_slot(state), state->verified_slot);
					found = true;
				}
				else
					state->mode = GJ_MODE_DONE;
				break;
			case GJ_MODE_DONE:
				ExecClearTuple(slot);
				return NULL;
		}
	}
	state->returned_row = true;
	if (state->plan->aggregate != NULL &&
		(state->mode == GJ_MODE_NATIVE || state->mode == GJ_MODE_VERIFIED))
		return gj_native_slot(state);
	if (css->ss.ps.ps_ProjInfo == NULL)
		return slot;
	econtext->ecxt_scantuple = slot;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

static TupleTableSlot *
exec(CustomScanState *css)
{
	GjState    *state = (GjState *) css;
	TupleTableSlot *slot;
	uint64		since_us;

	if (state->mode != GJ_MODE_START && state->rescan.current == NULL)
		return next(css);
	since_us = gj_now_us();
	slot = next(css);
	gj_rescan_spend(&state->rescan, gj_now_us() - since_us);
	if (slot == NULL)
		gj_rescan_end(&state->rescan);
	return slot;
}

static void
end(CustomScanState *css)
{
	GjState    *state = (GjState *) css;
	ListCell   *lc;

	gj_count_returned(state);
	gj_link_close(&state->link);
	if (state->verified != NULL)
		tuplestore_end(state->verified);
	state->verified = NULL;
	foreach(lc, css->custom_ps)
		ExecEndNode(lfirst(lc));
}

/* Can the job of the scan that ends also serve the next one? */
static bool
can_rewind(GjState *state)
{
	if (state->shared != NULL || !state->link.rewindable || !state->link.admitted ||
		state->link.generation == 0 || state->css.ss.ps.chgParam != NULL ||
		(state->mode != GJ_MODE_OFFLOAD && state->mode != GJ_MODE_DONE))
		return false;
	for (int i = 0; i < state->plan->ninputs; i++)
		if (state->feeder.inputs[i]->chgParam != NULL)
			return false;
	return gj_reader_report(&state->reader) && gj_reader_stop(&state->reader);
}

static void
rescan(CustomScanState *css)
{
	GjState    *state = (GjState *) css;
	ListCell   *lc;

	ExecScanReScan(&css->ss);
	gj_rescan_end(&state->rescan);
	gj_count_returned(state);
	state->rewind = can_rewind(state);
	if (!state->rewind)
		gj_link_close(&state->link);
	if (state->verified != NULL)
		tuplestore_end(state->verified);
	state->verified = NULL;
	state->mode = GJ_MODE_START;
	state->returned_row = false;
	state->gave_up = false;
	foreach(lc, css->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

/*
 * A parallel plan fetches no more rows after this.  A serial one may: a cursor
 * without SCROLL continues to fetch.
 */
static void
shutdown_node(CustomScanState *css)
{
	GjState    *state = (GjState *) css;

	gj_report_fetch(state);
	if (state->shared != NULL)
		gj_parallel_shutdown(state);
}

static void
explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GjState    *state = (GjState *) css;

	gj_explain(css, state->plan, state->algorithm,
			   es->analyze && state->executed ? &state->report : NULL, ancestors, es);
}
