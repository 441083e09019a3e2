/*
 * plan_check.c - checks that a native plan needs no daemon.
 */
#include "postgres.h"

#include "plan_check.h"

static void
check_plan_list(const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		gj_check_native_plan(lfirst(lc));
}

static bool
is_ours(const CustomScanMethods *methods)
{
	return methods == &gj_scan_methods || methods == &gj_block_methods ||
		methods == &gj_feed_methods;
}

void
gj_check_native_plan(const Plan *plan)
{
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (is_ours(((const CustomScan *) plan)->methods))
				elog(ERROR, "native child of a GpuJoin contains a GpuJoin");
			check_plan_list(((const CustomScan *) plan)->custom_plans);
			break;
		case T_Append:
			check_plan_list(((const Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			check_plan_list(((const MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			gj_check_native_plan(((const SubqueryScan *) plan)->subplan);
			break;
		default:
			break;
	}
	gj_check_native_plan(outerPlan(plan));
	gj_check_native_plan(innerPlan(plan));
}
