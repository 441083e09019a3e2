/*
 * plan/rejected/notices.c - the notices of gpujoin.explain_rejected.
 *
 * The notices name each reason once, after core's planner has returned.
 *
 * The planner may be called recursively, when it evaluates a constant call of
 * an SQL function.  Each call has its own Planning.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "utils/builtins.h"

#include "compat.h"
#include "options.h"
#include "plan/native/native.h"
#include "plan/rejected/native.h"
#include "plan/rejected/reasons.h"
#include "plan/state.h"

/* ---- native ---- */

/*
 * Walks the chosen paths of a query and of its subqueries, CTEs and subplans,
 * not the many paths that the planner considered.
 */

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

/* ---- notices ---- */

/* How many joins and aggregations a notice names.  It only counts the others. */
#define MAX_EXAMPLES 3

/* One call of the planner. */
typedef struct Planning
{
	struct Planning *outer;
	PlannerInfo *root;			/* of the query's topmost level */
	MemoryContext context;		/* the context that contains root */
} Planning;

static planner_hook_type previous_planner_hook;
static create_upper_paths_hook_type previous_upper_hook;
static Planning *planning;		/* innermost call; NULL: no notices */

/* ---- the notices ---- */

/* Aliases of a node's tables, in the order of the query. */
static void
append_names(StringInfo text, const GjNative *node)
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
has_costs(const GjNative *node)
{
	return node->offloaded >= 0 &&
		(node->reason == GJ_REJECT_COST || node->reason == GJ_REJECT_PLAN);
}

static void
append_costs(StringInfo text, const GjNative *node)
{
	appendStringInfo(text, "native cost %.2f, offloaded cost %.2f", node->native, node->offloaded);
}

static void
notice_one(const GjNative *node)
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
			 errdetail("%s.", detail.data)));
}

/* "2 joins and 1 aggregation" */
static char *
count_nodes(const List *nodes)
{
	int			aggregations = 0;
	int			joins;
	ListCell   *lc;

	foreach(lc, nodes)
		aggregations += ((const GjNative *) lfirst(lc))->aggregation;
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
	const GjNative *first = linitial(nodes);
	StringInfoData examples;

	initStringInfo(&examples);
	for (int i = 0; i < Min(list_length(nodes), MAX_EXAMPLES); i++)
	{
		const GjNative *node = list_nth(nodes, i);

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
					   gj_reject_detail(first->reason), examples.data)));
}

static int
by_native_cost(const ListCell *a, const ListCell *b)
{
	Cost		cost_a = ((const GjNative *) lfirst(a))->native;
	Cost		cost_b = ((const GjNative *) lfirst(b))->native;

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
		GjNative   *node = lfirst(lc);

		by_reason[node->reason] = lappend(by_reason[node->reason], node);
	}
	foreach(lc, nodes)
	{
		const GjNative *node = lfirst(lc);
		List	   *same = by_reason[node->reason];

		if (linitial(same) != node)
			continue;
		if (list_length(same) == 1)
			notice_one(node);
		else
			notice_many(same);
	}
}

/* ---- hooks ---- */

/* Called last for each query level.  Remembers the topmost one only. */
static void
upper_hook(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
		   RelOptInfo *output_rel, void *extra)
{
	if (previous_upper_hook)
		previous_upper_hook(root, stage, input_rel, output_rel, extra);
	if (planning != NULL && gj_explain_rejected && gj_enabled &&
		stage == UPPERREL_FINAL && root->parent_root == NULL)
	{
		planning->root = root;
		planning->context = root->planner_cxt;
	}
}

static PlannedStmt *
call_planner(Query *parse, const char *query_string, int cursorOptions, ParamListInfo params)
{
	if (previous_planner_hook)
		return previous_planner_hook(parse, query_string, cursorOptions, params);
	return standard_planner(parse, query_string, cursorOptions, params);
}

static PlannedStmt *
planner_with_notices(Query *parse, const char *query_string, int cursorOptions,
					 ParamListInfo params)
{
	Planning	mine = {.outer = planning};
	PlannedStmt *stmt;

	PG_TRY();
	{
		planning = &mine;
		stmt = call_planner(parse, query_string, cursorOptions, params);
	}
	PG_FINALLY();
	{
		planning = mine.outer;
	}
	PG_END_TRY();

	/*
	 * root may be gone if an extension planned in a memory context of its own
	 */
	if (mine.root != NULL && mine.context == CurrentMemoryContext)
		notice(gj_native_nodes(mine.root, stmt, cursorOptions));
	return stmt;
}

static PlannedStmt *
planner_hook_function(Query *parse, const char *query_string, int cursorOptions,
					  ParamListInfo params)
{
	if (gj_enabled && gj_explain_rejected)
		return planner_with_notices(parse, query_string, cursorOptions, params);
	return call_planner(parse, query_string, cursorOptions, params);
}

void
gj_install_notices(void)
{
	previous_planner_hook = planner_hook;
	planner_hook = planner_hook_function;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_hook;
}
