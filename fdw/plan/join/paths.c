/*
 * plan/join/paths.c - adds the path of a joinrel's best job.
 *
 * A path is made only if it can win: most trees only serve as parts of a
 * larger job.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/filter/filter.h"
#include "plan/input/input.h"
#include "plan/join/join.h"
#include "plan/native/native.h"

/* Fills in the rows and costs of a node of this variant. */
static void
cost_path(PlannerInfo *root, RelOptInfo *joinrel, const GjJoinrel *state,
		  GjVariant variant, Path *path)
{
	const GjTree *tree = state->trees[variant];
	double		divisor = variant == GJ_PARALLEL ? gj_divisor(tree->workers) : 1;
	QualCost	deferred;

	cost_qual_eval(&deferred, gj_deferred(tree), root);
	path->rows = clamp_row_est(joinrel->rows / divisor);
	path->startup_cost = gj_job_cost(tree) + deferred.startup + joinrel->reltarget->cost.startup;
	path->total_cost = path->startup_cost +
		gj_return_cost(clamp_row_est(gj_priced_rows(tree) / divisor), state->return_weight) +
		clamp_row_est(tree->rows / divisor) * deferred.per_tuple +
		path->rows * joinrel->reltarget->cost.per_tuple;
	gj_set_disabled(path, gj_debug_force ? 0 : tree->disabled);
}

/*
 * Makes the path nearly free.  A serial path is still charged the amount that
 * a parallel one would save, so that core decides whether that is worth a
 * Gather.  No native path is that cheap.
 */
static void
force_cost(PlannerInfo *root, RelOptInfo *joinrel, const GjJoinrel *state,
		   GjVariant variant, Cost native_cost, Path *path)
{
	const GjTree *other = state->trees[GJ_PARALLEL];
	Cost		saved = 0;

	if (variant == GJ_SERIAL && other != NULL && other->workers > 0)
	{
		Path		parallel;

		cost_path(root, joinrel, state, GJ_PARALLEL, &parallel);
		saved = Min(Max(path->total_cost - parallel.total_cost, 0), native_cost / 2);
	}
	path->startup_cost = path->startup_cost * GJ_FORCED_COST_FACTOR + saved;
	path->total_cost = path->total_cost * GJ_FORCED_COST_FACTOR + saved;
}

/*
 * The children of a path: its inputs, then the native path.  Both plans of a
 * parallel node run under one Gather.
 */
static void
set_children(PlannerInfo *root, GjPath *path, Path *native)
{
	path->cpath.custom_paths = gj_children(path->tree, native);
	if (path->variant == GJ_SERIAL)
		gj_share_scans(root, path->cpath.custom_paths, native);
}

/* Gives paths added earlier for the same joinrel a better native plan. */
static void
refresh_native(PlannerInfo *root, List *paths, Path *native)
{
	ListCell   *lc;

	foreach(lc, paths)
		if (gj_is_gpujoin(lfirst(lc)))
			set_children(root, lfirst(lc), native);
}

/*
 * The joinrel's target, then the columns that only deferred conditions read.
 */
static List *
all_outputs(const RelOptInfo *joinrel, List *deferred)
{
	List	   *outputs = joinrel->reltarget->exprs;
	List	   *vars;
	ListCell   *lc;

	if (deferred == NIL)
		return outputs;
	outputs = list_copy(outputs);
	vars = pull_var_clause((Node *) extract_actual_clauses(deferred, false),
						   PVC_INCLUDE_PLACEHOLDERS);
	foreach(lc, vars)
		outputs = list_append_unique(outputs, lfirst(lc));
	return outputs;
}

/*
 * Does the tree deliver them all?  Core may read a hidden column above a semi
 * join, because it equals one of the left side.
 */
static bool
delivers(PlannerInfo *root, const GjTree *tree, const List *outputs)
{
	ListCell   *lc;

	if (bms_is_empty(tree->hidden))
		return true;
	foreach(lc, outputs)
		if (gj_same_column(tree, gj_column(root, lfirst(lc))) == NULL)
			return false;
	return true;
}

/* The paths that this variant adds its own to. */
static List *
added_paths(const RelOptInfo *joinrel, GjVariant variant)
{
	return variant == GJ_SERIAL ? joinrel->pathlist : joinrel->partial_pathlist;
}

/*
 * Keeps a copy of the native path and the time of the path itself, and gives
 * the copy to the paths that were added before.
 */
static Path *
keep_native(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state, GjVariant variant,
			const Path *native, const GjTime *time)
{
	const Path *before = state->native[variant];
	Path	   *copy;

	if (native == before)
		return state->native[variant];
	copy = gj_keep_native(state, variant, native);
	if (copy != before)
	{
		state->native_times[variant] = *time;
		refresh_native(root, added_paths(joinrel, variant), copy);
	}
	return copy;
}

static pg_noinline void
replace_native(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state, GjVariant variant,
			   const Path *cheapest)
{
	GjTime		time = {.growth = 1};

	if (gj_estimate_native)
		(void) gj_path_ns(root, cheapest, &time);
	(void) keep_native(root, joinrel, state, variant, cheapest, &time);
}

void
gj_refresh_native(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state)
{
	for (int v = 0; v < GJ_VARIANTS; v++)
	{
		const Path *native = state->native[v];
		const Path *cheapest = native != NULL ? gj_cheapest_native(joinrel, state, v) : NULL;

		if (cheapest != native)
			replace_native(root, joinrel, state, v, cheapest);
	}
}

/*
 * Can what filters save make the path cheaper than the native one?  Choosing
 * them takes longer than all else that makes the path, and joinrels may have hundreds
 * of trees.  Those of a path that is added anyway are chosen when its plan is
 * made.
 */
static bool
filters_decide(const GjTree *tree, Cost cost, Cost native_cost)
{
	return cost >= native_cost && cost - gj_fill_cost(tree) < native_cost;
}

/*
 * Does core sort all rows of the topmost join?  It hashes them where it can, and for
 * a LIMIT it keeps only the first ones.
 */
static bool
is_sorted_above(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	if (root->query_pathkeys == NIL || root->limit_tuples > 0)
		return false;
	return parse->groupingSets != NIL ||
		(parse->groupClause == NIL && !parse->hasAggs && parse->distinctClause == NIL);
}

/*
 * The processes of a parallel plan share a sort of its rows, which the leader of a serial plan
 * does alone.  core knows that, but not how many more rows than it expects there are: what it
 * leaves out of a serial path's cost is charged here.
 */
static Cost
lone_sort_cost(PlannerInfo *root, const RelOptInfo *joinrel, const GjJoinrel *state)
{
	const GjTree *tree = state->trees[GJ_SERIAL];
	const GjTree *shared = state->trees[GJ_PARALLEL];
	double		ns;

	if (!gj_estimate_native || shared == NULL || shared->workers == 0 ||
		tree->rows <= joinrel->rows || !gj_is_topmost(root, joinrel) || !is_sorted_above(root))
		return 0;
	ns = gj_sort_ns(tree->rows, root->query_pathkeys) - gj_sort_ns(joinrel->rows, root->query_pathkeys);
	return ns * (1 - 1 / gj_speedup(shared->workers)) * GJ_NS_COST;
}

GjReject
gj_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state, GjVariant variant)
{
	GjTree	   *tree = state->trees[variant];
	GjPath	   *path;
	CustomPath *cpath;
	const Path *cheapest;
	Path	   *native;
	Path		costs = {0};
	GjRival		rival;
	GjTime		time = {.growth = 1};
	List	   *deferred;
	List	   *outputs;

	/* a native plan would have to get the rows of a mirror from the daemon */
	if (!gj_debug_force && !tree->mirrored && tree->rows_read < gj_min_rows)
		return GJ_REJECT_SIZE;
	if (variant == GJ_PARALLEL && tree->workers == 0)
		return GJ_ACCEPTED;		/* every input is too small to share */
	if (tree->block_only)
		return GJ_REJECT_CONDITION;
	cheapest = gj_cheapest_native(joinrel, state, variant);
	if (cheapest == NULL)
		return GJ_REJECT_NATIVE;
	cost_path(root, joinrel, state, variant, &costs);
	rival = gj_rival(root, cheapest, gj_is_topmost(root, joinrel));
	if (!gj_debug_force)
	{
		Cost		sort;
		double		unit;

		if (filters_decide(tree, costs.total_cost, cheapest->total_cost / rival.unit))
		{
			gj_choose_filters(root, tree);
			cost_path(root, joinrel, state, variant, &costs);
		}
		unit = gj_unit(&rival, costs.total_cost);
		time = gj_own_time(&rival, costs.total_cost, unit, tree->key_growth);
		if (variant == GJ_PARALLEL)
			time.ns *= gj_speedup(tree->workers) / gj_divisor(tree->workers);
		sort = variant == GJ_SERIAL ? lone_sort_cost(root, joinrel, state) : 0;
		costs.startup_cost = (costs.startup_cost + sort) * unit;
		costs.total_cost = (costs.total_cost + sort) * unit;
	}
	else
		force_cost(root, joinrel, state, variant, cheapest->total_cost, &costs);
	if (!gj_is_cheaper(gj_price(&costs), gj_price(cheapest)))
	{
		state->prices[variant] = gj_price(&costs);
		return GJ_REJECT_COST;
	}
	deferred = gj_deferred(tree);
	outputs = all_outputs(joinrel, deferred);
	if (list_length(outputs) > GJ_MAX_COLUMNS || !gj_size_fits(&tree->size))
		return GJ_REJECT_TOO_LARGE;
	if (!delivers(root, tree, outputs))
		return GJ_REJECT_HIDDEN;
	native = keep_native(root, joinrel, state, variant, cheapest, &rival.processes);
	if (native == NULL)
		return GJ_REJECT_NATIVE;

	state->prices[variant] = gj_price(&costs);
	path = palloc0(sizeof(GjPath));
	path->variant = variant;
	path->tree = tree;
	path->outputs = outputs;
	path->ntarget = list_length(joinrel->reltarget->exprs);
	path->time = time;
	path->native_ns = rival.ns;

	cpath = &path->cpath;
	NodeSetTag(cpath, T_CustomPath);
	cpath->path.pathtype = T_CustomScan;
	cpath->path.parent = joinrel;
	cpath->path.pathtarget = joinrel->reltarget;
	cpath->path.rows = costs.rows;
	cpath->path.startup_cost = costs.startup_cost;
	cpath->path.total_cost = costs.total_cost;
	gj_set_disabled(&cpath->path, gj_price(&costs).disabled);
	cpath->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	set_children(root, path, native);
	cpath->methods = &gj_path_methods;
	gj_set_path_clauses(cpath, deferred);

	if (variant == GJ_SERIAL)
	{
		/*
		 * A worker never runs the serial node.  If there are no workers,
		 * marking it as not parallel safe would only make core keep more
		 * expensive paths too.
		 */
		cpath->path.parallel_safe = state->query->single_process &&
			joinrel->consider_parallel;
		add_path(joinrel, &cpath->path);
	}
	else
	{
		cpath->path.parallel_aware = true;
		cpath->path.parallel_safe = true;
		cpath->path.parallel_workers = tree->workers;
		add_partial_path(joinrel, &cpath->path);
	}
	return GJ_ACCEPTED;
}
