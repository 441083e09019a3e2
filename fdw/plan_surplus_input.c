/*
 * plan_surplus_input.c - rows of subqueries and CTEs that core underestimates.
 *
 * Joins in a subquery or CTE may be underestimated, and then so are its rows,
 * and those of the joins above that read them.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "plan_surplus.h"
#include "plan_surplus_input.h"
#include "plan_time.h"

/* The query level that defines the CTE, and the level of the CTE itself. */
static PlannerInfo *
cte_root(PlannerInfo *root, const RangeTblEntry *rte)
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

/* Of the rows that the CTE's plan returns. */
static double
cte_surplus(PlannerInfo *root, const RangeTblEntry *rte)
{
	PlannerInfo *subroot = cte_root(root, rte);
	RelOptInfo *final;
	GjTime		time;

	if (subroot == NULL)
		return 1;
	final = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL);
	if (final->cheapest_total_path == NULL)
		return 1;
	(void) gj_path_ns(subroot, final->cheapest_total_path, &time);
	return time.surplus;
}

double
gj_rel_surplus(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjBase	   *base = gj_base_slot(rel);
	GjTime		time;

	if (!gj_estimate_native || base == NULL || rel->pathlist == NIL ||
		(rte->rtekind != RTE_SUBQUERY && rte->rtekind != RTE_CTE))
		return gj_scan_surplus(root, rel);
	if (base->surplus == 0)
	{
		if (rte->rtekind == RTE_CTE)
			time.surplus = cte_surplus(root, rte) * gj_scan_surplus(root, rel);
		else
			(void) gj_path_ns(root, linitial(rel->pathlist), &time);
		base->surplus = Max(1, time.surplus);
	}
	return base->surplus;
}
