/*
 * plan_grouping_sets.h - GROUPING SETS, ROLLUP and CUBE.
 */
#ifndef GPUJOIN_PLAN_GROUPING_SETS_H
#define GPUJOIN_PLAN_GROUPING_SETS_H

#include "plan_aggregate.h"
#include "plan_aggregate_column.h"

/*
 * Completes an aggregation by all keys, whose columns have been added, to one
 * by grouping sets.  Sets the members of *a->result.
 */
extern GjReject gj_add_grouping_sets(GjAggregation *a, const GjGrouping *grouping);

/* Adds the input whose rows are the grouping sets, behind all others. */
extern void gj_add_sets_input(GjInputs *inputs, const GjGrouping *grouping,
							  const GjAggregate *aggregate);

#endif							/* GPUJOIN_PLAN_GROUPING_SETS_H */
