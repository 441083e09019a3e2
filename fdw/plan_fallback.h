/*
 * plan_fallback.h - the plan that runs when the daemon does not.
 */
#ifndef GPUJOIN_PLAN_FALLBACK_H
#define GPUJOIN_PLAN_FALLBACK_H

#include "plan_candidate.h"

extern bool gj_is_gpujoin(const Path *path);

/*
 * The cheapest path of the joinrel that is no GpuJoin, among those seen so
 * far; not to be kept.  NULL: there is none.
 */
extern const Path *gj_cheapest_native(RelOptInfo *joinrel, const GjStash *stash,
									  GjVariant variant);

/*
 * A form of that path to keep, without a GpuJoin anywhere in it; it is also
 * remembered in the stash.  NULL: it has a node that we cannot copy.
 */
extern Path *gj_keep_native(GjStash *stash, GjVariant variant, const Path *native);

#endif							/* GPUJOIN_PLAN_FALLBACK_H */
