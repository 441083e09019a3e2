/*
 * plan/cost/rows.h - joins whose result core underestimates.
 */
#ifndef PLAN_COST_ROWS_H
#define PLAN_COST_ROWS_H

#include "nodes/pathnodes.h"

/*
 * The factor by which a join's result is expected to exceed core's estimate,
 * given the RestrictInfos by which the two sides are joined.
 */
extern double gj_key_growth(PlannerInfo *root, const List *clauses);

/*
 * The expected rows of a join, given core's estimate and the factor by which
 * they exceed it.  core's estimate is never less than one row, so that the
 * factor would be applied to a rounded number.  Then the rows of both sides
 * limit the result, of which pairs pass the clauses.
 */
extern double gj_growth_rows(PlannerInfo *root, double rows, double growth,
							  double pairs, const List *clauses);

/*
 * The expected number of groups of the given rows by at least one key, if core
 * expects groups for core_rows rows.
 */
extern double gj_grown_groups(double groups, double core_rows, double rows);

#endif							/* PLAN_COST_ROWS_H */
