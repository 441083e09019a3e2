/*
 * plan/native/check.c - checks that a native plan needs no daemon.
 */
#include "postgres.h"

#include "plan/defect.h"
#include "plan/native/check.h"

static void
check_plan_list(const List *plans, const char **defect)
{
	ListCell   *lc;

	foreach(lc, plans)
		gj_check_native_plan(lfirst(lc), defect);
}

static bool
is_ours(const CustomScanMethods *methods)
{
	return methods == &gj_scan_methods || methods == &gj_block_methods ||
		methods == &gj_feed_methods;
}

void
gj_check_native_plan(const Plan *plan, const char **defect)
{
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (is_ours(((const CustomScan *) plan)->methods))
				gj_note_defect(defect, "the native plan needs the daemon");
			check_plan_list(((const CustomScan *) plan)->custom_plans, defect);
			break;
		case T_Append:
			check_plan_list(((const Append *) plan)->appendplans, defect);
			break;
		case T_MergeAppend:
			check_plan_list(((const MergeAppend *) plan)->mergeplans, defect);
			break;
		case T_SubqueryScan:
			gj_check_native_plan(((const SubqueryScan *) plan)->subplan, defect);
			break;
		default:
			break;
	}
	gj_check_native_plan(outerPlan(plan), defect);
	gj_check_native_plan(innerPlan(plan), defect);
}
