/*
 * plan/input/subquery.h - subqueries of which two plans are made.
 */
#ifndef PLAN_INPUT_SUBQUERY_H
#define PLAN_INPUT_SUBQUERY_H

#include "gpujoin.h"

/* Can a plan of the query level be made twice? */
extern bool gj_planned_twice_safely(PlannerInfo *subroot);

/*
 * To be called when plans are made of a relation that has passed the check: it
 * is planned twice, as an input and in the native plan.
 */
extern void gj_planned_twice(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PLAN_INPUT_SUBQUERY_H */
