/*
 * plan_time_node.h - how long nodes of native plans run.  Only plan_time.c and
 * plan_time_join.c need this.
 */
#ifndef GPUJOIN_PLAN_TIME_NODE_H
#define GPUJOIN_PLAN_TIME_NODE_H

#include "plan_candidate.h"

/* ns, measured on a core of about 3 GHz */
#define GJ_STORE_NS 30			/* to put a row into memory, or to read it */
#define GJ_ROW_HEADER 48		/* bytes that a row of a hash table has more */

/*
 * Returns the time of a path below another one, and adds what it saves to *sum.
 * Each path is estimated once: plans of nested subqueries are deep.
 */
extern GjTime gj_estimate(PlannerInfo *root, const Path *path, GjTime *sum);

/* The same for joins (plan_time_join.c). */
extern GjTime gj_estimate_nestloop(PlannerInfo *root, const JoinPath *join, GjTime *sum);
extern GjTime gj_estimate_hash_join(PlannerInfo *root, const HashPath *path, GjTime *sum);
extern GjTime gj_estimate_merge_join(PlannerInfo *root, const MergePath *path, GjTime *sum);

/* The expected rows of a path with this time. */
extern double gj_rows_of(const Path *path, GjTime e);

/* ns to sort the rows. */
extern double gj_sort_ns(double rows, const List *pathkeys);

#endif							/* GPUJOIN_PLAN_TIME_NODE_H */
