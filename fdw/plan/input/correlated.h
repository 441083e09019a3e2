/*
 * plan/input/correlated.h - query levels that run again for each row of an outer query.
 */
#ifndef PLAN_INPUT_CORRELATED_H
#define PLAN_INPUT_CORRELATED_H

#include "nodes/pathnodes.h"

/*
 * Does a query level read values of a row outside of it, itself or in one of
 * its subqueries?  Its scans and joins must have been planned.
 */
extern bool gj_is_correlated(PlannerInfo *root);

#endif							/* PLAN_INPUT_CORRELATED_H */
