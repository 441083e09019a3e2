/*
 * plan/join/tree.c - job trees and their storage.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"

#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/state.h"
#include "util.h"

GjJoinrel *
gj_make_joinrel_state(RelOptInfo *joinrel, GjQuery *query)
{
	GjJoinrel  *state = gj_joinrel_state(joinrel);

	if (state != NULL || joinrel->reloptkind != RELOPT_JOINREL ||
		(state = gj_get_state(joinrel, sizeof(GjJoinrel))) == NULL)
		return state;
	state->query = query;
	state->return_weight = -1;
	for (int v = 0; v < GJ_VARIANTS; v++)
		state->prices[v].cost = -1;
	return state;
}

/*
 * The number of pairs on which the daemon evaluates the residual condition: all
 * that match by their keys, few of which may become rows.
 */
static double
matching_pairs(const GjJoining *joining, const GjClauses *clauses)
{
	SpecialJoinInfo inner = {.type = T_SpecialJoinInfo, .jointype = JOIN_INNER};

	inner.min_lefthand = inner.syn_lefthand = joining->left->relids;
	inner.min_righthand = inner.syn_righthand = joining->right->relids;
	return joining->left->rows * joining->right->rows *
		clauselist_selectivity(joining->root, clauses->key_clauses, 0, JOIN_INNER, &inner);
}

/* Of joins of which "rows" are the result, without conditions other than keys. */
static Cost
joining_cost(const RelOptInfo *joinrel, const GjTree *left, const GjTree *right,
			 const struct gj_status *status, double rows)
{
	return left->join_cost + right->join_cost +
		gj_daemon_cost(status, left, right, rows, list_length(joinrel->reltarget->exprs));
}

Cost
gj_join_bound(const RelOptInfo *joinrel, const GjTree *left, const GjTree *right,
			  const struct gj_status *status)
{
	return joining_cost(joinrel, left, right, status, joinrel->rows);
}

Cost
gj_join_cost(const GjJoining *joining, const GjClauses *clauses,
			 const struct gj_status *status, double *rows)
{
	const GjTree *left = joining->left;
	const GjTree *right = joining->right;
	double		growth = left->growth * clauses->key_growth / Max(clauses->selectivity, 1e-9);
	Cost		cost;

	/* rows of a semi join have several partners, of an anti join none */
	if (joining->kind == JOIN_SEMI)
		growth *= sqrt(right->growth);
	else if (joining->kind != JOIN_ANTI)
		growth *= right->growth;
	*rows = joining->joinrel->rows * growth;
	if (joining->kind == JOIN_INNER)
		*rows = gj_growth_rows(joining->root, joining->joinrel->rows, growth,
								left->rows * right->rows, clauses->key_clauses);
	else if (joining->kind == JOIN_SEMI)
		*rows = Max(Min(*rows, left->rows), joining->joinrel->rows);
	cost = joining_cost(joining->joinrel, left, right, status, *rows);
	if (clauses->residual != NIL)
		cost += gj_condition_cost(status, matching_pairs(joining, clauses),
								  list_length(clauses->residual));
	if (clauses->filter != NIL)
		cost += gj_condition_cost(status, *rows, list_length(clauses->filter));
	return cost;
}

/*
 * The growth of the rows that have passed all clauses.  A semi or anti join has
 * at most the rows of its left side.
 */
static double
combined_growth(const GjJoining *joining, const GjClauses *clauses)
{
	const GjTree *left = joining->left;
	const GjTree *right = joining->right;
	double		growth = left->key_growth;

	switch (joining->kind)
	{
		case JOIN_ANTI:
			return growth;
		case JOIN_SEMI:
			growth *= clauses->key_growth * sqrt(right->key_growth);
			return Min(growth, Max(left->rows / Max(joining->joinrel->rows, 1), 1));
		default:
			return growth * right->key_growth * clauses->key_growth;
	}
}

GjTree *
gj_combine(const GjJoining *joining, const GjClauses *clauses, bool block_only,
		   Cost join_cost, double rows)
{
	GjTree	   *tree = palloc0(sizeof(GjTree));
	GjTree	   *left = joining->left;
	GjTree	   *right = joining->right;

	tree->kind = joining->kind;
	tree->left = left;
	tree->right = right;
	tree->relids = joining->joinrel->relids;
	tree->hidden = joining->kind == JOIN_SEMI || joining->kind == JOIN_ANTI ?
		bms_union(left->hidden, right->relids) : bms_union(left->hidden, right->hidden);
	tree->keys = clauses->keys;
	tree->residual = clauses->residual;
	tree->filter = clauses->filter;
	tree->deferred = clauses->deferred;
	tree->shipped = clauses->shipped;
	tree->ndeferred = left->ndeferred + right->ndeferred + list_length(clauses->deferred);
	gj_measure_tree(tree);
	tree->ships_deferred = clauses->ships_deferred &&
		left->ships_deferred && right->ships_deferred;
	tree->block_only = block_only;
	tree->rows = rows;
	tree->growth = rows / joining->joinrel->rows;
	tree->key_growth = combined_growth(joining, clauses);
	tree->input_rows = left->input_rows + right->input_rows;
	tree->rows_read = left->rows_read + right->rows_read;
	tree->bytes = left->bytes + right->bytes;
	tree->scan_cost = left->scan_cost + right->scan_cost;
	tree->feed_cost = left->feed_cost + right->feed_cost;
	tree->kept_saving = left->kept_saving + right->kept_saving;
	tree->promise = left->promise + right->promise;
	tree->disabled = left->disabled + right->disabled;
	tree->join_cost = join_cost;
	tree->workers = Max(left->workers, right->workers);
	tree->ninputs = left->ninputs + right->ninputs;
	tree->ncolumns = left->ncolumns + right->ncolumns;
	tree->mirrored = left->mirrored || right->mirrored;
	tree->secured = left->secured || right->secured;
	return tree;
}

static ListCell *
store_inputs(const GjTree *tree, ListCell *next)
{
	if (tree->source == NULL)
		return store_inputs(tree->right, store_inputs(tree->left, next));
	next->ptr_value = tree->source->path;
	return next + 1;
}

List *
gj_children(const GjTree *tree, Path *native)
{
	List	   *paths = gj_make_list(T_List, tree->ninputs + (native != NULL));
	ListCell   *next = store_inputs(tree, list_head(paths));

	if (native != NULL)
		next->ptr_value = native;
	return paths;
}

static void
collect_deferred(const GjTree *tree, List **conditions)
{
	if (tree->ndeferred == 0)
		return;
	collect_deferred(tree->left, conditions);
	collect_deferred(tree->right, conditions);
	*conditions = list_concat(*conditions, tree->deferred);
}

/*
 * A lower join's conditions come first, as they would in a native plan.  But a
 * condition never precedes one of a lower security level.
 */
List *
gj_deferred(const GjTree *tree)
{
	List	   *conditions = NIL;
	List	   *ordered = NIL;
	ListCell   *lc;

	if (tree->ndeferred == 0)
		return NIL;
	collect_deferred(tree, &conditions);
	foreach(lc, conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		int			at = list_length(ordered);

		while (at > 0 &&
			   list_nth_node(RestrictInfo, ordered, at - 1)->security_level > rinfo->security_level)
			at--;
		ordered = list_insert_nth(ordered, at, rinfo);
	}
	return ordered;
}

/*
 * A semi join's keys are equal in all rows that it returns, so a key column of
 * its left side stands for that of its right side.  An anti join has no such
 * column: above it, all columns of the right side are NULL.
 */
Var *
gj_equal_column(const GjTree *tree, Var *var, GjKeyKind kind)
{
	ListCell   *lc;

	if (!bms_is_member(var->varno, tree->hidden))
		return var;
	if (bms_is_member(var->varno, tree->left->relids))
		return gj_equal_column(tree->left, var, kind);
	var = gj_equal_column(tree->right, var, kind);
	if (var == NULL || tree->kind == JOIN_ANTI)
		return NULL;
	if (tree->kind != JOIN_SEMI)
		return var;
	foreach(lc, tree->keys)
	{
		GjKey	   *key = lfirst(lc);
		Var		   *right = key->kind == kind ?
			gj_equal_column(tree->right, key->right, kind) : NULL;

		if (right != NULL && right->varno == var->varno && right->varattno == var->varattno)
			return gj_equal_column(tree->left, key->left, kind);
	}
	return NULL;
}

/*
 * Equal numerics may have different scales, and equal bpchar values different
 * lengths, unless a typmod fixes them.
 */
Var *
gj_same_column(const GjTree *tree, Var *var)
{
	if (!bms_is_member(var->varno, tree->hidden))
		return var;
	for (GjKeyKind kind = 0; kind < GJ_KEY_KINDS; kind++)
	{
		Var		   *equal = gj_equal_column(tree, var, kind);
		bool		padded = kind == GJ_KEY_BPCHAR || kind == GJ_KEY_NUMERIC;

		if (equal != NULL && equal->vartype == var->vartype &&
			(gj_equal_by_bytes(kind) ||
			 (padded && var->vartypmod >= 0 && equal->vartypmod == var->vartypmod)))
			return equal;
	}
	return NULL;
}
