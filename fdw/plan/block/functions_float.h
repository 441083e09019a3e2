/*
 * plan/block/functions_float.h - aggregate functions of floats.
 */
#ifndef PLAN_BLOCK_FUNCTIONS_FLOAT_H
#define PLAN_BLOCK_FUNCTIONS_FLOAT_H

#include "plan/block/column.h"

/* The least or greatest float: name is min or max. */
extern GjReject gj_add_float_extreme(GjAggregation *a, const Aggref *aggref, const char *name,
									 const char *filter, GjResult *result);

/* A sum or an average of floats. */
extern GjReject gj_add_float_sum(GjAggregation *a, const Aggref *aggref, bool average,
								 const char *filter, GjResult *result);

#endif							/* PLAN_BLOCK_FUNCTIONS_FLOAT_H */
