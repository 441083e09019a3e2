/*
 * plan/cost/native_node.h - how long nodes of native plans run.  Only files
 * whose names begin with plan_time need this.
 */
#ifndef PLAN_COST_NATIVE_NODE_H
#define PLAN_COST_NATIVE_NODE_H

#include "plan/state.h"

/* ns, measured on a core of about 3 GHz */
#define GJ_STORE_NS 30			/* to put a row into memory, or to read it */
#define GJ_ROW_HEADER 48		/* bytes that a row of a hash table has more */

/* The expected rows of a path with this time. */
static inline double
gj_rows_of(const Path *path, GjTime e)
{
	return path->rows * e.growth;
}

/* ns to sort the rows (plan/cost/native_sort.c). */
extern double gj_sort_ns(double rows, const List *pathkeys);

/* The same by a first key of this type, or of InvalidOid: any fast one. */
extern double gj_sort_type_ns(double rows, Oid type);

/* What is scanned again if Memoize above the inner side of a nested loop does not know its rows. */
static inline const Path *
gj_rescanned(const Path *inner)
{
	while (IsA(inner, MemoizePath))
		inner = ((const MemoizePath *) inner)->subpath;
	return inner;
}

/*
 * The times of joins, given those of their sides (plan/cost/native_join.c).  inner is
 * that of one scan of gj_rescanned, and not used if that is an index scan.
 */
extern GjTime gj_nestloop_time(PlannerInfo *root, const JoinPath *join, GjTime outer, GjTime inner);
extern GjTime gj_hash_join_time(PlannerInfo *root, const HashPath *path, GjTime outer, GjTime inner);
extern GjTime gj_merge_join_time(PlannerInfo *root, const MergePath *path, GjTime outer, GjTime inner);

#endif							/* PLAN_COST_NATIVE_NODE_H */
