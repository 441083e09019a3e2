/*
 * plan_hook.c - the join hook: which joins may be offered to the daemon.
 *
 * Core calls the hook at the end of every attempt to join two relations.
 * Cheap checks come first, because most joins of most queries must be rejected
 * within microseconds.
 */
#include "postgres.h"

#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "plan_cost.h"
#include "plan_hook.h"

/* Limits the nesting of the JSON document; 8 levels enclose the joins. */
#define MAX_DEPTH (64 - 8)
/* Keeps the document below the daemon's limit of 1 MiB. */
#define MAX_TOTAL_COLUMNS 4000

static set_join_pathlist_hook_type previous_join_hook;

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
	bool		split;			/* clauses has been filled in */
	GjReject	split_reject;
	GjClauses	clauses;
} Attempt;

/* Finds the trees that deliver one side of the join. */
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
		GjStash    *stash = gj_joinrel_stash(rel);

		if (stash != NULL)
			memcpy(trees, stash->candidates, sizeof(stash->candidates));
	}
	return trees[GJ_SERIAL] != NULL ? GJ_ACCEPTED : GJ_REJECT_SIDE;
}

/*
 * Checks that all of the joinrel's outputs are columns of its tables.  Records
 * the cost of returning them, once per joinrel.
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

		/* the tables' outputs were checked before, but a join may add some */
		if (!IsA(var, Var))
			return GJ_REJECT_EXPRESSION;
		weight += gj_base(root, gj_base_rel(root, var->varno))->weights[var->varattno];
	}
	stash->return_weight = weight;
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

/* Joins two trees, and offers the result if it is the joinrel's best. */
static GjReject
join_trees(Attempt *attempt, GjVariant variant, GjCandidate *left, GjCandidate *right)
{
	RelOptInfo *joinrel = attempt->joinrel;
	GjCandidate *best = attempt->stash->candidates[variant];
	GjCandidate *tree;
	GjReject	reject;
	Cost		cost;
	double		rows;

	if (left->ninputs + right->ninputs > GJ_MAX_INPUTS ||
		left->ncolumns + right->ncolumns > MAX_TOTAL_COLUMNS ||
		Max(left->depth, right->depth) >= MAX_DEPTH)
		return GJ_REJECT_TOO_LARGE;

	/*
	 * The feed costs the same for all trees of a joinrel.  Residual conditions
	 * can only add to the cost of joining, and most attempts end here.
	 */
	cost = gj_join_cost(joinrel, left, right, 1, attempt->status, &rows);
	if (best != NULL && best->join_cost <= cost)
		return GJ_ACCEPTED;

	/* the inputs in extents, and a second copy during partitioning */
	if (2 * (left->bytes + right->bytes) > attempt->status->budget)
		return GJ_REJECT_BUDGET;

	reject = split_clauses(attempt, left->secured || right->secured);
	if (reject != GJ_ACCEPTED)
		return reject;
	if (attempt->clauses.residual != NIL)
	{
		cost = gj_join_cost(joinrel, left, right, attempt->clauses.selectivity,
							attempt->status, &rows);
		if (best != NULL && best->join_cost <= cost)
			return GJ_ACCEPTED;
	}
	tree = gj_combine(joinrel, left, right, &attempt->clauses, cost, rows);
	gj_rate(attempt->status, tree);
	attempt->stash->candidates[variant] = tree;

	if (!gj_force && tree->input_rows < gj_min_rows)
		return GJ_REJECT_SIZE;
	if (variant == GJ_PARALLEL && tree->workers == 0)
		return GJ_ACCEPTED;		/* every input is too small to share */
	return gj_offer(attempt->root, joinrel, attempt->stash, variant);
}

/* Sets the rates of a side that has not been joined before. */
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
	GjStash    *stash;
	GjQuery    *query;
	GjCandidate *outer[GJ_VARIANTS];
	GjCandidate *inner[GJ_VARIANTS];
	GjReject	reject;

	if (jointype != JOIN_INNER)
		return GJ_REJECT_JOIN_TYPE;
	stash = gj_joinrel_stash(joinrel);
	query = stash != NULL ? stash->query : gj_query(root);
	if (query->rows < gj_min_rows && !gj_force)
		return GJ_REJECT_SIZE;
	if (!query->no_rechecks)
		return GJ_REJECT_COMMAND;
	if (!bms_is_empty(joinrel->lateral_relids))
		return GJ_REJECT_LATERAL;
	if (stash == NULL && (stash = gj_make_stash(root, joinrel)) == NULL)
		return GJ_REJECT_FOREIGN;

	/*
	 * Core tries an inner join in both orders, in consecutive calls.  Our jobs
	 * are the same in both, and the second call sees the native paths of both.
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

	/* verification compares two whole results, so it needs one process */
	if (query->shares && joinrel->consider_parallel && !gj_verify &&
		outer[GJ_PARALLEL] != NULL && inner[GJ_PARALLEL] != NULL)
		join_trees(&attempt, GJ_PARALLEL, outer[GJ_PARALLEL], inner[GJ_PARALLEL]);

	/* the reason that rejects the serial job is reported for the join */
	return join_trees(&attempt, GJ_SERIAL, outer[GJ_SERIAL], inner[GJ_SERIAL]);
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

void
gj_install_join_hook(void)
{
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_hook;
}
