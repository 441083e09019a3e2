/*
 * plan/cost/rows_range.h - joins of rows that were selected by a range of an
 * ordered table.
 */
#ifndef PLAN_COST_ROWS_RANGE_H
#define PLAN_COST_ROWS_RANGE_H

#include "nodes/pathnodes.h"

/*
 * The factor, at least 1, by which the rows that pass a = b are expected to
 * exceed core's estimate, because conditions of the tables of a and b select
 * those values that the other table has.
 */
extern double gj_range_growth(PlannerInfo *root, const Var *a, const Var *b);

#endif							/* PLAN_COST_ROWS_RANGE_H */
