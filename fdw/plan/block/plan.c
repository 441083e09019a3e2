/*
 * plan/block/plan.c - makes the plan nodes of a query block from their paths.
 *
 * A serial OffloadBlock has inputs and a native child.  A parallel one has a
 * Gather of an OffloadFeed, which has the inputs, and the native child.  Either has
 * only the native child after an error of ours.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"

#include "exec/node.h"
#include "job/job.h"
#include "options.h"
#include "plan/block/block.h"
#include "plan/cost/cost.h"
#include "plan/join/join.h"
#include "plan/native/native.h"
#include "plan/state.h"

static Plan *plan_block(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
						List *tlist, List *clauses, List *custom_plans);
static Plan *plan_feed(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
					   List *tlist, List *clauses, List *custom_plans);

const CustomPathMethods gj_block_path_methods = {
	.CustomName = "OffloadBlock",
	.PlanCustomPath = plan_block,
};

const CustomPathMethods gj_feed_path_methods = {
	.CustomName = "OffloadFeed",
	.PlanCustomPath = plan_feed,
};

static void
add_aggregate(GjInputs *inputs, const GjBlockPath *path)
{
	GjPlan	   *plan = inputs->plan;
	GjAggregate *aggregate = gj_write_aggregation(inputs, path->aggregation);

	aggregate->groups = path->groups;
	aggregate->finest_groups = path->finest_groups;
	if (aggregate->sets != NIL)
		gj_add_sets_input(inputs, path->aggregation->grouping, aggregate);

	plan->aggregate = aggregate;
	plan->noutputs = aggregate->ncolumns;
	plan->outputs = palloc(Max(1, plan->noutputs) * sizeof(GjOutput));
	for (int i = 0; i < plan->noutputs; i++)
	{
		plan->outputs[i].input = plan->ninputs + (aggregate->sets != NIL);
		plan->outputs[i].column = i;
	}
}

static bool
is_feed(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &gj_feed_path_methods;
}

/*
 * The relation of the first column that the leaves read.  If they read none,
 * only the numbers of the topmost query level are known after
 * set_plan_references: it comes first in the final range table.
 */
static int
first_relid(const PlannerInfo *root, const List *leaves)
{
	List	   *vars = pull_var_clause((Node *) leaves,
									   PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);

	if (vars == NIL)
		return root->query_level == 1 ? GJ_NOT_SHIFTED : 0;
	return linitial_node(Var, vars)->varno;
}

/*
 * The node that feeds the inputs and reads the groups.  After a defect, which
 * becomes that of the path, it is incomplete, and plan_block() drops it.
 */
static CustomScan *
make_job_node(PlannerInfo *root, GjBlockPath *path, List *tlist, List *children,
			  bool has_native)
{
	GjTree	   *tree = path->tree;
	GjPlan		plan = {
		.parallel = path->variant == GJ_PARALLEL,
		.workers = tree->workers,
		.first_relid = first_relid(root, path->aggregation->grouping->leaves),
		.has_native = has_native,
		.forced = gj_debug_force,
		.native_ns = path->native_ns,
		.relies_on_kept = path->promised ||
		gj_relies_on_kept(tree, path->cpath.path.total_cost, path->native_cost),
		.promised = path->promised,
		.inputs = palloc0((tree->ninputs + 1) * sizeof(GjInput)),
		.joins = palloc0(Max(1, tree->ninputs - 1) * sizeof(GjJoin)),
	};
	GjInputs	inputs = {
		.root = root,
		.plan = &plan,
		.children = children,
	};
	CustomScan *scan = makeNode(CustomScan);

	gj_add_tree(&inputs, tree, true);
	add_aggregate(&inputs, path);
	gj_need_some_column(&inputs);
	gj_add_mirrors(&inputs);

	scan->scan.plan.targetlist = tlist;
	path->defect = plan.defect;
	if (plan.defect != NULL)
		return scan;
	gj_add_kept_forms(&inputs);
	if (path->aggregation->having == NULL)
		scan->scan.plan.qual = path->aggregation->grouping->having;
	else						/* for EXPLAIN */
		scan->custom_exprs = path->aggregation->grouping->having;
	scan->scan.scanrelid = 0;
	scan->flags = path->cpath.flags;
	scan->custom_plans = gj_with_parameters(&inputs, inputs.children);
	scan->custom_private = gj_plan_write(&plan);
	scan->custom_scan_tlist = gj_scan_tlist(path->aggregation->grouping->leaves);
	return scan;
}

static Plan *
plan_feed(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
		  List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *scan = make_job_node(root, (GjBlockPath *) best_path, tlist,
									 custom_plans, false);

	scan->methods = &gj_feed_methods;
	return &scan->scan.plan;
}

/* A node that passes on the rows of one of its two children. */
static CustomScan *
make_above(List *tlist, List *children)
{
	CustomScan *scan = makeNode(CustomScan);
	List	   *exprs = get_tlist_exprs(tlist, true);

	scan->scan.plan.targetlist = tlist;
	scan->custom_plans = children;
	scan->custom_scan_tlist = gj_scan_tlist(exprs);
	scan->methods = &gj_block_methods;
	return scan;
}

/* A node that only passes on the rows of the native child, because of a defect. */
static CustomScan *
make_native(List *tlist, Plan *native, const char *defect)
{
	CustomScan *scan = make_above(tlist, list_make1(native));
	GjPlan		plan = {
		.has_native = true,
		.defect = defect,
		.aggregate = palloc0(sizeof(GjAggregate)),
	};

	scan->custom_private = gj_plan_write(&plan);
	return scan;
}

static Plan *
plan_block(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
		   List *tlist, List *clauses, List *custom_plans)
{
	GjBlockPath *path = (GjBlockPath *) best_path;
	const Path *first = linitial(best_path->custom_paths);
	Plan	   *native = llast(custom_plans);
	CustomScan *scan;

	if (IsA(first, GatherPath) && is_feed(((const GatherPath *) first)->subpath))
	{
		scan = make_above(tlist, custom_plans);
		path->defect = ((const GjBlockPath *) ((const GatherPath *) first)->subpath)->defect;
		if (path->defect == NULL)
			gj_check_shared_scans(castNode(CustomScan, outerPlan(linitial(custom_plans)))->custom_plans,
								  native, &path->defect);
	}
	else
	{
		scan = make_job_node(root, path, tlist, custom_plans, true);
		scan->methods = &gj_block_methods;
		gj_check_shared_scans(custom_plans, native, &path->defect);
	}
	gj_check_native_plan(native, &path->defect);
	if (path->defect != NULL)
		scan = make_native(tlist, native, path->defect);
	return &scan->scan.plan;
}
