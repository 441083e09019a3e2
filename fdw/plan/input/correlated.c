/*
 * plan/input/correlated.c - query levels that run again for each row of an outer query.
 *
 * Core replaces the columns of outer levels by parameters, in the expressions
 * of the level that reads them.  That level can be a derived table, a CTE or a
 * subquery in an expression, below the level that is looked at.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "plan/input/input.h"

/* A query level, and the parameters that levels between it and the first one set. */
typedef struct Level
{
	PlannerInfo *root;
	Bitmapset  *set;
} Level;

static bool reads_outer_row(PlannerInfo *root, Bitmapset *set);

static PlannerInfo *
root_of(const PlannerInfo *root, const SubPlan *subplan)
{
	return list_nth(root->glob->subroots, subplan->plan_id - 1);
}

static Bitmapset *
with_members(const Bitmapset *set, const List *params)
{
	Bitmapset  *all = bms_copy(set);
	ListCell   *lc;

	foreach(lc, params)
		all = bms_add_member(all, lfirst_int(lc));
	return all;
}

/*
 * The result of a subquery that runs once is known when the level starts,
 * unless that subquery reads an outer row.
 */
static bool
is_of_outer_row(PlannerInfo *root, int paramid, Bitmapset *set)
{
	if (bms_is_member(paramid, set))
		return false;
	for (; root != NULL; root = root->parent_root)
	{
		ListCell   *lc;

		foreach(lc, root->init_plans)
		{
			SubPlan    *subplan = lfirst_node(SubPlan, lc);

			if (list_member_int(subplan->setParam, paramid))
				return reads_outer_row(root_of(root, subplan), set);
		}
	}
	return true;
}

static bool
is_correlated(Node *node, Level *level)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
	{
		const Param *param = (const Param *) node;

		return param->paramkind == PARAM_EXEC &&
			is_of_outer_row(level->root, param->paramid, level->set);
	}
	if (IsA(node, SubPlan))
	{
		SubPlan    *subplan = (SubPlan *) node;
		Level		inner = {level->root, with_members(level->set, subplan->paramIds)};

		return is_correlated(subplan->testexpr, &inner) ||
			is_correlated((Node *) subplan->args, level) ||
			reads_outer_row(root_of(level->root, subplan),
							with_members(level->set, subplan->parParam));
	}
	return expression_tree_walker(node, is_correlated, level);
}

/* A lateral subquery may read the other inputs of its level. */
static Bitmapset *
set_for_input(const RelOptInfo *rel, const Bitmapset *set)
{
	Bitmapset  *all = bms_copy(set);
	ListCell   *lc;

	foreach(lc, rel->subplan_params)
		all = bms_add_member(all, ((const PlannerParamItem *) lfirst(lc))->paramId);
	return all;
}

static bool
reads_outer_row(PlannerInfo *root, Bitmapset *set)
{
	Level		level = {root, set};

	/* inputs that are subqueries follow: those of the query are not planned */
	if (query_tree_walker(root->parse, is_correlated, &level, QTW_IGNORE_RC_SUBQUERIES))
		return true;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];
		const RangeTblEntry *rte = root->simple_rte_array[i];
		PlannerInfo *input = NULL;

		if (rel == NULL || rte == NULL)
			continue;
		if (rel->subroot != NULL)
			input = rel->subroot;
		else if (rte->rtekind == RTE_CTE)
			(void) gj_cte_path(root, rte, &input);
		if (input != NULL && reads_outer_row(input, set_for_input(rel, set)))
			return true;
	}
	return false;
}

bool
gj_is_correlated(PlannerInfo *root)
{
	return root->parent_root != NULL && reads_outer_row(root, NULL);
}
