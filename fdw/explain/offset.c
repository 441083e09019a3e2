/*
 * explain/offset.c - how set_plan_references has numbered a job's relations.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "explain/explain.h"

/*
 * The range table entry that a feed's plan scans, as set_plan_references
 * numbers it, or 0.  That of a partitioned table belongs to the Append.
 */
static int
scanned_relation(const Plan *plan)
{
	Bitmapset  *parents;

	for (; plan != NULL; plan = outerPlan(plan))
		switch (nodeTag(plan))
		{
			case T_SeqScan:
			case T_IndexScan:
			case T_IndexOnlyScan:
			case T_BitmapHeapScan:
			case T_TidScan:
			case T_TidRangeScan:
			case T_SubqueryScan:
			case T_ForeignScan:
				return ((const Scan *) plan)->scanrelid;
			case T_Append:
			case T_MergeAppend:
				parents = IsA(plan, Append) ? ((const Append *) plan)->apprelids :
					((const MergeAppend *) plan)->apprelids;
				return Max(bms_next_member(parents, -1), 0);
			default:
				break;
		}
	return 0;
}

/*
 * A node of an upper relation has no relids: then a column that it aggregates
 * tells, or a feed's plan.  core removes trivial scans of subqueries, so that
 * all inputs may lack one of their own.
 */
bool
gj_explain_offset(const CustomScan *scan, const GjPlan *plan, int *offset)
{
	List	   *vars;

	*offset = 0;
	if (!bms_is_empty(scan->custom_relids))
	{
		*offset = bms_next_member(scan->custom_relids, -1) - plan->first_relid;
		return true;
	}
	if (plan->first_relid == GJ_NOT_SHIFTED)
		return true;
	vars = pull_var_clause((Node *) scan->custom_scan_tlist, PVC_RECURSE_AGGREGATES);
	if (vars != NIL)
	{
		*offset = linitial_node(Var, vars)->varno - plan->first_relid;
		return true;
	}
	for (int i = 0; i < plan->ninputs; i++)
	{
		int			rti = scanned_relation(list_nth(scan->custom_plans, i));

		if (rti > 0 && OidIsValid(plan->inputs[i].relid))
		{
			*offset = rti - (int) plan->inputs[i].rti;
			return true;
		}
	}
	return false;
}
