/*
 * plan/block/grouping_sets.h - GROUPING SETS, ROLLUP and CUBE.
 */
#ifndef PLAN_BLOCK_GROUPING_SETS_H
#define PLAN_BLOCK_GROUPING_SETS_H

#include "plan/block/column.h"
#include "plan/block/grouping.h"

/*
 * Completes an aggregation by all keys, whose columns have been added, to one
 * by grouping sets.  Sets the members of *a->result.
 */
extern GjReject gj_add_grouping_sets(GjAggregation *a, const GjGrouping *grouping);

/* Adds the input whose rows are the grouping sets, behind all others. */
extern void gj_add_sets_input(GjInputs *inputs, const GjGrouping *grouping,
							  const GjAggregate *aggregate);

#endif							/* PLAN_BLOCK_GROUPING_SETS_H */
