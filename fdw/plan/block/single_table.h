/*
 * plan/block/single_table.h - the only table of a block.
 */
#ifndef PLAN_BLOCK_SINGLE_TABLE_H
#define PLAN_BLOCK_SINGLE_TABLE_H

#include "plan/state.h"

/*
 * Remembers how a table would be scanned, in the hook for its paths: core later
 * replaces its target and paths by those that compute GROUP BY expressions.
 */
extern void gj_remember_scan(PlannerInfo *root, RelOptInfo *rel);

/*
 * Decides how a table is fed whose scan was remembered, when the hooks of all
 * libraries have run.  NULL if it was not remembered.
 */
extern GjBaserel *gj_scanned_base(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PLAN_BLOCK_SINGLE_TABLE_H */
