/*
 * plan/block/paths.h - the CustomPath of an OffloadBlock.
 */
#ifndef PLAN_BLOCK_PATHS_H
#define PLAN_BLOCK_PATHS_H

#include "plan/block/grouping.h"

/*
 * A CustomPath with additional fields.  Its custom_paths are those of the
 * inputs in order, then the native path, which delivers the node's target.
 */
typedef struct GjBlockPath
{
	CustomPath	cpath;
	GjVariant	variant;
	GjTree	   *tree;
	GjGrouping	grouping;
	double		groups;			/* before HAVING */
	double		growth;		/* groups / core's estimate of them */
	double		finest_groups;	/* by all keys, if there are grouping sets */
	GjTime		time;
	const char *defect;			/* of the node that was made of it; NULL: none */
} GjBlockPath;

/*
 * Adds paths for the groups of the trees' rows.  clauses are the
 * SortGroupClauses of the keys, sets the grouping sets as core has expanded
 * them, having the conditions on groups.  The target is that of output.
 */
extern GjReject gj_add_block_paths(PlannerInfo *root, RelOptInfo *output, GjTree **trees,
							   List *clauses, List *sets, List *having);

#endif							/* PLAN_BLOCK_PATHS_H */
