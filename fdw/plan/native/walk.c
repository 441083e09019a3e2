/*
 * plan/native/walk.c - the children of a path, and what walks over a native path
 * or plan looks for.
 *
 * Core has walkers for expressions and plan states, but not for paths.
 */
#include "postgres.h"

#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "exec/node.h"
#include "plan/native/native.h"
#include "plan/state.h"

/* A node type whose only child is its field subpath. */
#define UNARY(type) \
	case T_##type: \
		return list_make1(((type *) path)->subpath)

List *
gj_path_children(Path *path)
{
	switch (nodeTag(path))
	{
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return list_make2(((JoinPath *) path)->outerjoinpath,
							  ((JoinPath *) path)->innerjoinpath);
		case T_RecursiveUnionPath:
			return list_make2(((RecursiveUnionPath *) path)->leftpath,
							  ((RecursiveUnionPath *) path)->rightpath);
		case T_AppendPath:
			return ((AppendPath *) path)->subpaths;
		case T_MergeAppendPath:
			return ((MergeAppendPath *) path)->subpaths;
		case T_CustomPath:
			return ((CustomPath *) path)->custom_paths;
		case T_ForeignPath:
			if (((ForeignPath *) path)->fdw_outerpath == NULL)
				return NIL;
			return list_make1(((ForeignPath *) path)->fdw_outerpath);
		case T_SetOpPath:
			return gj_setop_children((SetOpPath *) path);
		case T_IncrementalSortPath:
			return list_make1(((IncrementalSortPath *) path)->spath.subpath);
			UNARY(MaterialPath);
			UNARY(MemoizePath);
			GJ_BEFORE_19(UNARY(UniquePath);)
			UNARY(GatherPath);
			UNARY(GatherMergePath);
			UNARY(ProjectionPath);
			UNARY(ProjectSetPath);
			UNARY(SortPath);
			UNARY(GroupPath);
			UNARY(UpperUniquePath);
			UNARY(AggPath);
			UNARY(GroupingSetsPath);
			UNARY(WindowAggPath);
			UNARY(LockRowsPath);
			UNARY(ModifyTablePath);
			UNARY(LimitPath);
			UNARY(SubqueryScanPath);
		default:
			return NIL;
	}
}

/* ---- checks that a native plan needs no daemon ---- */

static bool
is_ours(const CustomScanMethods *methods)
{
	return methods == &gj_scan_methods || methods == &gj_block_methods ||
		methods == &gj_feed_methods;
}

static bool
any_needs_daemon(const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		if (gj_needs_daemon(lfirst(lc)))
			return true;
	return false;
}

bool
gj_needs_daemon(const Plan *plan)
{
	const List *children = NIL;

	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (is_ours(((const CustomScan *) plan)->methods))
				return true;
			children = ((const CustomScan *) plan)->custom_plans;
			break;
		case T_Append:
			children = ((const Append *) plan)->appendplans;
			break;
		case T_MergeAppend:
			children = ((const MergeAppend *) plan)->mergeplans;
			break;
		case T_SubqueryScan:
			if (gj_needs_daemon(((const SubqueryScan *) plan)->subplan))
				return true;
			break;
		default:
			break;
	}
	return any_needs_daemon(children) || gj_needs_daemon(outerPlan(plan)) ||
		gj_needs_daemon(innerPlan(plan));
}

void
gj_check_native_plan(const Plan *plan, const char **defect)
{
	if (gj_needs_daemon(plan))
		gj_note_defect(defect, "the native plan needs the daemon");
}

/* ---- shared scans ---- */

static bool
contains(Path *path, const Path *wanted)
{
	ListCell   *lc;

	if (path == wanted)
		return true;
	if (IsA(path, CustomPath) || IsA(path, ForeignPath))
		return false;			/* gj_find_append() does not look into their plans */
	foreach(lc, gj_path_children(path))
		if (contains(lfirst(lc), wanted))
			return true;
	return false;
}

/*
 * Can an Append be shared?  Only plain columns of a table without conditions:
 * expressions and conditions could hold parameters, which a Gather passes to its
 * workers for the plan that it sees, and conditions could prune partitions.
 */
static bool
can_be_shared(const Path *path)
{
	const RelOptInfo *rel = path->parent;
	ListCell   *lc;

	if (path->param_info != NULL || list_length(((const AppendPath *) path)->subpaths) < 2 ||
		rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION ||
		rel->baserestrictinfo != NIL || path->pathtarget->exprs == NIL ||
		gj_base_slot(unconstify(RelOptInfo *, rel))->computed != NIL)
		return false;
	foreach(lc, path->pathtarget->exprs)
		if (!IsA(lfirst(lc), Var))
			return false;
	return true;
}

void
gj_share_scans(PlannerInfo *root, List *inputs, Path *native)
{
	ListCell   *lc;

	foreach(lc, inputs)
	{
		Path	   *path = lfirst(lc);

		if (IsA(path, AppendPath) && can_be_shared(path) && contains(native, path))
			lfirst(lc) = create_group_result_path(root, path->parent, path->pathtarget, NIL);
	}
}

void
gj_check_shared_scans(const List *inputs, const Plan *native, const char **defect)
{
	ListCell   *lc;

	foreach(lc, inputs)
	{
		const Plan *input = lfirst(lc);
		Index		rti = gj_shared_scan_of(input);
		const Plan *scan;

		if (rti == 0)
			continue;
		scan = gj_find_append(native, rti);
		if (scan == NULL || !equal(get_tlist_exprs(scan->targetlist, true),
								   get_tlist_exprs(input->targetlist, true)))
			gj_note_defect(defect, "the native plan lacks the scan of relation %d", (int) rti);
	}
}
