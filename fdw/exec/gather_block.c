/*
 * exec/gather_block.c - the OffloadBlock node above a Gather of OffloadFeed nodes.
 *
 * It passes on the groups that the Gather's participants have read.  If the
 * participants decided that the daemon cannot deliver them, they return no
 * row, and the native child runs instead.  That is a whole plan, which may
 * have a Gather of its own: so the first one releases its workers before.
 *
 * Also the scans that any of our nodes shares with its native plan.
 */
#include "postgres.h"

#include "executor/executor.h"

#include "compat.h"
#include "exec/node.h"

typedef struct GjBlockState
{
	CustomScanState css;
	PlanState  *gather;
	PlanState  *native;			/* NULL under EXPLAIN without ANALYZE */
	bool		use_native;
	bool		returned_row;	/* in this scan */
} GjBlockState;

static Node *create_state(CustomScan *scan);
static void begin(CustomScanState *css, EState *estate, int eflags);
static TupleTableSlot *exec(CustomScanState *css);
static void end(CustomScanState *css);
static void rescan(CustomScanState *css);
static void explain(CustomScanState *css, List *ancestors, ExplainState *es);

CustomScanMethods gj_block_methods = {
	.CustomName = "OffloadBlock",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "OffloadBlock",
	.BeginCustomScan = begin,
	.ExecCustomScan = exec,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

static Node *
create_state(CustomScan *scan)
{
	GjBlockState *state;

	/* a serial OffloadBlock has a job of its own */
	if (scan->custom_private != NIL)
		return gj_create_state(scan);
	state = (GjBlockState *) newNode(sizeof(GjBlockState), T_CustomScanState);
	state->css.methods = &exec_methods;
	return (Node *) state;
}

/* ---- shared scans ---- */

Index
gj_shared_scan_of(const Plan *input)
{
	const TargetEntry *first;

	/* core's Result for a table that is known to be empty has a condition */
	if (!IsA(input, Result) || outerPlan(input) != NULL || input->targetlist == NIL ||
		((const Result *) input)->resconstantqual != NULL)
		return 0;
	first = linitial_node(TargetEntry, input->targetlist);
	return IsA(first->expr, Var) ? ((const Var *) first->expr)->varno : 0;
}

static Plan *
find_append_in(const List *plans, Index rti)
{
	ListCell   *lc;

	foreach(lc, plans)
	{
		Plan	   *found = gj_find_append(lfirst(lc), rti);

		if (found != NULL)
			return found;
	}
	return NULL;
}

/*
 * Does not look into subqueries: while the plan is made, their relations have
 * numbers of their own, which may be the same.
 */
Plan *
gj_find_append(const Plan *plan, Index rti)
{
	Plan	   *found = NULL;
	int			only;

	if (plan == NULL)
		return NULL;
	switch (nodeTag(plan))
	{
		case T_Append:
			if (bms_get_singleton_member(((const Append *) plan)->apprelids, &only) &&
				only == (int) rti)
				return unconstify(Plan *, plan);
			found = find_append_in(((const Append *) plan)->appendplans, rti);
			break;
		case T_MergeAppend:
			found = find_append_in(((const MergeAppend *) plan)->mergeplans, rti);
			break;
		default:
			break;
	}
	if (found == NULL)
		found = gj_find_append(outerPlan(plan), rti);
	if (found == NULL)
		found = gj_find_append(innerPlan(plan), rti);
	return found;
}

CustomScan *
gj_with_shared_scans(CustomScan *scan, const Plan *native)
{
	CustomScan *filled = scan;
	ListCell   *lc;

	foreach(lc, scan->custom_plans)
	{
		Index		rti = gj_shared_scan_of(lfirst(lc));
		Plan	   *found = rti != 0 ? gj_find_append(native, rti) : NULL;

		if (rti == 0)
			continue;
		if (found == NULL)		/* cannot be: gj_check_shared_scans() has looked */
			elog(ERROR, "the native plan lacks the scan of relation %u", rti);
		if (filled == scan)
		{
			filled = makeNode(CustomScan);
			*filled = *scan;
			filled->custom_plans = list_copy(scan->custom_plans);
		}
		lfirst(list_nth_cell(filled->custom_plans, foreach_current_index(lc))) = found;
	}
	return filled;
}

/* ---- node ---- */

/* The Gather, whose participants get the shared scans with their plan. */
static Plan *
fill_gather(Gather *gather, const Plan *native)
{
	CustomScan *feed = castNode(CustomScan, outerPlan(gather));
	CustomScan *filled = gj_with_shared_scans(feed, native);
	Gather	   *copy;

	if (filled == feed)
		return &gather->plan;
	copy = makeNode(Gather);
	*copy = *gather;
	outerPlan(copy) = &filled->scan.plan;
	return &copy->plan;
}

static void
begin(CustomScanState *css, EState *estate, int eflags)
{
	GjBlockState *state = (GjBlockState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;

	state->gather = ExecInitNode(fill_gather(linitial(scan->custom_plans), lsecond(scan->custom_plans)),
								 estate, eflags);
	css->custom_ps = list_make1(state->gather);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	state->native = ExecInitNode(lsecond(scan->custom_plans), estate, eflags);
	css->custom_ps = lappend(css->custom_ps, state->native);
}

/*
 * The Gather has no more rows.  Has it returned none because its participants
 * gave up?  Those that are workers leave that in shared memory, which the
 * leader's OffloadFeed reads when it is shut down.
 */
static bool
gave_up(GjBlockState *state)
{
	if (state->returned_row)
		return false;
	gj_shut_down(state->gather);
	return ((GjState *) outerPlanState(state->gather))->gave_up;
}

/* Passes on a row of a child, which has the columns of this node. */
static TupleTableSlot *
pass_on(GjBlockState *state, TupleTableSlot *row)
{
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	int			natts = slot->tts_tupleDescriptor->natts;

	state->returned_row = true;
	slot_getallattrs(row);
	ExecClearTuple(slot);
	memcpy(slot->tts_values, row->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, natts * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	if (state->css.ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(econtext);
	econtext->ecxt_scantuple = slot;
	return ExecProject(state->css.ss.ps.ps_ProjInfo);
}

static TupleTableSlot *
exec(CustomScanState *css)
{
	GjBlockState *state = (GjBlockState *) css;
	TupleTableSlot *row;

	if (!state->use_native)
	{
		row = ExecProcNode(state->gather);
		if (!TupIsNull(row))
			return pass_on(state, row);
		if (!gave_up(state))
			return ExecClearTuple(css->ss.ss_ScanTupleSlot);
		state->use_native = true;
	}
	row = ExecProcNode(state->native);
	if (TupIsNull(row))
		return ExecClearTuple(css->ss.ss_ScanTupleSlot);
	return pass_on(state, row);
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
	GjBlockState *state = (GjBlockState *) css;
	ListCell   *lc;

	ExecScanReScan(&css->ss);
	state->use_native = false;
	state->returned_row = false;
	foreach(lc, css->custom_ps)
	{
		PlanState  *child = lfirst(lc);

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(child, css->ss.ps.chgParam);
		if (child->chgParam == NULL)
			ExecReScan(child);
	}
}

static void
explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	if (list_length(css->custom_ps) > 1)
		ExplainPropertyList("Children", list_make2("offloaded plan", "native plan"), es);
}
