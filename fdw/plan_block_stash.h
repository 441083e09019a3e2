/*
 * plan_block_stash.h - what the notices need to know about a block.
 */
#ifndef GPUJOIN_PLAN_BLOCK_STASH_H
#define GPUJOIN_PLAN_BLOCK_STASH_H

#include "plan_reject.h"

/* The RelOptInfo.fdw_private of an aggregation's relation. */
typedef struct GjBlockStash
{
	const void *tag;
	Relids		relids;			/* the aggregated tables */
	GjReject	reject;
	Cost		cost;			/* of the cheapest job; < 0: none was offered */
} GjBlockStash;

/* NULL if there is none, or if another extension uses fdw_private. */
extern GjBlockStash *gj_block_stash(const RelOptInfo *rel);

/* Creates an empty one; NULL if another extension uses fdw_private. */
extern GjBlockStash *gj_make_block_stash(RelOptInfo *rel, Relids relids);

/* Remembers the cost of a path that is offered for the relation. */
extern void gj_note_block(RelOptInfo *rel, const Path *path);

#endif							/* GPUJOIN_PLAN_BLOCK_STASH_H */
