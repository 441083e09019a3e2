/*
 * plan_block.h - the CustomPath of a GpuBlock.
 */
#ifndef GPUJOIN_PLAN_BLOCK_H
#define GPUJOIN_PLAN_BLOCK_H

#include "plan_candidate.h"

/*
 * A CustomPath with additional fields.  Its custom_paths are those of the
 * inputs in order, then the native path, which delivers the node's target.
 */
typedef struct GjBlockPath
{
	CustomPath	cpath;
	GjVariant	variant;
	GjCandidate *tree;
	List	   *keys;			/* GROUP BY expressions */
	List	   *clauses;		/* their SortGroupClauses */
	List	   *leaves;			/* custom_scan_tlist: keys, then dependent columns
								 * and Aggrefs */
	List	   *having;			/* conditions on groups */
	double		groups;			/* before HAVING */
	GjTime		time;
} GjBlockPath;

/*
 * Offers paths for the groups of the trees' rows.  clauses are the
 * SortGroupClauses of the keys, having the conditions on groups.  The target is
 * that of output.
 */
extern GjReject gj_offer_block(PlannerInfo *root, RelOptInfo *output, GjCandidate **trees,
							   List *clauses, List *having);

#endif							/* GPUJOIN_PLAN_BLOCK_H */
