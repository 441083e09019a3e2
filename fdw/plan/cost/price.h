/*
 * plan/cost/price.h - makes costs of offloaded plans comparable with native ones.
 */
#ifndef PLAN_COST_PRICE_H
#define PLAN_COST_PRICE_H

#include "plan/state.h"

/* The time of a native path that a path of ours is to replace (plan/cost/native.h). */
typedef struct GjNativeTime
{
	double		ns;
	GjTime		processes;		/* of each of its processes */
} GjNativeTime;

/* Nothing if gpujoin.estimate_native is off. */
extern GjNativeTime gj_native_time(PlannerInfo *root, const Path *native);

/*
 * The factor that makes a cost of plan/cost/offloaded.h comparable with core's cost of a
 * native path: both are then in the ratio of the expected times.
 */
extern double gj_native_unit(const Path *native, const GjNativeTime *time);

/*
 * The factor for a path of ours below other joins.  Each node of the native path is
 * taken to cost at least what its time is charged: other native plans of the
 * query have its well estimated nodes, too, but not those that look free.
 */
extern double gj_order_unit(const Path *native, const GjNativeTime *time);

/*
 * The time of a path of ours with this cost, not yet multiplied by the unit.
 * native is what it replaces, growth that of its rows.
 */
extern GjTime gj_own_time(const Path *native, const GjNativeTime *time, Cost cost,
						  double unit, double growth);

/*
 * The unit for a path of ours with this cost, as in plan/cost/offloaded.h: the given one of
 * the native path, or a larger one if ours is expected to take longer.
 */
extern double gj_unit_of(Cost cost, const Path *native, const GjNativeTime *time,
						 double unit);

/* The cost, as in plan/cost/offloaded.h, of the rows of a child plan. */
extern Cost gj_child_scan_cost(PlannerInfo *root, const Path *child);

/*
 * The margin for those scans of a tree's tables that the native path does not
 * make, because it fetches rows by an index.
 */
extern Cost gj_scan_margin(const GjTree *tree, const Path *native);

#endif							/* PLAN_COST_PRICE_H */
