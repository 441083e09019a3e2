/*
 * plan/input/cte.h - the plans of CTEs.
 */
#ifndef PLAN_INPUT_CTE_H
#define PLAN_INPUT_CTE_H

#include "nodes/pathnodes.h"

/*
 * Returns the path of the CTE that an entry of a range table reads, or NULL if
 * it is not known, and stores the query level that it is of in *level.
 */
extern const Path *gj_cte_path(PlannerInfo *root, const RangeTblEntry *rte, PlannerInfo **level);

#endif							/* PLAN_INPUT_CTE_H */
