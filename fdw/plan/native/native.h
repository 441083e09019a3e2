/*
 * plan/native/native.h - native paths and plans.
 */
#ifndef PLAN_NATIVE_NATIVE_H
#define PLAN_NATIVE_NATIVE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "job/job.h"
#include "plan/state.h"

/* ---- the native plan that runs if the daemon cannot ---- */

/* Is it the path of an OffloadJoin or of an OffloadBlock? */
static inline bool
gj_is_gpujoin(const Path *path)
{
	return IsA(path, CustomPath) &&
		(((const CustomPath *) path)->methods == &gj_path_methods ||
		 ((const CustomPath *) path)->methods == &gj_block_path_methods);
}

/*
 * Returns a copy of an upper relation's cheapest path other than an OffloadBlock,
 * or NULL.  The copy contains no OffloadJoin either.  *cheapest is the path
 * itself.
 */
extern Path *gj_native_upper(const RelOptInfo *rel, const Path **cheapest);

/*
 * Returns the cheapest path of the joinrel seen so far that is not an OffloadJoin,
 * or NULL if there is none.  The caller must not keep it.
 */
extern const Path *gj_cheapest_native(RelOptInfo *joinrel, const GjJoinrel *state,
									  GjVariant variant);

/*
 * Returns a copy of that path that may be kept and contains no OffloadJoin, and
 * remembers it in the state.  NULL if the path contains a node that we cannot
 * copy.
 */
extern Path *gj_keep_native(GjJoinrel *state, GjVariant variant, const Path *native);

/* ---- checks that a native plan needs no daemon ---- */

/* Does it contain a node of ours? */
extern bool gj_needs_daemon(const Plan *plan);

/*
 * Checks that a native child does not need the daemon: it would find the
 * daemon as dead as its parent did.  Else notes a defect.
 */
extern void gj_check_native_plan(const Plan *plan, const char **defect);

/* ---- scans of partitioned tables that the native plan has too ---- */

/*
 * Replaces, in a list of the paths of a job's inputs, each scan that the native
 * path contains by one that stands for it (exec/node.h).  The two plans must
 * never run under the same Gather: their states would share dynamic memory.
 */
extern void gj_share_scans(PlannerInfo *root, List *inputs, Path *native);

/* Notes a defect if the native plan lacks a scan for which an input's plan stands. */
extern void gj_check_shared_scans(const List *inputs, const Plan *native, const char **defect);

/* ---- the children of a path ---- */

/*
 * Returns the direct children of a path, in any order.  NIL for a scan and for
 * an unknown node type.  A subquery's plan counts as a child of its scan,
 * although its relations belong to another PlannerInfo, path->parent->subroot.
 */
extern List *gj_path_children(Path *path);

#endif							/* PLAN_NATIVE_NATIVE_H */
