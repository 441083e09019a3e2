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
} GjBlockPath;

#endif							/* GPUJOIN_PLAN_BLOCK_H */
