/*
 * compat.h - the only place that asks which PostgreSQL this is.
 */
#ifndef GPUJOIN_COMPAT_H
#define GPUJOIN_COMPAT_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 180000
#error "gpujoin supports PostgreSQL 15 to 17"
#endif

/*
 * From 17 on a CustomPath over a join names the clauses that it stands for,
 * and pseudoconstant ones among them become a gating Result above the node.
 * Up to 16 the hook is not called when there are pseudoconstant clauses.
 */
#if PG_VERSION_NUM >= 170000
#define gj_set_path_clauses(cpath, clauses) ((cpath)->custom_restrictinfo = (clauses))
#else
#define gj_set_path_clauses(cpath, clauses) ((void) (clauses))
#endif

/* Does the planner put a Gather on plans that need none?  A setting for tests. */
static inline bool
gj_parallel_is_forced(void)
{
#if PG_VERSION_NUM >= 160000
	return debug_parallel_query != DEBUG_PARALLEL_OFF;
#else
	return force_parallel_mode != FORCE_PARALLEL_OFF;
#endif
}

/* From 16 on a join's relids also name outer joins, which have no rel. */
static inline RelOptInfo *
gj_base_rel(PlannerInfo *root, int relid)
{
	return root->simple_rel_array[relid];
}

#endif							/* GPUJOIN_COMPAT_H */
