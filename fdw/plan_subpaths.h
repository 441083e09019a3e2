/*
 * plan_subpaths.h - the paths below a path.
 */
#ifndef GPUJOIN_PLAN_SUBPATHS_H
#define GPUJOIN_PLAN_SUBPATHS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * The direct children of a path, in any order; NIL for a scan, and for a node
 * type of which this file does not know.  A subquery's plan counts as a child
 * of its scan, though its relations are those of another PlannerInfo,
 * path->parent->subroot.
 */
extern List *gj_path_children(Path *path);

#endif							/* GPUJOIN_PLAN_SUBPATHS_H */
