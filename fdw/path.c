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

/* What is known about one attempt to join two relations. */
typedef struct Attempt
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	GjStash    *stash;
	const struct gj_status *status;
	bool		large;			/* the joinrel passes the size gate itself */
} Attempt;

/* Rows of the tables among relids (NULL: of all), after their conditions. */
static double
input_rows(PlannerInfo *root, Relids relids)
{
	double		rows = 0;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RelOptInfo *rel = gj_base_rel(root, relid);

		if (rel != NULL)
			rows += rel->rows;
	}
	return rows;
}

/* No data-modifying statement and no row lock, on no level of the query. */
static bool
is_plain_select(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
		if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL ||
			root->parse->rowMarks != NIL)
			return false;
	return true;
}

/* Asks for the daemon once per query and first table of a join. */
static const struct gj_status *
daemon_status(PlannerInfo *root, RelOptInfo *joinrel)
{
	RelOptInfo *rel = NULL;
	GjBase	   *base;
	int			relid = -1;

	while (rel == NULL && (relid = bms_next_member(joinrel->relids, relid)) >= 0)
		rel = gj_base_rel(root, relid);
	base = rel != NULL ? gj_base(root, rel) : NULL;
	if (base == NULL)
		return NULL;
	if (!base->asked_daemon)
	{
		base->asked_daemon = true;
		base->daemon_alive = gj_daemon_alive(&base->status);
	}
	return base->daemon_alive ? &base->status : NULL;
}

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
	path->total_cost = path->startup_cost + tree->rows / divisor * per_row +
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
offer(const Attempt *attempt, GjVariant variant)
{
	RelOptInfo *joinrel = attempt->joinrel;
	GjStash    *stash = attempt->stash;
	GjCandidate *tree = stash->candidates[variant];
	CustomPath *cpath;
	GjPath	   *private;
	Path	   *native;
	Path		costs = {0};

	if (!gj_keep_native(joinrel, stash, variant))
		return GJ_REJECT_NATIVE;
	native = stash->native[variant];
	cost_path(attempt, tree, variant, &costs);
	if (costs.total_cost >= native->total_cost)
		return GJ_REJECT_COST;

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

/* Joins two trees; offers the result if it is the joinrel's best. */
static GjReject
join_trees(const Attempt *attempt, GjVariant variant, GjCandidate *left,
		   GjCandidate *right, const GjClauses *clauses)
{
	GjCandidate *best = attempt->stash->candidates[variant];
	GjCandidate *tree;

	if (left->ninputs + right->ninputs > GJ_MAX_INPUTS ||
		left->ncolumns + right->ncolumns > MAX_TOTAL_COLUMNS ||
		Max(left->depth, right->depth) >= MAX_DEPTH)
		return GJ_REJECT_TOO_LARGE;
	tree = gj_combine(attempt->joinrel, left, right, clauses, attempt->status);

	/* extents and the partitioned copy of the inputs (ARCHITECTURE.md: OM) */
	if (2 * tree->bytes > attempt->status->budget)
		return GJ_REJECT_BUDGET;
	if (best != NULL && gj_job_cost(best) <= gj_job_cost(tree))
		return GJ_ACCEPTED;
	attempt->stash->candidates[variant] = tree;
	if (!attempt->large)
		return GJ_REJECT_SIZE;
	if (variant == GJ_PARALLEL && tree->workers == 0)
		return GJ_ACCEPTED;		/* every input is too small to share */
	return offer(attempt, variant);
}

static GjReject
consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
		 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	Attempt		attempt = {.root = root, .joinrel = joinrel};
	GjCandidate *outer[GJ_VARIANTS];
	GjCandidate *inner[GJ_VARIANTS];
	GjClauses	clauses;
	GjReject	reject;

	if (jointype != JOIN_INNER)
		return GJ_REJECT_JOIN_TYPE;
	if (!gj_force && input_rows(root, root->all_baserels) < gj_min_rows)
		return GJ_REJECT_SIZE;
	if (!is_plain_select(root))
		return GJ_REJECT_COMMAND;
	if (!bms_is_empty(joinrel->lateral_relids))
		return GJ_REJECT_LATERAL;
	attempt.stash = gj_joinrel_stash(joinrel, true);
	if (attempt.stash == NULL)
		return GJ_REJECT_FOREIGN;

	/*
	 * Inner joins are tried in both orders, one call after the other.  Ours
	 * are the same in both; the second call sees the native paths of both.
	 */
	if (attempt.stash->first_outer != innerrel || attempt.stash->first_inner != outerrel)
	{
		attempt.stash->first_outer = outerrel;
		attempt.stash->first_inner = innerrel;
		return GJ_ACCEPTED;
	}
	attempt.stash->first_outer = attempt.stash->first_inner = NULL;

	if ((reject = find_side(root, outerrel, outer)) != GJ_ACCEPTED ||
		(reject = find_side(root, innerrel, inner)) != GJ_ACCEPTED ||
		(reject = check_outputs(root, joinrel, attempt.stash)) != GJ_ACCEPTED)
		return reject;
	attempt.status = daemon_status(root, joinrel);
	if (attempt.status == NULL)
		return GJ_REJECT_DAEMON;
	reject = gj_split_clauses(root, extra->restrictlist, extra->sjinfo,
							  outerrel->relids, innerrel->relids,
							  outer[GJ_SERIAL]->secured || inner[GJ_SERIAL]->secured,
							  &clauses);
	if (reject != GJ_ACCEPTED)
		return reject;

	attempt.large = gj_force || input_rows(root, joinrel->relids) >= gj_min_rows;
	reject = join_trees(&attempt, GJ_SERIAL, outer[GJ_SERIAL], inner[GJ_SERIAL], &clauses);

	/* verification compares two whole results, which takes one process */
	if (joinrel->consider_parallel && !gj_verify &&
		outer[GJ_PARALLEL] != NULL && inner[GJ_PARALLEL] != NULL &&
		join_trees(&attempt, GJ_PARALLEL, outer[GJ_PARALLEL], inner[GJ_PARALLEL],
				   &clauses) == GJ_ACCEPTED)
		return GJ_ACCEPTED;
	return reject;
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
