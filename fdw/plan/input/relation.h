/*
 * plan/input/relation.h - which relations may be inputs of a job.
 */
#ifndef PLAN_INPUT_RELATION_H
#define PLAN_INPUT_RELATION_H

#include "plan/rejected/reasons.h"

/*
 * Checks a base relation's kind, paths and conditions, but not its columns.
 */
extern GjReject gj_check_relation(PlannerInfo *root, RelOptInfo *rel);

/* Does a path of it contain a foreign scan, or a custom scan that is not ours? */
extern bool gj_has_foreign_path(const RelOptInfo *rel);

#endif							/* PLAN_INPUT_RELATION_H */
