/*
 * plan/input/cte.c - the plans of CTEs.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"

#include "plan/input/cte.h"

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
