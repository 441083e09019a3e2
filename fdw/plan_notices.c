/*
 * plan_notices.c - the notices of gpujoin.explain_rejected.
 *
 * The notices cover the joins of the finished plan that are not offloaded, not
 * the many joins that the join search considered, and name each reason once.
 * So the chosen paths are walked after core's planner has returned: that of
 * the query and those of its subqueries, CTEs and subplans.
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
#include "plan_candidate.h"
#include "plan_fallback.h"
#include "plan_subpaths.h"

/* How many joins a notice names.  It only counts the others. */
#define MAX_EXAMPLES 3

/* One call of the planner. */
typedef struct Planning
{
	struct Planning *outer;
	PlannerInfo *root;			/* of the query's topmost level */
	MemoryContext context;		/* the context that contains root */
} Planning;

/* A join of the finished plan. */
typedef struct NativeJoin
{
	PlannerInfo *root;
	Relids		relids;
	GjReject	reason;
	Cost		native;
	Cost		offloaded;		/* < 0: unknown */
} NativeJoin;

static planner_hook_type previous_planner_hook;
static create_upper_paths_hook_type previous_upper_hook;
static Planning *planning;		/* innermost call; NULL: no notices */

/* ---- why one join is native ---- */

/*
 * Returns the job's cost, comparable with a native path, which may be one
 * participant's.
 */
static Cost
offloaded_cost(const GjStash *stash, const Path *native)
{
	if (native->parallel_workers > 0 && stash->costs[GJ_PARALLEL] >= 0)
		return stash->costs[GJ_PARALLEL];
	return stash->costs[GJ_SERIAL] >= 0 ? stash->costs[GJ_SERIAL] : stash->costs[GJ_PARALLEL];
}

static void
explain_join(const RelOptInfo *joinrel, const Path *path, NativeJoin *join)
{
	const GjStash *stash = gj_joinrel_stash(joinrel);

	join->native = path->total_cost;
	join->offloaded = -1;
	if (joinrel->reloptkind == RELOPT_OTHER_JOINREL)
		join->reason = GJ_REJECT_PARTITIONWISE;
	else if (stash == NULL)
		join->reason = joinrel->fdwroutine != NULL || joinrel->fdw_private != NULL ?
			GJ_REJECT_FOREIGN : GJ_REJECT_GATED;
	else if ((join->offloaded = offloaded_cost(stash, path)) >= 0)
		join->reason = path->param_info == NULL && join->offloaded >= path->total_cost ?
			GJ_REJECT_COST : GJ_REJECT_PLAN;
	else
		join->reason = stash->reject != GJ_ACCEPTED ? stash->reject : GJ_REJECT_PLAN;
}

/* ---- the joins of a plan ---- */

/* The query's tables in a joinrel; for partitions, their parents. */
static Relids
named_relids(const RelOptInfo *joinrel)
{
	return joinrel->reloptkind == RELOPT_OTHER_JOINREL ?
		joinrel->top_parent_relids : joinrel->relids;
}

/* A partitionwise join counts as one join of the query. */
static bool
is_listed(List *joins, const PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	foreach(lc, joins)
	{
		const NativeJoin *join = lfirst(lc);

		if (join->root == root && bms_equal(join->relids, relids))
			return true;
	}
	return false;
}

static void
add_join(PlannerInfo *root, const JoinPath *path, List **joins)
{
	const RelOptInfo *joinrel = path->path.parent;
	NativeJoin *join;

	if (joinrel->reloptkind == RELOPT_OTHER_JOINREL &&
		is_listed(*joins, root, named_relids(joinrel)))
		return;
	join = palloc(sizeof(NativeJoin));
	join->root = root;
	join->relids = named_relids(joinrel);
	explain_join(joinrel, &path->path, join);
	*joins = lappend(*joins, join);
}

static void
add_joins(PlannerInfo *root, Path *path, List **joins)
{
	ListCell   *lc;

	check_stack_depth();
	if (gj_is_gpujoin(path))
		return;
	if (IsA(path, NestPath) || IsA(path, MergePath) || IsA(path, HashPath))
		add_join(root, (JoinPath *) path, joins);
	if (IsA(path, SubqueryScanPath))
		root = path->parent->subroot;
	foreach(lc, gj_path_children(path))
		add_joins(root, lfirst(lc), joins);
}

/* fraction is the fraction of rows to be fetched, in core's notation. */
static void
add_query_joins(PlannerInfo *root, double fraction, List **joins)
{
	List	   *finals = root->upper_rels[UPPERREL_FINAL];

	if (finals != NIL)
		add_joins(root, get_cheapest_fractional_path(linitial(finals), fraction), joins);
}

/* The same fraction as core uses for a cursor (planner.c). */
static double
cursor_fraction(int cursorOptions)
{
	if ((cursorOptions & CURSOR_OPT_FAST_PLAN) == 0 || cursor_tuple_fraction >= 1)
		return 0;
	return Max(cursor_tuple_fraction, 1e-10);
}

static List *
native_joins(PlannerInfo *root, const PlannedStmt *stmt, int cursorOptions)
{
	List	   *joins = NIL;
	ListCell   *plan;
	ListCell   *subroot;

	add_query_joins(root, cursor_fraction(cursorOptions), &joins);

	/* core does not keep the fraction used for a subplan; this is close */
	forboth(plan, stmt->subplans, subroot, root->glob->subroots)
		if (lfirst(plan) != NULL)
			add_query_joins(lfirst(subroot), ((PlannerInfo *) lfirst(subroot))->tuple_fraction, &joins);
	return joins;
}

/* ---- the notices ---- */

/* Aliases of the joined tables, in the order of the query. */
static void
append_names(StringInfo text, const NativeJoin *join)
{
	const char *separator = "";
	int			relid = -1;

	while ((relid = bms_next_member(join->relids, relid)) >= 0)
	{
		if (gj_base_rel(join->root, relid) == NULL)
			continue;
		appendStringInfo(text, "%s%s", separator,
						 quote_identifier(join->root->simple_rte_array[relid]->eref->aliasname));
		separator = ", ";
	}
}

static bool
has_costs(const NativeJoin *join)
{
	return join->offloaded >= 0 &&
		(join->reason == GJ_REJECT_COST || join->reason == GJ_REJECT_PLAN);
}

static void
append_costs(StringInfo text, const NativeJoin *join)
{
	appendStringInfo(text, "native cost %.2f, offloaded cost %.2f", join->native, join->offloaded);
}

static void
notice_one(const NativeJoin *join)
{
	StringInfoData names;
	StringInfoData detail;

	initStringInfo(&names);
	append_names(&names, join);
	initStringInfo(&detail);
	appendStringInfoString(&detail, gj_reject_detail(join->reason));
	if (has_costs(join))
	{
		appendStringInfoString(&detail, ": ");
		append_costs(&detail, join);
	}
	ereport(NOTICE,
			(errmsg("join of %s stays native: %s", names.data, gj_reject_word(join->reason)),
			 errdetail("%s.", detail.data)));
}

static void
notice_many(const List *joins)
{
	const NativeJoin *first = linitial(joins);
	StringInfoData examples;

	initStringInfo(&examples);
	for (int i = 0; i < Min(list_length(joins), MAX_EXAMPLES); i++)
	{
		const NativeJoin *join = list_nth(joins, i);

		if (i > 0)
			appendStringInfoString(&examples, "; ");
		append_names(&examples, join);
		if (has_costs(join))
		{
			appendStringInfoString(&examples, " (");
			append_costs(&examples, join);
			appendStringInfoChar(&examples, ')');
		}
	}
	if (list_length(joins) > MAX_EXAMPLES)
		appendStringInfo(&examples, "; and %d more", list_length(joins) - MAX_EXAMPLES);
	ereport(NOTICE,
			(errmsg("%d joins stay native: %s", list_length(joins), gj_reject_word(first->reason)),
			 errdetail("%s. The costliest first: %s.",
					   gj_reject_detail(first->reason), examples.data)));
}

static int
by_native_cost(const ListCell *a, const ListCell *b)
{
	Cost		cost_a = ((const NativeJoin *) lfirst(a))->native;
	Cost		cost_b = ((const NativeJoin *) lfirst(b))->native;

	return (cost_a < cost_b) - (cost_a > cost_b);
}

/* Emits one notice per reason, the reason of the costliest join first. */
static void
notice(List *joins)
{
	List	   *by_reason[GJ_REJECTS] = {NIL};
	ListCell   *lc;

	list_sort(joins, by_native_cost);
	foreach(lc, joins)
	{
		NativeJoin *join = lfirst(lc);

		by_reason[join->reason] = lappend(by_reason[join->reason], join);
	}
	foreach(lc, joins)
	{
		const NativeJoin *join = lfirst(lc);
		List	   *same = by_reason[join->reason];

		if (linitial(same) != join)
			continue;
		if (list_length(same) == 1)
			notice_one(join);
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
		notice(native_joins(mine.root, stmt, cursorOptions));
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
