/*
 * plan/native/walk.h - the children of a path.
 */
#ifndef PLAN_NATIVE_WALK_H
#define PLAN_NATIVE_WALK_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Returns the direct children of a path, in any order.  NIL for a scan and for
 * an unknown node type.  A subquery's plan counts as a child of its scan,
 * although its relations belong to another PlannerInfo, path->parent->subroot.
 */
extern List *gj_path_children(Path *path);

#endif							/* PLAN_NATIVE_WALK_H */
