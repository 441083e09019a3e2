/*
 * plan_aggregate_float.h - aggregate functions of floats.
 */
#ifndef GPUJOIN_PLAN_AGGREGATE_FLOAT_H
#define GPUJOIN_PLAN_AGGREGATE_FLOAT_H

#include "plan_aggregate_column.h"

/* The least or greatest float: name is min or max. */
extern GjReject gj_add_float_extreme(GjAggregation *a, const Aggref *aggref, const char *name,
									 const char *filter, GjResult *result);

/* A sum or an average of floats. */
extern GjReject gj_add_float_sum(GjAggregation *a, const Aggref *aggref, bool average,
								 const char *filter, GjResult *result);

#endif							/* GPUJOIN_PLAN_AGGREGATE_FLOAT_H */
