/*
 * native.h - the plan that runs when the daemon does not.
 */
#ifndef GPUJOIN_NATIVE_H
#define GPUJOIN_NATIVE_H

#include "candidate.h"

extern bool gj_is_gpujoin(const Path *path);

/*
 * Keeps in stash->native[variant] the cheapest path of the joinrel without a
 * GpuJoin anywhere in it, among those seen so far.  False: there is none.
 */
extern bool gj_keep_native(RelOptInfo *joinrel, GjStash *stash, GjVariant variant);

/* Raises an error if a native child would offload after all. */
extern void gj_check_native_plan(const Plan *plan);

#endif							/* GPUJOIN_NATIVE_H */
