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
#include "plan/native/native.h"

GjNativeTime
gj_native_time(PlannerInfo *root, const Path *native)
{
	GjNativeTime time = {.processes = {.growth = 1}};

	if (gj_estimate_native)
		time.ns = gj_path_ns(root, native, &time.processes);
	return time;
}

/*
 * Below the native path may be paths of our own, whose costs were made
 * comparable with other native paths.  So the unit is that of the plan without
 * them.
 */
double
gj_native_unit(const Path *native, const GjNativeTime *time)
{
	/* nothing is in proportion to the cost of what is switched off */
	if (!gj_estimate_native || native->total_cost >= disable_cost)
		return 1;
	return (native->total_cost + time->processes.saved_cost) /
		(Max(time->ns + time->processes.saved_ns, 1) * GJ_NS_COST);
}

double
gj_order_unit(const Path *native, const GjNativeTime *time)
{
	double		unit = gj_native_unit(native, time);

	if (!gj_estimate_native || native->total_cost >= disable_cost)
		return unit;
	return Max(1, unit * (1 + time->processes.lacking /
						  Max(native->total_cost + time->processes.saved_cost, 1)));
}

/*
 * The native path may get its good cost from a path of ours below it that saves
 * much time, and the unit is then small.  A path of ours that is expected to take
 * longer than the native one would still look cheaper, so it gets the native
 * path's own unit.
 */
double
gj_unit_of(Cost cost, const Path *native, const GjNativeTime *time, double unit)
{
	Cost		longest = Max(time->ns, 1) * GJ_NS_COST;

	if (!gj_estimate_native || native->total_cost >= disable_cost || cost < longest)
		return unit;
	return Max(unit, native->total_cost / longest);
}

Cost
gj_child_scan_cost(PlannerInfo *root, const Path *child)
{
	GjTime		time;

	if (!gj_estimate_native || child->total_cost >= disable_cost)
		return child->total_cost;
	return gj_path_ns(root, child, &time) * GJ_NS_COST;
}

GjTime
gj_own_time(const Path *native, const GjNativeTime *time, Cost cost, double unit,
			double growth)
{
	GjTime		own = {.growth = growth};

	own.ns = cost / GJ_NS_COST;
	own.saved_ns = time->ns + time->processes.saved_ns - own.ns;
	own.lacking = time->processes.lacking;
	own.saved_cost = native->total_cost + time->processes.saved_cost - cost * unit;
	return own;
}

/* Adds the relations of this query level that the path reads in full. */
static void
find_scanned(Path *path, Relids *scanned)
{
	ListCell   *lc;

	switch (path->pathtype)
	{
		case T_IndexScan:
		case T_IndexOnlyScan:
		case T_BitmapHeapScan:
			return;
		case T_SeqScan:
		case T_SubqueryScan:
		case T_CteScan:
			*scanned = bms_add_members(*scanned, path->parent->relids);
			return;
		case T_NestLoop:
		case T_MergeJoin:
		case T_HashJoin:
			find_scanned(((JoinPath *) path)->outerjoinpath, scanned);
			find_scanned(((JoinPath *) path)->innerjoinpath, scanned);
			return;
		default:
			break;
	}
	foreach(lc, gj_path_children(path))
		find_scanned(lfirst(lc), scanned);
}

static Cost
unshared_scans(const GjTree *tree, Relids scanned)
{
	if (tree->source == NULL)
		return unshared_scans(tree->left, scanned) + unshared_scans(tree->right, scanned);
	return tree->source->feed != GJ_FEED_PAGE || bms_is_subset(tree->relids, scanned) ?
		0 : tree->scan_cost;
}

Cost
gj_scan_margin(const GjTree *tree, const Path *native)
{
	Relids		scanned = NULL;

	find_scanned(unconstify(Path *, native), &scanned);
	return gj_cost_margin * unshared_scans(tree, scanned);
}
