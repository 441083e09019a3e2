/*
 * plan/rewrite/hook.c - plans a query as it is and with subqueries as joins, and takes what is cheaper.
 *
 * Neither is always better: an index that finds the few rows of a few subqueries is
 * faster than any join.  So the planner's costs decide, once all are known.
 *
 * Core charges a scan for a subplan for each row, also for rows that cheaper conditions drop
 * before.  Groups are limited by these conditions (values.c), so the plan that is wrongly
 * taken for that reason is slower by one more scan of the table.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "options.h"
#include "plan/native/native.h"
#include "plan/rewrite/rewrite.h"
#include "plan/state.h"

/*
 * A second plan takes about as long as the first one, a millisecond for some joins.  It is
 * made only for queries that cost more, in the planner's unit.  A subquery that is evaluated
 * for each row of a WITH query can take thousands of times what it costs, because core
 * expects few rows of that.
 */
#define LEAST_COST 1000

static planner_hook_type previous_hook;

/* Rewrites the queries in a tree, inner ones first. */
static bool
rewrite(Node *node, void *context)
{
	bool	   *changed = context;
	Query	   *query = (Query *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rewrite, context);
	(void) query_tree_walker(query, rewrite, context, 0);
	if (query->commandType != CMD_SELECT || !query->hasSubLinks || query->hasRecursive ||
		query->jointree == NULL)
		return false;
	if (gj_rewrite_not_in(query))
		*changed = true;
	if (gj_rewrite_aggregates(query))
		*changed = true;
	return false;
}

/* Does a query, or one in it, have a subquery in an expression? */
static bool
has_subqueries(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, List) || IsA(node, CommonTableExpr))
		return expression_tree_walker(node, has_subqueries, context);
	if (!IsA(node, Query))
		return false;
	return ((Query *) node)->hasSubLinks ||
		query_tree_walker((Query *) node, has_subqueries, context, QTW_IGNORE_JOINALIASES);
}

/* Returns another form of the query, or NULL. */
static Query *
rewritten(Query *parse)
{
	bool		changed = false;
	Query	   *copy;

	if (!gj_enabled || (parse->commandType != CMD_SELECT && parse->commandType != CMD_INSERT) ||
		parse->rowMarks != NIL || parse->hasModifyingCTE || !has_subqueries((Node *) parse, NULL))
		return NULL;
	copy = copyObject(parse);
	(void) rewrite((Node *) copy, &changed);
	return changed ? copy : NULL;
}

static PlannedStmt *
plan(Query *parse, const char *text, int options, ParamListInfo parameters GJ_EXPLAIN_PARAMETER)
{
	return previous_hook != NULL ? previous_hook(parse, text, options, parameters GJ_EXPLAIN_ARGUMENT) :
		standard_planner(parse, text, options, parameters GJ_EXPLAIN_ARGUMENT);
}

/* Does a statement run jobs? */
static bool
has_job(const PlannedStmt *statement)
{
	ListCell   *lc;

	if (gj_needs_daemon(statement->planTree))
		return true;
	foreach(lc, statement->subplans)
		if (gj_needs_daemon(lfirst(lc)))
			return true;
	return false;
}

/* Plans without a job are left to core, which plans the query as it is. */
static PlannedStmt *
hook(Query *parse, const char *text, int options, ParamListInfo parameters GJ_EXPLAIN_PARAMETER)
{
	Query	   *other = rewritten(parse);
	PlannedStmt *first;
	PlannedStmt *second;

	first = plan(parse, text, options, parameters GJ_EXPLAIN_ARGUMENT);
	if (other == NULL || (first->planTree->total_cost < LEAST_COST && !gj_debug_force))
		return first;
	second = plan(other, text, options, parameters GJ_EXPLAIN_ARGUMENT);
	if (!has_job(second))
		return first;
	return gj_debug_force ||
		gj_is_cheaper(gj_plan_price(second->planTree), gj_plan_price(first->planTree)) ? second : first;
}

void
gj_install_rewrites(void)
{
	previous_hook = planner_hook;
	planner_hook = hook;
}
