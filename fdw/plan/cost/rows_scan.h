/*
 * plan/cost/rows_scan.h - scans of groups and CTEs, of whose columns core has no
 * statistics.
 */
#ifndef PLAN_COST_ROWS_SCAN_H
#define PLAN_COST_ROWS_SCAN_H

#include "nodes/pathnodes.h"

/*
 * Does a relation deliver columns of which no statistics exist?  Those of a
 * CTE or of groups have none.
 */
extern bool gj_lacks_statistics(PlannerInfo *root, const RelOptInfo *rel);

/*
 * The factor, at least 1, by which the rows that pass a relation's conditions
 * are expected to exceed core's estimate.
 */
extern double gj_scan_growth(PlannerInfo *root, const RelOptInfo *rel);

/* The rows of a relation that are read, whether they pass its conditions or not. */
extern double gj_rows_read(PlannerInfo *root, const RelOptInfo *rel);

#endif							/* PLAN_COST_ROWS_SCAN_H */
