/*
 * plan/cost/rows_input.h - rows of subqueries and CTEs that core underestimates.
 */
#ifndef PLAN_COST_ROWS_INPUT_H
#define PLAN_COST_ROWS_INPUT_H

#include "plan/state.h"

/*
 * The factor, at least 1, by which the rows of a base relation are expected to
 * exceed core's estimate.
 */
extern double gj_rel_growth(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PLAN_COST_ROWS_INPUT_H */
