/*
 * plan/rejected/native.h - the joins and aggregations of a finished plan that are not
 * offloaded.
 */
#ifndef PLAN_REJECTED_NATIVE_H
#define PLAN_REJECTED_NATIVE_H

#include "nodes/plannodes.h"

#include "plan/rejected/reasons.h"

typedef struct GjNative
{
	PlannerInfo *root;
	bool		aggregation;	/* else a join */
	Relids		relids;			/* the query's tables in it */
	GjReject	reason;
	Cost		native;
	Cost		offloaded;		/* < 0: unknown */
} GjNative;

/*
 * Returns a list of GjNative for the query and its subqueries.  root is that of
 * its topmost level.
 */
extern List *gj_native_nodes(PlannerInfo *root, const PlannedStmt *stmt, int cursorOptions);

#endif							/* PLAN_REJECTED_NATIVE_H */
