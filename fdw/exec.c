/*
 * exec.c - the GpuJoin node as the executor sees it.
 *
 * The node decides once per scan, before it returns a row, whether the daemon
 * or the native child delivers the rows.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"

#include "exec.h"

static Node *create_state(CustomScan *scan);
static void begin(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec(CustomScanState *css);
static void end(CustomScanState *css);
static void rescan(CustomScanState *css);

CustomScanMethods gj_scan_methods = {
	.CustomName = "GpuJoin",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "GpuJoin",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
};

static Node *
create_state(CustomScan *scan)
{
	GjState    *state = (GjState *) newNode(sizeof(GjState), T_CustomScanState);

	state->css.methods = &exec_methods;
	state->plan = gj_plan_read(scan);
	return (Node *) state;
}

static void
begin(CustomScanState *css, EState *estate, int eflags)
{
	GjState    *state = (GjState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	ListCell   *lc;
	int			i = 0;

	if (list_length(scan->custom_plans) != state->plan->ninputs + 1)
		elog(ERROR, "GpuJoin has %d children for %d inputs",
			 list_length(scan->custom_plans), state->plan->ninputs);
	state->inputs = palloc0(state->plan->ninputs * sizeof(PlanState *));
	foreach(lc, scan->custom_plans)
	{
		PlanState  *child = ExecInitNode(lfirst(lc), estate, eflags);

		css->custom_ps = lappend(css->custom_ps, child);
		if (i < state->plan->ninputs)
			state->inputs[i++] = child;
		else
			state->native = child;
	}
}

/* The native child's next row, in this node's scan slot. */
static TupleTableSlot *
native_next(GjState *state)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	TupleTableSlot *row = ExecProcNode(state->native);
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	if (TupIsNull(row))
		return slot;
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	return ExecStoreVirtualTuple(slot);
}

static TupleTableSlot *
exec(CustomScanState *css)
{
	GjState    *state = (GjState *) css;
	ExprContext *econtext = css->ss.ps.ps_ExprContext;
	TupleTableSlot *slot;

	ResetExprContext(econtext);
	slot = native_next(state);
	if (TupIsNull(slot) || css->ss.ps.ps_ProjInfo == NULL)
		return slot;
	econtext->ecxt_scantuple = slot;
	return ExecProject(css->ss.ps.ps_ProjInfo);
}

static void
end(CustomScanState *css)
{
	ListCell   *lc;

	foreach(lc, css->custom_ps)
		ExecEndNode(lfirst(lc));
}

static void
rescan(CustomScanState *css)
{
	ListCell   *lc;

	ExecScanReScan(&css->ss);
	foreach(lc, css->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}
