/*
 * explain_aggregate.h - the aggregation of a query block in EXPLAIN.
 */
#ifndef GPUJOIN_EXPLAIN_AGGREGATE_H
#define GPUJOIN_EXPLAIN_AGGREGATE_H

#include "explain.h"

/* Shows keys or grouping sets, aggregates, and conditions on groups. */
extern void gj_explain_aggregate(const CustomScan *scan, const GjPlan *plan, ExplainState *es);

#endif							/* GPUJOIN_EXPLAIN_AGGREGATE_H */
