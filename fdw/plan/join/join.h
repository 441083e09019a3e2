/*
 * plan/join/join.h - the joins of a job.
 */
#ifndef PLAN_JOIN_JOIN_H
#define PLAN_JOIN_JOIN_H

#include "postgres.h"

#include "plan/input/input.h"
#include "plan/state.h"

/* ---- the CustomPath of an OffloadJoin ---- */

/*
 * A CustomPath with additional fields.  Its custom_paths are those of the
 * inputs in order, then the native path.
 */
typedef struct GjPath
{
	CustomPath	cpath;
	GjVariant	variant;
	GjTree	   *tree;
	List	   *outputs;		/* Vars: the joinrel's target when the path was
								 * made, then columns read by deferred
								 * conditions only */
	int			ntarget;		/* number of outputs in that target */
	GjTime		time;
	double		native_ns;		/* that the native path is expected to take */
} GjPath;

/* Does the joinrel have all tables of the query?  No native plan then joins in another order. */
static inline bool
gj_is_topmost(const PlannerInfo *root, const RelOptInfo *joinrel)
{
	return bms_is_subset(root->all_baserels, joinrel->relids);
}

/*
 * Adds a path for state->trees[variant] if it is large enough, can be shared if that
 * is the variant, and is cheaper than the native plan.
 */
extern GjReject gj_add_join_paths(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state,
						 GjVariant variant);

/*
 * Gives the joinrel's OffloadJoins the cheapest native plan seen so far.
 */
extern void gj_refresh_native(PlannerInfo *root, RelOptInfo *joinrel, GjJoinrel *state);

/* ---- how key columns are fed and compared ---- */

/*
 * Decides how both columns of a key are fed and compared.
 */
extern GjKeyClass gj_key_forms(GjKeyKind kind, const Var *left, const Var *right,
							   GjForm *left_form, GjForm *right_form);

/* ---- the joins of a job ---- */

/*
 * Adds the tree's inputs, with space for columns, and then its joins in
 * post-order, with the columns that they read.  whole: the daemon evaluates
 * the deferred conditions as well.  Finally adds the filters.
 */
extern void gj_add_tree(GjInputs *inputs, GjTree *tree, bool whole);

#endif							/* PLAN_JOIN_JOIN_H */
