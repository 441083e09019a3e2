/*
 * plan_relation.h - which relations may be inputs of a job.
 */
#ifndef GPUJOIN_PLAN_RELATION_H
#define GPUJOIN_PLAN_RELATION_H

#include "plan_reject.h"

/*
 * Checks a base relation's kind, paths and conditions, but not its columns.
 */
extern GjReject gj_check_relation(PlannerInfo *root, RelOptInfo *rel);

/* Does a path of it contain a foreign scan, or a custom scan that is not ours? */
extern bool gj_has_foreign_path(const RelOptInfo *rel);

#endif							/* GPUJOIN_PLAN_RELATION_H */
