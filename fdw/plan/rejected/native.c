/*
 * plan/rejected/native.c - the joins and aggregations of a finished plan that are not
 * offloaded.
 *
 * Walks the chosen paths of a query and of its subqueries, CTEs and subplans,
 * not the many paths that the planner considered.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"

#include "plan/native/fallback.h"
#include "plan/native/walk.h"
#include "plan/rejected/block_state.h"
#include "plan/rejected/native.h"
#include "plan/state.h"

/* ---- why a node is native ---- */

/*
 * Returns the job's price, comparable with a native path, which may be one
 * participant's.
 */
static GjPrice
offloaded_price(const GjJoinrel *state, const Path *native)
{
	if (native->parallel_workers > 0 && state->prices[GJ_PARALLEL].cost >= 0)
		return state->prices[GJ_PARALLEL];
	return state->prices[GJ_SERIAL].cost >= 0 ? state->prices[GJ_SERIAL] : state->prices[GJ_PARALLEL];
}

static void
explain_join(const RelOptInfo *joinrel, const Path *path, GjNative *join)
{
	const GjJoinrel *state = gj_joinrel_state(joinrel);
	GjPrice		job = {.cost = -1};

	if (state != NULL)
		job = offloaded_price(state, path);
	join->native = path->total_cost;
	join->offloaded = job.cost;
	if (joinrel->reloptkind == RELOPT_OTHER_JOINREL)
		join->reason = GJ_REJECT_PARTITIONWISE;
	else if (state == NULL)
		join->reason = joinrel->fdwroutine != NULL || joinrel->fdw_private != NULL ?
			GJ_REJECT_FOREIGN : GJ_REJECT_GATED;
	else if (job.cost >= 0)
		join->reason = path->param_info == NULL && !gj_is_cheaper(job, gj_price(path)) ?
			GJ_REJECT_COST : GJ_REJECT_PLAN;
	else
		join->reason = state->reject != GJ_ACCEPTED ? state->reject : GJ_REJECT_PLAN;
}

/* The block's cost was compared with that of paths that add_path preferred. */
static void
explain_block(const GjBlockState *block, const Path *path, GjNative *node)
{
	node->native = path->total_cost;
	node->offloaded = block->price.cost;
	node->reason = block->reject;
	if (block->price.cost >= 0)
		node->reason = gj_is_cheaper(block->price, gj_price(path)) ? GJ_REJECT_PLAN : GJ_REJECT_COST;
}

/* ---- the nodes of a plan ---- */

/* The query's tables in a joinrel; for partitions, their parents. */
static Relids
named_relids(const RelOptInfo *joinrel)
{
	return joinrel->reloptkind == RELOPT_OTHER_JOINREL ?
		joinrel->top_parent_relids : joinrel->relids;
}

static GjNative *
add_node(PlannerInfo *root, Relids relids, List **nodes)
{
	GjNative   *node = palloc0(sizeof(GjNative));

	node->root = root;
	node->relids = relids;
	*nodes = lappend(*nodes, node);
	return node;
}

/* A partitionwise join counts as one join of the query. */
static bool
is_listed(List *nodes, const PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	foreach(lc, nodes)
	{
		const GjNative *node = lfirst(lc);

		if (node->root == root && !node->aggregation && bms_equal(node->relids, relids))
			return true;
	}
	return false;
}

static void
add_join(PlannerInfo *root, const JoinPath *path, List **nodes)
{
	const RelOptInfo *joinrel = path->path.parent;

	if (joinrel->reloptkind == RELOPT_OTHER_JOINREL &&
		is_listed(*nodes, root, named_relids(joinrel)))
		return;
	explain_join(joinrel, &path->path, add_node(root, named_relids(joinrel), nodes));
}

/* The topmost path of an aggregation; that of a partial one has no block. */
static void
add_aggregation(PlannerInfo *root, const Path *path, List **nodes)
{
	const GjBlockState *block = gj_block_state(path->parent);
	GjNative   *node;

	if (block == NULL)
		return;
	node = add_node(root, block->relids, nodes);
	node->aggregation = true;
	explain_block(block, path, node);
}

static void
add_nodes(PlannerInfo *root, Path *path, List **nodes)
{
	ListCell   *lc;

	check_stack_depth();
	if (gj_is_gpujoin(path))
		return;
	switch (nodeTag(path))
	{
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			add_join(root, (JoinPath *) path, nodes);
			break;
		case T_AggPath:
		case T_GroupPath:
		case T_GroupingSetsPath:
		case T_MinMaxAggPath:
		case T_UpperUniquePath:
		case T_AppendPath:		/* of partitions */
		case T_MergeAppendPath:
			add_aggregation(root, path, nodes);
			break;
		case T_SubqueryScanPath:
			root = path->parent->subroot;
			break;
		default:
			break;
	}
	foreach(lc, gj_path_children(path))
		add_nodes(root, lfirst(lc), nodes);
}

/* fraction is the fraction of rows to be fetched, in core's notation. */
static void
add_query_nodes(PlannerInfo *root, double fraction, List **nodes)
{
	List	   *finals = root->upper_rels[UPPERREL_FINAL];

	if (finals != NIL)
		add_nodes(root, get_cheapest_fractional_path(linitial(finals), fraction), nodes);
}

/* The same fraction as core uses for a cursor (planner.c). */
static double
cursor_fraction(int cursorOptions)
{
	if ((cursorOptions & CURSOR_OPT_FAST_PLAN) == 0 || cursor_tuple_fraction >= 1)
		return 0;
	return Max(cursor_tuple_fraction, 1e-10);
}

List *
gj_native_nodes(PlannerInfo *root, const PlannedStmt *stmt, int cursorOptions)
{
	List	   *nodes = NIL;
	ListCell   *plan;
	ListCell   *subroot;

	add_query_nodes(root, cursor_fraction(cursorOptions), &nodes);

	/* core does not keep the fraction used for a subplan; this is close */
	forboth(plan, stmt->subplans, subroot, root->glob->subroots)
		if (lfirst(plan) != NULL)
			add_query_nodes(lfirst(subroot), ((PlannerInfo *) lfirst(subroot))->tuple_fraction, &nodes);
	return nodes;
}
