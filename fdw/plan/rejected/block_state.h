/*
 * plan/rejected/block_state.h - what the notices need to know about a block.
 */
#ifndef PLAN_REJECTED_BLOCK_STATE_H
#define PLAN_REJECTED_BLOCK_STATE_H

#include "compat.h"
#include "plan/rejected/reasons.h"

/* The state of an aggregation's relation. */
typedef struct GjBlockState
{
	Relids		relids;			/* the aggregated tables */
	GjReject	reject;
	GjPrice		price;			/* of the cheapest job; cost < 0: no job was added */
} GjBlockState;

/* NULL if there is none. */
extern GjBlockState *gj_block_state(const RelOptInfo *rel);

/* Creates an empty one; NULL as for gj_get_state(). */
extern GjBlockState *gj_make_block_state(RelOptInfo *rel, Relids relids);

/* Remembers the price of a path that is added for the relation. */
extern void gj_note_block(RelOptInfo *rel, const Path *path);

#endif							/* PLAN_REJECTED_BLOCK_STATE_H */
