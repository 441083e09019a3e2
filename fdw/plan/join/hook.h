/*
 * plan/join/hook.h - the CustomPath of an OffloadJoin.
 */
#ifndef PLAN_JOIN_HOOK_H
#define PLAN_JOIN_HOOK_H

#include "plan/state.h"

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

#endif							/* PLAN_JOIN_HOOK_H */
