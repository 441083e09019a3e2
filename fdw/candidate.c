/*
 * candidate.c - job trees and where they are kept.
 */
#include "postgres.h"

#include "candidate.h"
#include "cost.h"

static const char stash_tag = 'j';	/* its address marks our stashes */

GjStash *
gj_joinrel_stash(RelOptInfo *joinrel, bool create)
{
	GjStash    *stash = joinrel->fdw_private;

	if (joinrel->fdwroutine != NULL || joinrel->reloptkind != RELOPT_JOINREL)
		return NULL;
	if (stash != NULL)
		return stash->tag == &stash_tag ? stash : NULL;
	if (!create)
		return NULL;

	/* where the joinrel lives: under GEQO that is not the planner's context */
	stash = MemoryContextAllocZero(GetMemoryChunkContext(joinrel), sizeof(GjStash));
	stash->tag = &stash_tag;
	stash->return_weight = -1;
	joinrel->fdw_private = stash;
	return stash;
}

void
gj_combine(RelOptInfo *joinrel, GjCandidate *left, GjCandidate *right,
		   double selectivity, const struct gj_status *status, GjCandidate *tree)
{
	memset(tree, 0, sizeof(GjCandidate));
	tree->left = left;
	tree->right = right;
	tree->surplus = left->surplus * right->surplus / Max(selectivity, 1e-9);
	tree->rows = joinrel->rows * tree->surplus;
	tree->bytes = left->bytes + right->bytes;
	tree->feed_cost = left->feed_cost + right->feed_cost;
	tree->join_cost = left->join_cost + right->join_cost +
		gj_daemon_cost(status, left, right, tree->rows,
					   list_length(joinrel->reltarget->exprs));
	tree->workers = Max(left->workers, right->workers);
	tree->ninputs = left->ninputs + right->ninputs;
	tree->ncolumns = left->ncolumns + right->ncolumns;
	tree->depth = 1 + Max(left->depth, right->depth);
	tree->secured = left->secured || right->secured;
}

static void
collect_residuals(const GjCandidate *tree, List **residuals)
{
	if (tree->left == NULL)
		return;
	collect_residuals(tree->left, residuals);
	collect_residuals(tree->right, residuals);
	*residuals = list_concat(*residuals, tree->residual);
}

/*
 * A lower join's conditions come first, as they would in a native plan, but a
 * condition never before one of a lower security level.
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
