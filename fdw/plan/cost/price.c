/*
 * plan/cost/price.c - makes costs of offloaded plans comparable with native ones.
 *
 * An offloaded plan that is expected to take half of the time of the native
 * plan for the same rows gets half of its cost.  core then compares it with
 * all other plans of the query, as it would compare the native one.
 */
#include "postgres.h"

#include "optimizer/cost.h"

#include "options.h"
#include "plan/cost/cost.h"

/* Is nothing in proportion to the cost of this path: settings decide, or it is switched off? */
static bool
has_no_price(const Path *path)
{
	return gj_debug_force || !gj_estimate_native || path->total_cost >= disable_cost;
}

/*
 * Below the native path may be paths of our own, whose costs were made
 * comparable with other native paths.  So the unit is that of the plan without
 * them.
 */
static double
unit_without_ours(const Path *native, const GjTime *time, double ns)
{
	if (!gj_corrects(GJ_UNIT_WITHOUT_OURS))
		return native->total_cost / (Max(ns, 1) * GJ_NS_COST);
	return (native->total_cost + time->saved_cost) / (Max(ns + time->saved_ns, 1) * GJ_NS_COST);
}

/*
 * The unit for paths below other joins.  They compete with native plans in another
 * order, too, and must not be charged less than these are: an underestimated node of
 * this native path is no measure of them.  Each of its nodes is taken to cost at least
 * what its time is charged.
 */
static double
unit_of_order(const GjRival *rival, double unit)
{
	const GjTime *time = &rival->processes;

	if (!gj_corrects(GJ_UNIT_OF_ORDER))
		return unit;
	return Max(1, unit * (1 + time->lacking / Max(rival->path->total_cost + time->saved_cost, 1)));
}

GjRival
gj_rival(PlannerInfo *root, const Path *native, bool topmost)
{
	GjRival		rival = {.path = native, .topmost = topmost, .processes = {.growth = 1}, .unit = 1};

	if (gj_estimate_native)
		rival.ns = gj_path_ns(root, native, &rival.processes);
	if (has_no_price(native))
		return rival;
	rival.unit = unit_without_ours(native, &rival.processes, rival.ns);
	if (!topmost)
		rival.unit = unit_of_order(&rival, rival.unit);
	return rival;
}

/*
 * The native path may get its good cost from a path of ours below it that saves
 * much time, and the unit is then small.  A path of ours that is expected to take
 * longer would still look cheaper, so it gets the native path's own unit.
 *
 * Or core expects few rows of that path and charges next to nothing for the nodes
 * above it: a path of ours that replaces these too would look dearer although it is
 * expected to be faster.  It gets the native path's own unit if nothing else competes.
 */
double
gj_unit(const GjRival *rival, Cost cost)
{
	Cost		longest = Max(rival->ns, 1) * GJ_NS_COST;
	double		own = rival->path->total_cost / longest;

	if (has_no_price(rival->path) || !gj_corrects(GJ_UNIT_OF_PATH))
		return rival->unit;
	if (cost >= longest)
		return Max(rival->unit, own);
	return rival->topmost && cost * rival->unit >= rival->path->total_cost ? own : rival->unit;
}

GjTime
gj_own_time(const GjRival *rival, Cost cost, double unit, double growth)
{
	const GjTime *native = &rival->processes;

	return (GjTime)
	{
		.ns = cost / GJ_NS_COST,
			.growth = growth,
			.saved_ns = rival->ns + native->saved_ns - cost / GJ_NS_COST,
			.saved_cost = rival->path->total_cost + native->saved_cost - cost * unit,
			.lacking = native->lacking
	};
}

Cost
gj_child_scan_cost(PlannerInfo *root, const Path *child)
{
	GjTime		time;

	if (!gj_estimate_native || child->total_cost >= disable_cost)
		return child->total_cost;
	return gj_path_ns(root, child, &time) * GJ_NS_COST;
}
