/*
 * plan/input/subquery.c - subqueries of which two plans are made.
 *
 * Our node has a subquery as a feed and in its native child, and
 * set_plan_references visits both.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "plan/input/input.h"

/* ---- the plans of CTEs ---- */

/* Returns NULL if the CTE has no plan yet. */
static PlannerInfo *
level_of(PlannerInfo *root, const RangeTblEntry *rte)
{
	int			n = 0;
	int			plan_id = 0;
	ListCell   *lc;

	/* the plan of the working table is not made yet */
	if (rte->self_reference)
		return NULL;
	for (Index level = 0; level < rte->ctelevelsup && root != NULL; level++)
		root = root->parent_root;
	if (root == NULL)
		return NULL;
	foreach(lc, root->parse->cteList)
	{
		if (strcmp(lfirst_node(CommonTableExpr, lc)->ctename, rte->ctename) == 0)
			break;
		n++;
	}
	if (n < list_length(root->cte_plan_ids))
		plan_id = list_nth_int(root->cte_plan_ids, n);
	return plan_id > 0 ? list_nth(root->glob->subroots, plan_id - 1) : NULL;
}

const Path *
gj_cte_path(PlannerInfo *root, const RangeTblEntry *rte, PlannerInfo **level)
{
	*level = level_of(root, rte);
	if (*level == NULL)
		return NULL;
	return fetch_upper_rel(*level, UPPERREL_FINAL, NULL)->cheapest_total_path;
}

/* ---- subquery ---- */

static bool runs_workers(const PlannerGlobal *glob, const Plan *plan);

static bool
any_runs_workers(const PlannerGlobal *glob, const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (runs_workers(glob, lfirst(lc)))
			return true;
	return false;
}

/* Does the plan of a CTE, or of one that it contains, have workers? */
static bool
runs_workers(const PlannerGlobal *glob, const Plan *plan)
{
	ListCell   *lc;

	if (plan == NULL)
		return false;
	foreach(lc, plan->initPlan)
		if (runs_workers(glob, list_nth(glob->subplans, lfirst_node(SubPlan, lc)->plan_id - 1)))
			return true;
	switch (nodeTag(plan))
	{
		case T_Gather:
		case T_GatherMerge:
			return true;
		case T_Append:
			return any_runs_workers(glob, ((const Append *) plan)->appendplans);
		case T_MergeAppend:
			return any_runs_workers(glob, ((const MergeAppend *) plan)->mergeplans);
		case T_SubqueryScan:
			return runs_workers(glob, ((const SubqueryScan *) plan)->subplan);
		case T_CustomScan:
			return any_runs_workers(glob, ((const CustomScan *) plan)->custom_plans);
		default:
			return runs_workers(glob, outerPlan(plan)) || runs_workers(glob, innerPlan(plan));
	}
}

/*
 * The end of one plan of the subquery, or a LIMIT in it, ends the workers of
 * the subquery's own CTEs, of which the other plan may have to read more rows.
 */
static bool
has_parallel_cte(const PlannerInfo *subroot)
{
	ListCell   *lc;

	foreach(lc, subroot->cte_plan_ids)
		if (lfirst_int(lc) > 0 &&
			runs_workers(subroot->glob, list_nth(subroot->glob->subplans, lfirst_int(lc) - 1)))
			return true;
	return false;
}

/*
 * Both plans share the query level's init plans, CTEs and other subplans, as
 * the scans of one CTE or the copies of a condition on several partitions do
 * in core: an init plan stores its result once, every scan of a CTE has a read
 * pointer of its own, and other subplans start anew for each row.  But core
 * drops the unused one of alternative subplans after the first visit.
 */
bool
gj_planned_twice_safely(PlannerInfo *subroot)
{
	if (subroot->rowMarks != NIL || subroot->hasRecursion || subroot->hasAlternativeSubPlans ||
		has_parallel_cte(subroot))
		return false;
	for (int i = 1; i < subroot->simple_rel_array_size; i++)
	{
		const RangeTblEntry *rte = subroot->simple_rte_array[i];
		const RelOptInfo *rel = subroot->simple_rel_array[i];

		if (rte == NULL || rel == NULL)
			continue;
		if (rte->rtekind == RTE_CTE && rte->self_reference)
			return false;
		if (rel->subroot != NULL && !gj_planned_twice_safely(rel->subroot))
			return false;
	}
	return true;
}

/*
 * set_plan_references shifts the AppendRelInfos of a query level in place, so
 * a second visit would shift them again.  Only EXPLAIN reads them afterwards,
 * to show a column of a partition as that of its table, and it can do without.
 */
static void
forget_partitions(PlannerInfo *subroot)
{
	subroot->append_rel_list = NIL;
	for (int i = 1; i < subroot->simple_rel_array_size; i++)
		if (subroot->simple_rel_array[i] != NULL &&
			subroot->simple_rel_array[i]->subroot != NULL)
			forget_partitions(subroot->simple_rel_array[i]->subroot);
}

void
gj_planned_twice(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (rel->subroot != NULL)
		forget_partitions(rel->subroot);
	if (!root->simple_rte_array[rel->relid]->inh)
		return;
	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *member = lfirst_node(AppendRelInfo, lc);

		if (member->parent_relid == rel->relid &&
			root->simple_rel_array[member->child_relid] != NULL)
			gj_planned_twice(root, root->simple_rel_array[member->child_relid]);
	}
}
