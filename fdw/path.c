/*
 * path.c - which joins are offered to the daemon.
 *
 * Called at the end of every attempt to join two relations.  The cheap
 * questions come first: most joins of most queries must be dismissed within
 * microseconds.
 */
#include "postgres.h"

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "cost.h"
#include "native.h"
#include "path.h"

/* Levels of the JSON document around the top join and below the last one. */
#define MAX_DEPTH (64 - 8)
/* Keeps the document below the daemon's limit of 1 MiB. */
#define MAX_TOTAL_COLUMNS 4000
/* In forced mode, so that the order of two GpuJoins' costs is kept. */
#define FORCED_COST_FACTOR 1e-9

static set_join_pathlist_hook_type previous_join_hook;
static create_upper_paths_hook_type previous_upper_hook;

/* One attempt to join two relations. */
typedef struct Attempt
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	JoinPathExtraData *extra;
	GjStash    *stash;
	const struct gj_status *status;
	Relids		left;
	Relids		right;
	bool		split;			/* clauses are filled */
	GjReject	split_reject;
	GjClauses	clauses;
} Attempt;

/* The trees that deliver a side of the join. */
static GjReject
find_side(PlannerInfo *root, RelOptInfo *rel, GjCandidate **trees)
{
	trees[GJ_SERIAL] = trees[GJ_PARALLEL] = NULL;
	if (rel->reloptkind == RELOPT_BASEREL)
	{
		GjBase	   *base = gj_base(root, rel);

		if (base == NULL)
			return GJ_REJECT_FOREIGN;
		if (base->reject != GJ_ACCEPTED)
			return base->reject;
		for (int v = 0; v < GJ_VARIANTS; v++)
			if (base->leaves[v].source != NULL)
				trees[v] = &base->leaves[v];
	}
	else
	{
		GjStash    *stash = gj_joinrel_stash(rel, false);

		if (stash != NULL)
			memcpy(trees, stash->candidates, sizeof(stash->candidates));
	}
	return trees[GJ_SERIAL] != NULL ? GJ_ACCEPTED : GJ_REJECT_SIDE;
}

/*
 * Are all the joinrel's outputs columns of its tables?  Notes what returning
 * them costs, once per joinrel.
 */
static GjReject
check_outputs(PlannerInfo *root, RelOptInfo *joinrel, GjStash *stash)
{
	double		weight = 0;
	ListCell   *lc;

	if (stash->return_weight >= 0)
		return GJ_ACCEPTED;
	foreach(lc, joinrel->reltarget->exprs)
	{
		Var		   *var = lfirst(lc);

		/* what the tables deliver was checked before; a join may add to it */
		if (!IsA(var, Var))
			return GJ_REJECT_EXPRESSION;
		weight += gj_base(root, gj_base_rel(root, var->varno))->weights[var->varattno];
	}
	stash->return_weight = weight;
	return GJ_ACCEPTED;
}

/* Fills rows and costs of the node. */
static void
cost_path(const Attempt *attempt, const GjCandidate *tree, GjVariant variant, Path *path)
{
	RelOptInfo *joinrel = attempt->joinrel;
	double		divisor = variant == GJ_PARALLEL ? gj_divisor(tree->workers) : 1;
	QualCost	residual;
	Cost		per_row;

	cost_qual_eval(&residual, gj_residuals(tree), attempt->root);
	per_row = gj_return_row_cost + residual.per_tuple +
		attempt->stash->return_weight * gj_return_column_cost;

	path->rows = clamp_row_est(joinrel->rows / divisor);
	path->startup_cost = gj_job_cost(tree) + residual.startup + joinrel->reltarget->cost.startup;
	path->total_cost = path->startup_cost + clamp_row_est(tree->rows / divisor) * per_row +
		path->rows * joinrel->reltarget->cost.per_tuple;
	if (gj_force)
	{
		path->startup_cost *= FORCED_COST_FACTOR;
		path->total_cost *= FORCED_COST_FACTOR;
	}
}

static List *
input_paths(const GjCandidate *tree, List *paths)
{
	if (tree->source != NULL)
		return lappend(paths, tree->source->path);
	return input_paths(tree->right, input_paths(tree->left, paths));
}

/* Offered earlier for the same joinrel: they may fall back to better plans. */
static void
refresh_native(List *paths, Path *native)
{
	ListCell   *lc;

	foreach(lc, paths)
		if (gj_is_gpujoin(lfirst(lc)))
			llast(lfirst_node(CustomPath, lc)->custom_paths) = native;
}

/* Offers the joinrel's best tree to add_path. */
static GjReject
offer(Attempt *attempt, GjVariant variant)
{
	RelOptInfo *joinrel = attempt->joinrel;
	GjStash    *stash = attempt->stash;
	GjCandidate *tree = stash->candidates[variant];
	CustomPath *cpath;
	GjPath	   *private;
	const Path *cheapest;
	Path	   *native;
	Path		costs = {0};

	cheapest = gj_cheapest_native(joinrel, stash, variant);
	if (cheapest == NULL)
		return GJ_REJECT_NATIVE;
	cost_path(attempt, tree, variant, &costs);
	if (costs.total_cost >= cheapest->total_cost)
		return GJ_REJECT_COST;
	native = gj_keep_native(stash, variant, cheapest);
	if (native == NULL)
		return GJ_REJECT_NATIVE;

	private = palloc(sizeof(GjPath));
	private->variant = variant;
	private->tree = tree;
	private->outputs = joinrel->reltarget->exprs;

	cpath = makeNode(CustomPath);
	cpath->path.pathtype = T_CustomScan;
	cpath->path.parent = joinrel;
	cpath->path.pathtarget = joinrel->reltarget;
	cpath->path.rows = costs.rows;
	cpath->path.startup_cost = costs.startup_cost;
	cpath->path.total_cost = costs.total_cost;
	cpath->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	cpath->custom_paths = lappend(input_paths(tree, NIL), native);
	cpath->custom_private = list_make1(private);
	cpath->methods = &gj_path_methods;
	gj_set_path_clauses(cpath, gj_residuals(tree));

	stash->offered = true;
	if (variant == GJ_SERIAL)
	{
		refresh_native(joinrel->pathlist, native);
		add_path(joinrel, &cpath->path);
	}
	else
	{
		cpath->path.parallel_aware = true;
		cpath->path.parallel_safe = true;
		cpath->path.parallel_workers = tree->workers;
		refresh_native(joinrel->partial_pathlist, native);
		add_partial_path(joinrel, &cpath->path);
	}
	return GJ_ACCEPTED;
}

/* Divides the conditions, at most once for both variants. */
static GjReject
split_clauses(Attempt *attempt, bool secured)
{
	if (!attempt->split)
	{
		attempt->split = true;
		attempt->split_reject =
			gj_split_clauses(attempt->root, attempt->extra->restrictlist,
							 attempt->extra->sjinfo, attempt->left, attempt->right,
							 secured, &attempt->clauses);
	}
	return attempt->split_reject;
}

/* Joins two trees; offers the result if it is the joinrel's best. */
static GjReject
join_trees(Attempt *attempt, GjVariant variant, GjCandidate *left, GjCandidate *right)
{
	RelOptInfo *joinrel = attempt->joinrel;
	GjCandidate *best = attempt->stash->candidates[variant];
	GjCandidate tree;
	GjReject	reject;

	if (left->ninputs + right->ninputs > GJ_MAX_INPUTS ||
		left->ncolumns + right->ncolumns > MAX_TOTAL_COLUMNS ||
		Max(left->depth, right->depth) >= MAX_DEPTH)
		return GJ_REJECT_TOO_LARGE;

	/* residual conditions can only add to this, and most attempts end here */
	gj_combine(joinrel, left, right, 1, attempt->status, &tree);
	if (best != NULL && gj_job_cost(best) <= gj_job_cost(&tree))
		return GJ_ACCEPTED;

	/* extents and the partitioned copy of the inputs (ARCHITECTURE.md: OM) */
	if (2 * tree.bytes > attempt->status->budget)
		return GJ_REJECT_BUDGET;

	if ((reject = split_clauses(attempt, tree.secured)) != GJ_ACCEPTED)
		return reject;
	if (attempt->clauses.residual != NIL)
	{
		gj_combine(joinrel, left, right, attempt->clauses.selectivity,
				   attempt->status, &tree);
		if (best != NULL && gj_job_cost(best) <= gj_job_cost(&tree))
			return GJ_ACCEPTED;
	}
	tree.keys = attempt->clauses.keys;
	tree.residual = attempt->clauses.residual;
	gj_rate(attempt->status, &tree);
	best = palloc(sizeof(GjCandidate));
	*best = tree;
	attempt->stash->candidates[variant] = best;

	if (!gj_force && gj_input_rows(attempt->root, joinrel->relids) < gj_min_rows)
		return GJ_REJECT_SIZE;
	if (variant == GJ_PARALLEL && tree.workers == 0)
		return GJ_ACCEPTED;		/* every input is too small to share */
	return offer(attempt, variant);
}

/* Rates a side that has not been joined before. */
static void
rate_sides(const struct gj_status *status, GjCandidate **trees)
{
	for (int v = 0; v < GJ_VARIANTS; v++)
		if (trees[v] != NULL && trees[v]->source != NULL && trees[v]->build_ns == 0)
			gj_rate(status, trees[v]);
}

static GjReject
consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
		 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	Attempt		attempt;
	GjQuery    *query;
	GjStash    *stash;
	GjCandidate *outer[GJ_VARIANTS];
	GjCandidate *inner[GJ_VARIANTS];
	GjReject	reject;
	GjReject	parallel_reject;

	if (jointype != JOIN_INNER)
		return GJ_REJECT_JOIN_TYPE;
	query = gj_query(root);
	if (query->rows < gj_min_rows && !gj_force)
		return GJ_REJECT_SIZE;
	if (!query->plain_select)
		return GJ_REJECT_COMMAND;
	if (!bms_is_empty(joinrel->lateral_relids))
		return GJ_REJECT_LATERAL;
	stash = gj_joinrel_stash(joinrel, true);
	if (stash == NULL)
		return GJ_REJECT_FOREIGN;

	/*
	 * Inner joins are tried in both orders, one call after the other.  Ours
	 * are the same in both; the second call sees the native paths of both.
	 */
	if (stash->first_outer != innerrel || stash->first_inner != outerrel)
	{
		stash->first_outer = outerrel;
		stash->first_inner = innerrel;
		return GJ_ACCEPTED;
	}
	stash->first_outer = stash->first_inner = NULL;

	if ((reject = find_side(root, outerrel, outer)) != GJ_ACCEPTED ||
		(reject = find_side(root, innerrel, inner)) != GJ_ACCEPTED ||
		(reject = check_outputs(root, joinrel, stash)) != GJ_ACCEPTED)
		return reject;

	attempt.root = root;
	attempt.joinrel = joinrel;
	attempt.extra = extra;
	attempt.stash = stash;
	attempt.status = gj_query_daemon(query);
	attempt.left = outerrel->relids;
	attempt.right = innerrel->relids;
	attempt.split = false;
	if (attempt.status == NULL)
		return GJ_REJECT_DAEMON;
	rate_sides(attempt.status, outer);
	rate_sides(attempt.status, inner);

	reject = join_trees(&attempt, GJ_SERIAL, outer[GJ_SERIAL], inner[GJ_SERIAL]);

	/* verification compares two whole results, which takes one process */
	if (!joinrel->consider_parallel || gj_verify ||
		outer[GJ_PARALLEL] == NULL || inner[GJ_PARALLEL] == NULL)
		return reject;
	parallel_reject = join_trees(&attempt, GJ_PARALLEL, outer[GJ_PARALLEL], inner[GJ_PARALLEL]);
	return parallel_reject == GJ_ACCEPTED ? GJ_ACCEPTED : reject;
}

static void
join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
		  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	GjReject	reject;

	if (previous_join_hook)
		previous_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!gj_enabled || joinrel->reloptkind != RELOPT_JOINREL)
		return;
	reject = consider(root, joinrel, outerrel, innerrel, jointype, extra);
	if (reject != GJ_ACCEPTED)
		gj_reject(root, joinrel, reject);
}

static void
upper_hook(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
		   RelOptInfo *output_rel, void *extra)
{
	if (previous_upper_hook)
		previous_upper_hook(root, stage, input_rel, output_rel, extra);
	if (gj_enabled && gj_explain_rejected && stage == UPPERREL_FINAL)
		gj_report_rejected(root);
}

void
gj_install_join_hook(void)
{
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_hook;
	previous_upper_hook = create_upper_paths_hook;
	create_upper_paths_hook = upper_hook;
}
