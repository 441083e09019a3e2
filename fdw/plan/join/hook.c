/*
 * plan/join/hook.c - the hooks for joins: which joins may be offloaded.
 *
 * Core calls the join hook at the end of every attempt to join two relations.
 * Cheap checks come first, because most joins of most queries must be rejected
 * within microseconds.  It calls the search hook once for a list of relations.
 */
#include "postgres.h"

#include "optimizer/geqo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/input/input.h"
#include "plan/join/join.h"

/* Keeps the document below the daemon's limit of 1 MiB. */
#define MAX_TOTAL_COLUMNS 4000

static set_join_pathlist_hook_type previous_join_hook;
static join_search_hook_type previous_search_hook;

/* A search for the joins of a query level, within our hook. */
typedef struct Search
{
	PlannerInfo *root;			/* NULL: none is under way */
	MemoryContext genetic;		/* the genetic search was called in it, and runs */
	const RelOptInfo *joinrel;	/* the join hook's last one, for which core calls it
								 * several times in a row */
	GjJoinrel  *state;			/* of joinrel */
	GjQuery    *query;			/* of root; NULL: not needed so far */
} Search;

static Search search;

/* One attempt to join two relations. */
typedef struct Attempt
{
	PlannerInfo *root;
	RelOptInfo *joinrel;
	GjJoinrel  *state;
	const struct gj_status *status;
	JoinType	kind;
	const RelOptInfo *left;
	const RelOptInfo *right;
	GjTree	   *const *lefts;	/* by variant */
	GjTree	   *const *rights;
	const JoinPathExtraData *extra;
	bool		split;			/* clauses has been filled in */
	GjReject	split_reject;
	GjClauses	clauses;
} Attempt;

/* Decides on a side that was not joined before. */
static pg_noinline GjReject
decide_side(PlannerInfo *root, RelOptInfo *rel, GjTree *const **trees)
{
	GjBaserel  *base;

	if (rel->reloptkind != RELOPT_BASEREL)
		return GJ_REJECT_SIDE;
	base = gj_base(root, rel);
	if (base == NULL)
		return GJ_REJECT_FOREIGN;
	*trees = base->trees;
	return base->reject;
}

/* Finds the trees that deliver one side of the join. */
static GjReject
find_side(PlannerInfo *root, RelOptInfo *rel, GjTree *const **trees)
{
	*trees = gj_known_trees(rel);
	return *trees != NULL && (*trees)[GJ_SERIAL] != NULL ? GJ_ACCEPTED :
		decide_side(root, rel, trees);
}

/*
 * Checks that all of the joinrel's outputs are columns of its tables.  Records
 * the cost of returning them, once per joinrel.
 */
static GjReject
check_outputs(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state)
{
	double		weight = 0;
	ListCell   *lc;

	if (state->return_weight >= 0)
		return GJ_ACCEPTED;
	foreach(lc, joinrel->reltarget->exprs)
	{
		const Var  *var = lfirst(lc);
		const GjBaserel *base;

		/* the tables' outputs were checked before, but a join may add some */
		if (!IsA(var, Var) && (var = gj_column(root, (Expr *) var)) == NULL)
			return GJ_REJECT_EXPRESSION;
		base = gj_find_state(gj_base_rel(root, var->varno));
		weight += base->weights[var->varattno];
	}
	state->return_weight = weight;
	return GJ_ACCEPTED;
}

/*
 * Divides the conditions, at most once for both variants.  These have the same
 * tables, and so the same properties of them.
 */
static GjReject
split_clauses(Attempt *attempt)
{
	if (!attempt->split)
	{
		const GjTree *left = attempt->lefts[GJ_SERIAL];
		const GjTree *right = attempt->rights[GJ_SERIAL];
		GjPair		pair = {
			.kind = attempt->kind,
			.left = attempt->left->relids,
			.right = attempt->right->relids,
			.hidden = bms_union(left->hidden, right->hidden),
			.joined = attempt->joinrel->relids,
			.restrictlist = attempt->extra->restrictlist,
			.sjinfo = attempt->extra->sjinfo,
			.secured = left->secured || right->secured,
		};

		attempt->split = true;
		attempt->split_reject = gj_split_clauses(attempt->root, &pair, &attempt->clauses);
	}
	return attempt->split_reject;
}

/*
 * May the backend apply the trees' deferred conditions above this join?  The
 * join may drop rows that would pass them or return them again.  But it must
 * not add NULLs to them, and rows that will be dropped must not match.
 */
static bool
may_defer(JoinType kind, const GjTree *left, const GjTree *right)
{
	switch (kind)
	{
		case JOIN_INNER:
			return true;
		case JOIN_FULL:
			return left->ndeferred == 0 && right->ndeferred == 0;
		default:
			return right->ndeferred == 0;
	}
}

/* Can the daemon compare the keys, or do joins of the trees hide some? */
static bool
keys_visible(const GjTree *left, const GjTree *right, const List *keys)
{
	ListCell   *lc;

	if (bms_is_empty(left->hidden) && bms_is_empty(right->hidden))
		return true;
	foreach(lc, keys)
	{
		const GjKey *key = lfirst(lc);

		if (gj_equal_column(left, key->left, key->kind) == NULL ||
			gj_equal_column(right, key->right, key->kind) == NULL)
			return false;
	}
	return true;
}

/* A tree of which an OffloadJoin can be made comes first, then the cheaper one. */
static bool
is_better(Cost cost, bool block_only, const GjTree *best)
{
	if (block_only != best->block_only)
		return best->block_only;
	return cost < best->join_cost;
}

/* Keeps the join of two trees if it is the joinrel's best, and adds a path for it. */
static pg_noinline GjReject
add_tree(Attempt *attempt, GjVariant variant, Cost cost)
{
	RelOptInfo *joinrel = attempt->joinrel;
	GjTree	   *left = attempt->lefts[variant];
	GjTree	   *right = attempt->rights[variant];
	GjTree	   *best = attempt->state->trees[variant];
	GjJoining	joining = {
		.root = attempt->root,
		.joinrel = joinrel,
		.kind = attempt->kind,
		.left = left,
		.right = right,
	};
	const GjClauses *clauses = &attempt->clauses;
	double		rows = joinrel->rows;
	GjTree	   *tree;
	GjReject	reject;
	bool		block_only;

	reject = gj_check_memory(attempt->status, left->bytes + right->bytes);
	if (reject == GJ_ACCEPTED)
		reject = split_clauses(attempt);
	if (reject != GJ_ACCEPTED)
		return reject;
	block_only = left->block_only || right->block_only || clauses->can_fail;
	if (!may_defer(joining.kind, left, right))
	{
		if (!left->ships_deferred || !right->ships_deferred)
			return GJ_REJECT_CONDITION;
		block_only = true;
	}
	if (!keys_visible(left, right, clauses->keys))
		return GJ_REJECT_HIDDEN;
	if (clauses->residual != NIL || clauses->filter != NIL || clauses->deferred != NIL ||
		clauses->key_growth > 1 || left->growth > 1 || right->growth > 1)
		cost = gj_join_cost(&joining, clauses, attempt->status, &rows);
	if (best != NULL && !is_better(cost, block_only, best))
		return GJ_ACCEPTED;
	tree = gj_combine(&joining, clauses, block_only, cost, rows);
	gj_rate(attempt->status, tree);
	attempt->state->trees[variant] = tree;
	if (search.root == attempt->root && gj_corrects(GJ_TOPMOST_LAST) && gj_is_topmost(attempt->root, joinrel))
		return GJ_ACCEPTED;		/* added when all native paths are known */
	return gj_add_join_paths(attempt->root, joinrel, attempt->state, variant);
}

/*
 * Joins two trees.  The feed costs the same for all trees of a joinrel.  Conditions
 * can only add to the cost of joining, and most attempts end at this bound.
 */
static inline GjReject
join_trees(Attempt *attempt, GjVariant variant)
{
	const GjTree *left = attempt->lefts[variant];
	const GjTree *right = attempt->rights[variant];
	const GjTree *best = attempt->state->trees[variant];
	Cost		bound;

	if (left->ninputs + right->ninputs > GJ_MAX_INPUTS ||
		left->ncolumns + right->ncolumns > MAX_TOTAL_COLUMNS)
		return GJ_REJECT_TOO_LARGE;
	bound = gj_join_bound(attempt->joinrel, left, right, attempt->status);
	if (best != NULL && !best->block_only && best->join_cost <= bound)
		return GJ_ACCEPTED;
	return add_tree(attempt, variant, bound);
}

/* Sets the rates of a side that has not been joined before. */
static inline void
rate_side(const struct gj_status *status, GjTree *const *trees)
{
	if (trees[GJ_SERIAL]->build_ns != 0)
		return;
	for (int v = 0; v < GJ_VARIANTS; v++)
		if (trees[v] != NULL)
			gj_rate(status, trees[v]);
}

/*
 * Core calls the hook several times for one pair of relations, once for each
 * way to execute their join.  One of the calls is enough for all jobs.  It is
 * the last one if possible, which sees the native paths of the others:
 *   - inner and full joins: the second of both orders.
 *   - left joins: the call as a right join, which is the second one.
 *   - semi and anti joins: the call as such.  Those that follow (with the
 *     right side made distinct, or with the sides swapped) only bring native
 *     paths.
 * Returns whether this is the call, and sets the sides of our join if so.
 */
static bool
is_our_call(GjJoinrel *state, RelOptInfo *outerrel, RelOptInfo *innerrel, JoinType jointype,
			JoinType *kind, RelOptInfo **left, RelOptInfo **right)
{
	bool		second;

	*kind = jointype;
	*left = outerrel;
	*right = innerrel;
	switch (jointype)
	{
		case JOIN_INNER:
		case JOIN_FULL:
			second = state->first_outer == innerrel && state->first_inner == outerrel;
			state->first_outer = second ? NULL : outerrel;
			state->first_inner = second ? NULL : innerrel;
			return second;
		case JOIN_RIGHT:
			*kind = JOIN_LEFT;
			*left = innerrel;
			*right = outerrel;
			return true;
		case JOIN_SEMI:
		case JOIN_ANTI:
			return true;
		default:
			return false;
	}
}

static bool
makes_distinct(JoinType jointype)
{
	return jointype == JOIN_UNIQUE_OUTER || jointype == JOIN_UNIQUE_INNER;
}

/* Joins the trees of both relations. */
static pg_noinline GjReject
join_sides(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state, JoinType kind,
		   RelOptInfo *left, RelOptInfo *right, const JoinPathExtraData *extra)
{
	Attempt		attempt;
	GjReject	reject;

	if ((reject = find_side(root, left, &attempt.lefts)) != GJ_ACCEPTED ||
		(reject = find_side(root, right, &attempt.rights)) != GJ_ACCEPTED ||
		(reject = check_outputs(root, joinrel, state)) != GJ_ACCEPTED)
		return reject;
	attempt.status = gj_query_daemon(state->query);
	if (attempt.status == NULL)
		return gj_reject_daemon(state->query->daemon);
	rate_side(attempt.status, attempt.lefts);
	rate_side(attempt.status, attempt.rights);

	attempt.root = root;
	attempt.joinrel = joinrel;
	attempt.state = state;
	attempt.kind = kind;
	attempt.left = left;
	attempt.right = right;
	attempt.extra = extra;
	attempt.split = false;

	/* verification compares two whole results, so it needs one process */
	if (state->query->shares && joinrel->consider_parallel && !gj_verify &&
		attempt.lefts[GJ_PARALLEL] != NULL && attempt.rights[GJ_PARALLEL] != NULL)
		join_trees(&attempt, GJ_PARALLEL);

	/* the reason that rejects the serial job is reported for the join */
	return join_trees(&attempt, GJ_SERIAL);
}

/*
 * Is this join a part of a join order that the genetic search only tries?  It tries
 * thousands, each in a memory context of its own, and builds the joinrels of each one
 * anew.  It builds the best one again in the end, in the context in which it was called.
 */
static bool
is_measured(void)
{
	return search.genetic != NULL && CurrentMemoryContext != search.genetic;
}

static GjQuery *
query_of(PlannerInfo *root)
{
	if (search.root != root)
		return gj_query(root);
	if (search.query == NULL)
		search.query = gj_query(root);
	return search.query;
}

/* The joinrel's state.  NULL: it has none so far. */
static inline GjJoinrel *
joinrel_state(const PlannerInfo *root, const RelOptInfo *joinrel)
{
	GjJoinrel  *state;

	if (search.joinrel == joinrel && search.root == root)
		return search.state;
	state = gj_joinrel_state(joinrel);
	if (state != NULL && search.root == root)
	{
		search.joinrel = joinrel;
		search.state = state;
	}
	return state;
}

static GjReject
consider(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
		 RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	GjJoinrel  *state = joinrel_state(root, joinrel);
	GjQuery    *query = state != NULL ? state->query : query_of(root);
	RelOptInfo *left;
	RelOptInfo *right;
	JoinType	kind;

	if (query->rows < gj_min_rows && !query->mirrored && !gj_debug_force)
		return GJ_REJECT_SIZE;
	if (!query->no_rechecks)
		return GJ_REJECT_COMMAND;
	if (joinrel->lateral_relids != NULL && !bms_is_empty(joinrel->lateral_relids))
		return GJ_REJECT_LATERAL;
	if (state == NULL && (state = gj_make_joinrel_state(joinrel, query)) == NULL)
		return GJ_REJECT_FOREIGN;
	if (is_our_call(state, outerrel, innerrel, jointype, &kind, &left, &right))
		return join_sides(root, joinrel, state, kind, left, right, extra);
	gj_refresh_native(root, joinrel, state);
	return makes_distinct(jointype) ? GJ_REJECT_UNIQUE : GJ_ACCEPTED;
}

static void
join_hook(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
		  RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra)
{
	GjReject	reject;

	if (previous_join_hook)
		previous_join_hook(root, joinrel, outerrel, innerrel, jointype, extra);
	if (!gj_enabled || joinrel->reloptkind != RELOPT_JOINREL || is_measured())
		return;
	reject = consider(root, joinrel, outerrel, innerrel, jointype, extra);
	if (reject != GJ_ACCEPTED)
		gj_reject(root, joinrel, reject);
}

/*
 * Adds paths for the best jobs of a query's topmost joinrel.  A job's cost is in proportion to
 * that of one native path.  Before the search ends that may be a path far slower
 * than its cost says, and core would then drop a faster one that it finds later.
 */
static void
add_topmost(PlannerInfo *root, RelOptInfo *joinrel)
{
	GjJoinrel  *state = gj_joinrel_state(joinrel);
	GjReject	reject;

	if (joinrel->reloptkind != RELOPT_JOINREL || state == NULL || !gj_is_topmost(root, joinrel) ||
		state->trees[GJ_SERIAL] == NULL)
		return;
	if (state->trees[GJ_PARALLEL] != NULL)
		(void) gj_add_join_paths(root, joinrel, state, GJ_PARALLEL);
	reject = gj_add_join_paths(root, joinrel, state, GJ_SERIAL);
	if (reject != GJ_ACCEPTED)
		gj_reject(root, joinrel, reject);
	set_cheapest(joinrel);
}

static RelOptInfo *
search_joins(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	if (previous_search_hook)
		return previous_search_hook(root, levels_needed, initial_rels);
	if (!enable_geqo || levels_needed < geqo_threshold)
		return standard_join_search(root, levels_needed, initial_rels);

	/*
	 * Native paths alone decide on the join order.  Trees and paths are made for
	 * the order that is chosen.
	 */
	search.genetic = CurrentMemoryContext;
	return geqo(root, levels_needed, initial_rels);
}

/*
 * A library loaded later may replace this hook without calling it.  Then the
 * join hook adds the paths of topmost joins, as it does for all others.
 */
static RelOptInfo *
search_hook(PlannerInfo *root, int levels_needed, List *initial_rels)
{
	Search		outer = search; /* estimating may plan another query */
	RelOptInfo *rel;

	search = (Search)
	{
		.root = root
	};
	PG_TRY();
	{
		rel = search_joins(root, levels_needed, initial_rels);
	}
	PG_FINALLY();
	{
		search = outer;
	}
	PG_END_TRY();
	if (gj_enabled && rel != NULL)
		add_topmost(root, rel);
	return rel;
}

void
gj_install_join_hook(void)
{
	previous_join_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = join_hook;
	previous_search_hook = join_search_hook;
	join_search_hook = search_hook;
}
