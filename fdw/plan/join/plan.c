/*
 * plan/join/plan.c - makes the plan node of an OffloadJoin from its path.
 *
 * Decides which columns each input carries, and records all positions: of a
 * column in its child's target list, and of an output in its input and in the
 * native child.  After this, no code looks up anything by Var.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"

#include "exec/node.h"
#include "job/job.h"
#include "options.h"
#include "plan/expr/expr.h"
#include "plan/input/computed.h"
#include "plan/join/join.h"
#include "plan/native/native.h"

static Plan *plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
							  List *tlist, List *clauses, List *custom_plans);

const CustomPathMethods gj_path_methods = {
	.CustomName = "OffloadJoin",
	.PlanCustomPath = plan_custom_path,
};

static void
add_outputs(GjInputs *inputs, const GjTree *tree, const List *outputs, const Plan *native)
{
	GjPlan	   *plan = inputs->plan;
	ListCell   *lc;

	plan->outputs = palloc(Max(1, list_length(outputs)) * sizeof(GjOutput));
	plan->native_resnos = palloc(Max(1, list_length(outputs)) * sizeof(int));
	foreach(lc, outputs)
	{
		Expr	   *output = lfirst(lc);
		int			i = plan->noutputs++;

		plan->outputs[i] =
			gj_place_var(inputs, gj_same_column(tree, gj_column(inputs->root, output)));
		plan->native_resnos[i] = gj_find_column(native->targetlist, output);
	}
}

/*
 * Leaves of a plan with a defect the positions in its native child.  That is the
 * node's only child.
 */
static void
drop_job(GjInputs *inputs, Plan *native)
{
	GjPlan	   *plan = inputs->plan;

	plan->ninputs = plan->njoins = plan->nfilters = plan->nparameters = 0;
	inputs->parameters = NIL;
	inputs->children = list_make1(native);
}

static Plan *
plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
				 List *tlist, List *clauses, List *custom_plans)
{
	const GjPath *path = (const GjPath *) best_path;
	GjTree	   *tree = path->tree;
	Plan	   *native = llast(custom_plans);
	List	   *quals = extract_actual_clauses(gj_deferred(tree), false);
	GjPlan		plan = {
		.parallel = path->variant == GJ_PARALLEL,
		.workers = tree->workers,
		.has_native = true,
		.forced = gj_debug_force,
		.first_relid = bms_next_member(rel->relids, -1),
		.inputs = palloc0(tree->ninputs * sizeof(GjInput)),
		.joins = palloc0((tree->ninputs - 1) * sizeof(GjJoin)),
	};
	GjInputs	inputs = {
		.root = root,
		.plan = &plan,
		.children = custom_plans,
	};
	CustomScan *scan = makeNode(CustomScan);

	gj_check_native_plan(native, &plan.defect);
	gj_add_tree(&inputs, tree, false);
	add_outputs(&inputs, tree, path->outputs, native);

	/* without an output, the native plan could not replace the job */
	for (int i = 0; i < path->ntarget; i++)
		if (plan.native_resnos[i] == 0)
			elog(ERROR, "native child of an OffloadJoin lacks an output");
	if (plan.defect != NULL)
		drop_job(&inputs, native);

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = quals;
	scan->scan.scanrelid = 0;
	scan->flags = best_path->flags;
	scan->custom_plans = gj_with_parameters(&inputs, inputs.children);
	scan->custom_private = gj_plan_write(&plan);
	scan->custom_scan_tlist = gj_scan_tlist(path->outputs);
	scan->methods = &gj_scan_methods;
	return &scan->scan.plan;
}
