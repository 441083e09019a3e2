/*
 * plan/block/functions.h - aggregate functions, as the daemon computes them.
 */
#ifndef PLAN_BLOCK_FUNCTIONS_H
#define PLAN_BLOCK_FUNCTIONS_H

#include "plan/block/column.h"

/*
 * Adds the columns that an aggregate function needs, and describes in *result
 * how they become its value.  Returns the reason why that is not possible.
 */
extern GjReject gj_add_function(GjAggregation *a, const Aggref *aggref, GjResult *result);

#endif							/* PLAN_BLOCK_FUNCTIONS_H */
