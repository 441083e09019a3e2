/*
 * plan_aggregate_function.h - aggregate functions, as the daemon computes them.
 */
#ifndef GPUJOIN_PLAN_AGGREGATE_FUNCTION_H
#define GPUJOIN_PLAN_AGGREGATE_FUNCTION_H

#include "plan_aggregate_column.h"

/*
 * Adds the columns that an aggregate function needs, and describes in *result
 * how they become its value.  Returns the reason why that is not possible.
 */
extern GjReject gj_add_function(GjAggregation *a, const Aggref *aggref, GjResult *result);

#endif							/* GPUJOIN_PLAN_AGGREGATE_FUNCTION_H */
