/*
 * plan_aggregate.h - the aggregation of a query block, as the daemon does it.
 */
#ifndef GPUJOIN_PLAN_AGGREGATE_H
#define GPUJOIN_PLAN_AGGREGATE_H

#include "plan_candidate.h"
#include "plan_inputs.h"

/*
 * Translates an aggregation of the tree's rows.  keys are the GROUP BY expressions and clauses
 * their SortGroupClauses, leaves all expressions that are read above it: keys,
 * columns that depend on them, and Aggrefs.  inputs is NULL to check only.
 * Returns the reason why it cannot be translated.  If there is none, *result
 * is filled in, with arrays that are allocated here.
 */
extern GjReject gj_translate_aggregation(PlannerInfo *root, GjInputs *inputs,
										 const GjCandidate *tree, int source, List *keys, List *clauses,
										 List *leaves, List *having, GjAggregate *result);

#endif							/* GPUJOIN_PLAN_AGGREGATE_H */
