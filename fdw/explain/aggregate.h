/*
 * explain/aggregate.h - the aggregation of a query block in EXPLAIN.
 */
#ifndef EXPLAIN_AGGREGATE_H
#define EXPLAIN_AGGREGATE_H

#include "explain/explain.h"

/* Shows keys or grouping sets, aggregates, and conditions on groups. */
extern void gj_explain_aggregate(const CustomScan *scan, const GjPlan *plan, ExplainState *es);

#endif							/* EXPLAIN_AGGREGATE_H */
