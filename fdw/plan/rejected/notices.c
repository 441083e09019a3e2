/*
 * plan/rejected/notices.c - the notices of gpujoin.explain_rejected.
 *
 * Names the joins and aggregations of the query's plan that are not offloaded, each
 * reason once.  Walks the cheapest paths of the query and of its subqueries, CTEs
 * and subplans, not the many paths that the planner considered.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "utils/builtins.h"

#include "compat.h"
#include "options.h"
#include "plan/native/native.h"
#include "plan/state.h"

/* A join or an aggregation that is not offloaded. */
typedef struct Native
{
	PlannerInfo *root;
	bool		aggregation;	/* else a join */
	Relids		relids;			/* the query's tables in it */
	GjReject	reason;
	Cost		native;
	Cost		offloaded;		/* < 0: unknown */
} Native;

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
explain_join(const RelOptInfo *joinrel, const Path *path, Native *join)
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
explain_block(const GjBlockState *block, const Path *path, Native *node)
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

static Native *
add_node(PlannerInfo *root, Relids relids, List **nodes)
{
	Native   *node = palloc0(sizeof(Native));

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
		const Native *node = lfirst(lc);

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
	Native   *node;

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

/* The nodes of a level's cheapest plan, and of the plans below it. */
static void
add_level(PlannerInfo *root, RelOptInfo *final, List **nodes)
{
	add_nodes(root, get_cheapest_fractional_path(final, root->tuple_fraction), nodes);
}

/* ---- nodes that are native because a cursor's plan is chosen for its first rows ---- */

/*
 * Only a cursor makes a plan of the topmost level for a fraction of its rows.  LIMIT
 * also does if it does not know how many rows it returns.
 */
static bool
is_cursor(const PlannerInfo *root)
{
	return root->parent_root == NULL && root->parse->limitCount == NULL &&
		root->tuple_fraction > 0 && root->tuple_fraction < 1;
}

/* Does a job of the path, which belongs to this query level, do the node's work? */
static bool
does_work_of(PlannerInfo *root, const Path *job, const Native *node)
{
	const GjBlockState *block = gj_block_state(job->parent);

	return root == node->root && (block != NULL || !node->aggregation) &&
		bms_is_subset(node->relids, block != NULL ? block->relids : job->parent->relids);
}

static bool
is_offloaded(PlannerInfo *root, Path *path, const Native *node)
{
	ListCell   *lc;

	check_stack_depth();
	if (gj_is_gpujoin(path))
		return does_work_of(root, path, node);
	if (IsA(path, SubqueryScanPath))
		root = path->parent->subroot;
	foreach(lc, gj_path_children(path))
		if (is_offloaded(root, lfirst(lc), node))
			return true;
	return false;
}

/*
 * The cheapest path for all rows is the plan that the query would have with
 * cursor_tuple_fraction = 1.
 */
static void
explain_cursor(PlannerInfo *root, const RelOptInfo *final, List *nodes)
{
	ListCell   *lc;

	if (!is_cursor(root))
		return;
	foreach(lc, nodes)
	{
		Native   *node = lfirst(lc);

		if (is_offloaded(root, final->cheapest_total_path, node))
			node->reason = GJ_REJECT_CURSOR;
	}
}

/* ---- all levels of a query ---- */

static List *
native_nodes(PlannerInfo *root, RelOptInfo *final)
{
	List	   *nodes = NIL;
	ListCell   *plan;
	ListCell   *subroot;

	add_level(root, final, &nodes);
	explain_cursor(root, final, nodes);
	forboth(plan, root->glob->subplans, subroot, root->glob->subroots)
	{
		PlannerInfo *below = lfirst(subroot);
		List	   *finals = below->upper_rels[UPPERREL_FINAL];

		if (lfirst(plan) != NULL && finals != NIL)
			add_level(below, linitial(finals), &nodes);
	}
	return nodes;
}

/* ---- the notices ---- */

/* How many joins and aggregations a notice names.  It only counts the others. */
#define MAX_EXAMPLES 3

/* Aliases of a node's tables, in the order of the query. */
static void
append_names(StringInfo text, const Native *node)
{
	const char *separator = "";
	int			relid = -1;

	while ((relid = bms_next_member(node->relids, relid)) >= 0)
	{
		if (gj_base_rel(node->root, relid) == NULL)
			continue;
		appendStringInfo(text, "%s%s", separator,
						 quote_identifier(node->root->simple_rte_array[relid]->eref->aliasname));
		separator = ", ";
	}
}

static bool
has_costs(const Native *node)
{
	return node->offloaded >= 0 &&
		(node->reason == GJ_REJECT_COST || node->reason == GJ_REJECT_PLAN);
}

static void
append_costs(StringInfo text, const Native *node)
{
	appendStringInfo(text, "native cost %.2f, offloaded cost %.2f", node->native, node->offloaded);
}

/* For ereport: the reason's hint, if it has one. */
static int
hint(GjReject reason)
{
	const char *text = gj_reject_hint(reason);

	return text != NULL ? errhint("%s", text) : 0;
}

static void
notice_one(const Native *node)
{
	StringInfoData names;
	StringInfoData detail;

	initStringInfo(&names);
	append_names(&names, node);
	initStringInfo(&detail);
	appendStringInfoString(&detail, gj_reject_detail(node->reason));
	if (has_costs(node))
	{
		appendStringInfoString(&detail, ": ");
		append_costs(&detail, node);
	}
	ereport(NOTICE,
			(errmsg("%s of %s stays native: %s", node->aggregation ? "aggregation" : "join",
					names.data, gj_reject_word(node->reason)),
			 errdetail("%s.", detail.data), hint(node->reason)));
}

/* "2 joins and 1 aggregation" */
static char *
count_nodes(const List *nodes)
{
	int			aggregations = 0;
	int			joins;
	ListCell   *lc;

	foreach(lc, nodes)
		aggregations += ((const Native *) lfirst(lc))->aggregation;
	joins = list_length(nodes) - aggregations;
	if (aggregations == 0)
		return psprintf("%d joins", joins);
	if (joins == 0)
		return psprintf("%d aggregations", aggregations);
	return psprintf("%d join%s and %d aggregation%s", joins, joins > 1 ? "s" : "",
					aggregations, aggregations > 1 ? "s" : "");
}

static void
notice_many(const List *nodes)
{
	const Native *first = linitial(nodes);
	StringInfoData examples;

	initStringInfo(&examples);
	for (int i = 0; i < Min(list_length(nodes), MAX_EXAMPLES); i++)
	{
		const Native *node = list_nth(nodes, i);

		if (i > 0)
			appendStringInfoString(&examples, "; ");
		if (node->aggregation)
			appendStringInfoString(&examples, "aggregation of ");
		append_names(&examples, node);
		if (has_costs(node))
		{
			appendStringInfoString(&examples, " (");
			append_costs(&examples, node);
			appendStringInfoChar(&examples, ')');
		}
	}
	if (list_length(nodes) > MAX_EXAMPLES)
		appendStringInfo(&examples, "; and %d more", list_length(nodes) - MAX_EXAMPLES);
	ereport(NOTICE,
			(errmsg("%s stay native: %s", count_nodes(nodes), gj_reject_word(first->reason)),
			 errdetail("%s. The costliest first: %s.",
					   gj_reject_detail(first->reason), examples.data),
			 hint(first->reason)));
}

static int
by_native_cost(const ListCell *a, const ListCell *b)
{
	Cost		cost_a = ((const Native *) lfirst(a))->native;
	Cost		cost_b = ((const Native *) lfirst(b))->native;

	return (cost_a < cost_b) - (cost_a > cost_b);
}

/* Emits one notice per reason, the reason of the costliest node first. */
static void
notice(List *nodes)
{
	List	   *by_reason[GJ_REJECTS] = {NIL};
	ListCell   *lc;

	list_sort(nodes, by_native_cost);
	foreach(lc, nodes)
	{
		Native   *node = lfirst(lc);

		by_reason[node->reason] = lappend(by_reason[node->reason], node);
	}
	foreach(lc, nodes)
	{
		const Native *node = lfirst(lc);
		List	   *same = by_reason[node->reason];

		if (linitial(same) != node)
			continue;
		if (list_length(same) == 1)
			notice_one(node);
		else
			notice_many(same);
	}
}

/* ---- hook ---- */

static create_upper_paths_hook_type previous_hook;

/*
 * The last call for a query is that for the final relation of its topmost level.
 * All paths are there, but core chooses among them only after the hook.
 */
static void
hook(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
	 void *extra)
{
	if (previous_hook)
		previous_hook(root, stage, input, output, extra);
	if (!gj_enabled || !gj_explain_rejected || stage != UPPERREL_FINAL ||
		root->parent_root != NULL || output->pathlist == NIL)
		return;
	set_cheapest(output);
	notice(native_nodes(root, output));
}

void
gj_install_notices(void)
{
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = hook;
}
