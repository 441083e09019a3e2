/*
 * plan/native/fallback.h - the native plan that runs if the daemon cannot.
 */
#ifndef PLAN_NATIVE_FALLBACK_H
#define PLAN_NATIVE_FALLBACK_H

#include "plan/state.h"

/* Is it the path of an OffloadJoin or of an OffloadBlock? */
static inline bool
gj_is_gpujoin(const Path *path)
{
	return IsA(path, CustomPath) &&
		(((const CustomPath *) path)->methods == &gj_path_methods ||
		 ((const CustomPath *) path)->methods == &gj_block_path_methods);
}

/*
 * Returns a copy of an upper relation's cheapest path other than an OffloadBlock,
 * or NULL.  The copy contains no OffloadJoin either.  *cheapest is the path
 * itself.
 */
extern Path *gj_native_upper(const RelOptInfo *rel, const Path **cheapest);

/*
 * Returns the cheapest path of the joinrel seen so far that is not an OffloadJoin,
 * or NULL if there is none.  The caller must not keep it.
 */
extern const Path *gj_cheapest_native(RelOptInfo *joinrel, const GjJoinrel *state,
									  GjVariant variant);

/*
 * Returns a copy of that path that may be kept and contains no OffloadJoin, and
 * remembers it in the state.  NULL if the path contains a node that we cannot
 * copy.
 */
extern Path *gj_keep_native(GjJoinrel *state, GjVariant variant, const Path *native);

#endif							/* PLAN_NATIVE_FALLBACK_H */
