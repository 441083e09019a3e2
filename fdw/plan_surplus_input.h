/*
 * plan_surplus_input.h - rows of subqueries and CTEs that core underestimates.
 */
#ifndef GPUJOIN_PLAN_SURPLUS_INPUT_H
#define GPUJOIN_PLAN_SURPLUS_INPUT_H

#include "plan_candidate.h"

/*
 * The factor, at least 1, by which the rows of a base relation are expected to
 * exceed core's estimate.
 */
extern double gj_rel_surplus(PlannerInfo *root, RelOptInfo *rel);

#endif							/* GPUJOIN_PLAN_SURPLUS_INPUT_H */
