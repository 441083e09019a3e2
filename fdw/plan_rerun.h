/*
 * plan_rerun.h - query levels that run again for each row of an outer query.
 */
#ifndef GPUJOIN_PLAN_RERUN_H
#define GPUJOIN_PLAN_RERUN_H

#include "nodes/pathnodes.h"

/*
 * Does a query level read values of a row outside of it, itself or in one of
 * its subqueries?  Its scans and joins must have been planned.
 */
extern bool gj_is_rerun(PlannerInfo *root);

#endif							/* GPUJOIN_PLAN_RERUN_H */
