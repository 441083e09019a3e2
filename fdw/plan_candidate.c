/*
 * plan_candidate.c - job trees and their storage.
 */
#include "postgres.h"

#include "plan_candidate.h"
#include "plan_cost.h"

static const char stash_tag = 'j';	/* its address marks our stashes */

GjStash *
gj_joinrel_stash(const RelOptInfo *joinrel)
{
	GjStash    *stash = joinrel->fdw_private;

	if (stash == NULL || joinrel->fdwroutine != NULL ||
		joinrel->reloptkind != RELOPT_JOINREL || stash->tag != &stash_tag)
		return NULL;
	return stash;
}

GjStash *
gj_make_stash(PlannerInfo *root, RelOptInfo *joinrel)
{
	GjStash    *stash;

	if (joinrel->fdw_private != NULL || joinrel->fdwroutine != NULL ||
		joinrel->reloptkind != RELOPT_JOINREL)
		return gj_joinrel_stash(joinrel);

	/* allocate where the joinrel is: with GEQO not the planner's context */
	stash = MemoryContextAllocZero(GetMemoryChunkContext(joinrel), sizeof(GjStash));
	stash->tag = &stash_tag;
	stash->query = gj_query(root);
	stash->return_weight = -1;
	for (int v = 0; v < GJ_VARIANTS; v++)
		stash->costs[v] = -1;
	joinrel->fdw_private = stash;
	return stash;
}

Cost
gj_join_cost(const RelOptInfo *joinrel, const GjCandidate *left,
			 const GjCandidate *right, double selectivity,
			 const struct gj_status *status, double *rows)
{
	*rows = joinrel->rows * left->surplus * right->surplus / Max(selectivity, 1e-9);
	return left->join_cost + right->join_cost +
		gj_daemon_cost(status, left, right, *rows,
					   list_length(joinrel->reltarget->exprs));
}

GjCandidate *
gj_combine(const RelOptInfo *joinrel, GjCandidate *left, GjCandidate *right,
		   const GjClauses *clauses, Cost join_cost, double rows)
{
	GjCandidate *tree = palloc0(sizeof(GjCandidate));

	tree->left = left;
	tree->right = right;
	tree->keys = clauses->keys;
	tree->residual = clauses->residual;
	tree->rows = rows;
	tree->surplus = rows / joinrel->rows;
	tree->input_rows = left->input_rows + right->input_rows;
	tree->bytes = left->bytes + right->bytes;
	tree->scan_cost = left->scan_cost + right->scan_cost;
	tree->feed_cost = left->feed_cost + right->feed_cost;
	tree->join_cost = join_cost;
	tree->workers = Max(left->workers, right->workers);
	tree->ninputs = left->ninputs + right->ninputs;
	tree->ncolumns = left->ncolumns + right->ncolumns;
	tree->depth = 1 + Max(left->depth, right->depth);
	tree->nresiduals = left->nresiduals + right->nresiduals +
		list_length(clauses->residual);
	tree->secured = left->secured || right->secured;
	return tree;
}

static void
collect_residuals(const GjCandidate *tree, List **residuals)
{
	if (tree->nresiduals == 0)
		return;
	collect_residuals(tree->left, residuals);
	collect_residuals(tree->right, residuals);
	*residuals = list_concat(*residuals, tree->residual);
}

/*
 * A lower join's conditions come first, as they would in a native plan.  But a
 * condition never precedes one of a lower security level.
 */
List *
gj_residuals(const GjCandidate *tree)
{
	List	   *residuals = NIL;
	List	   *ordered = NIL;
	ListCell   *lc;

	collect_residuals(tree, &residuals);
	foreach(lc, residuals)
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
