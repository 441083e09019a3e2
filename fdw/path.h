/*
 * path.h - the CustomPath of a GpuJoin.
 */
#ifndef GPUJOIN_PATH_H
#define GPUJOIN_PATH_H

#include "candidate.h"

/* The only member of CustomPath.custom_private. */
typedef struct GjPath
{
	GjVariant	variant;
	GjCandidate *tree;
	List	   *outputs;		/* Vars: the joinrel's target when the path was made */
} GjPath;

/* Offers stash->candidates[variant] if it is cheaper than the native plan. */
extern GjReject gj_offer(PlannerInfo *root, RelOptInfo *joinrel, GjStash *stash,
						 GjVariant variant);

#endif							/* GPUJOIN_PATH_H */
