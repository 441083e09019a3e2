/*
 * plan_scanned.h - the only table of a block.
 */
#ifndef GPUJOIN_PLAN_SCANNED_H
#define GPUJOIN_PLAN_SCANNED_H

#include "plan_candidate.h"

/*
 * Remembers how a table would be scanned, in the hook for its paths: core later
 * replaces its target and paths by those that compute GROUP BY expressions.
 */
extern void gj_remember_scan(PlannerInfo *root, RelOptInfo *rel);

/*
 * Decides how a table is fed whose scan was remembered, when the hooks of all
 * libraries have run.  NULL if it was not remembered.
 */
extern GjBase *gj_scanned_base(PlannerInfo *root, RelOptInfo *rel);

#endif							/* GPUJOIN_PLAN_SCANNED_H */
