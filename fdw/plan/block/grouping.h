/*
 * plan/block/grouping.h - the aggregation of a query block, as the daemon does it.
 */
#ifndef PLAN_BLOCK_GROUPING_H
#define PLAN_BLOCK_GROUPING_H

#include "plan/input/input.h"
#include "plan/state.h"

/* An aggregation as core plans it. */
typedef struct GjGrouping
{
	List	   *keys;			/* GROUP BY expressions */
	List	   *clauses;		/* their SortGroupClauses */
	List	   *sets;			/* grouping sets: lists of references of clauses;
								 * NIL: one by all keys */
	List	   *leaves;			/* what is read above it, custom_scan_tlist: keys,
								 * then columns that depend on them, Aggrefs and
								 * GroupingFuncs */
	List	   *having;			/* conditions on groups */
} GjGrouping;

/*
 * Translates an aggregation of the tree's rows.  ninputs is the number of the
 * tree's inputs, inputs NULL to check only.  Returns the reason why it cannot
 * be translated.  If there is none, *result is filled in, with arrays that are
 * allocated here.
 */
extern GjReject gj_translate_aggregation(PlannerInfo *root, GjInputs *inputs,
										 const GjTree *tree, int ninputs,
										 const GjGrouping *grouping, GjAggregate *result);

#endif							/* PLAN_BLOCK_GROUPING_H */
