/*
 * plan/block/block.h - query blocks: a job with an aggregation.
 */
#ifndef PLAN_BLOCK_BLOCK_H
#define PLAN_BLOCK_BLOCK_H

#include "postgres.h"

#include "plan/block/grouping.h"
#include "plan/state.h"

/* ---- the CustomPath of an OffloadBlock ---- */

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

/* ---- the only table of a block ---- */

/*
 * Remembers how a table would be scanned, in the hook for its paths: core later
 * replaces its target and paths by those that compute GROUP BY expressions.
 */
extern void gj_remember_scan(PlannerInfo *root, RelOptInfo *rel);

/*
 * Decides how a table is fed whose scan was remembered, when the hooks of all
 * libraries have run.  NULL if it was not remembered.
 */
extern GjBaserel *gj_scanned_base(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PLAN_BLOCK_BLOCK_H */
