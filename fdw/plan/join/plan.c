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
#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/filter/filter.h"
#include "plan/input/input.h"
#include "plan/join/join.h"
#include "plan/native/native.h"
#include "plan/state.h"

/* ---- the joins of a job ---- */

/*
 * Describes the joins of a tree with the positions of their keys, and with
 * their conditions as the daemon evaluates them.
 */

/* A value, a key, and two of a numeric without a declared scale. */
#define GJ_FORMS_OF_A_COLUMN 4

static void
add_inputs(GjInputs *inputs, const GjTree *tree)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input;
	const GjSource *source = tree->source;
	const RangeTblEntry *rte;
	const GjBaserel *base;
	Plan	   *child;

	if (source == NULL)
	{
		add_inputs(inputs, tree->left);
		add_inputs(inputs, tree->right);
		return;
	}
	child = list_nth(inputs->children, plan->ninputs);
	input = &plan->inputs[plan->ninputs++];

	/*
	 * core may have added a node above the scan, which others than a child feed would
	 * skip
	 */
	input->feed = IsA(child, SeqScan) || IsA(child, Append) || IsA(child, ForeignScan) ||
		gj_shared_scan_of(child) != 0 ? source->feed : GJ_FEED_CHILD;
	input->partial = source->partial;
	input->rti = source->rel->relid;
	rte = inputs->root->simple_rte_array[input->rti];
	if (rte->rtekind == RTE_RELATION)
		input->relid = rte->relid;
	else
		input->name = rte->eref->aliasname;
	gj_planned_twice(inputs->root, source->rel);
	input->rows = source->rel->rows;
	if (input->feed == GJ_FEED_PAGE)
		input->kept = 1 - (plan->promised ? source->promised_fed : source->fed);
	base = gj_base_slot(source->rel);
	input->columns = palloc0(GJ_FORMS_OF_A_COLUMN * (list_length(child->targetlist) + list_length(base->computed) + 1) *
							 sizeof(GjColumn));
}

/* The conjunction of two lists of conditions; NULL if there are none. */
static char *
write_conditions(GjInputs *inputs, List *conditions, List *more, List **exprs)
{
	List	   *parts = NIL;
	ListCell   *lc;

	foreach(lc, list_concat_copy(conditions, more))
	{
		GjCondition *condition = lfirst(lc);

		gj_place_leaves(inputs, condition->leaves);
		parts = lappend(parts, condition->expr);
		*exprs = lappend(*exprs, gj_without_placeholders(condition->clause));
	}
	return parts != NIL ? gj_write_expr(gj_conjunction(parts)) : NULL;
}

/* Adds the tree's joins in post-order, with the columns that they read. */
static void
add_joins(GjInputs *inputs, const GjTree *tree, bool whole)
{
	GjJoin	   *join;
	bool		inner = tree->kind == JOIN_INNER;

	/* below an aggregation, also the conditions that the backend would evaluate later */
	List	   *shipped = whole ? tree->shipped : NIL;
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	add_joins(inputs, tree->left, whole);
	add_joins(inputs, tree->right, whole);

	join = &inputs->plan->joins[inputs->plan->njoins++];
	join->kind = tree->kind;
	join->rows = tree->rows;
	join->residual = write_conditions(inputs, tree->residual, inner ? shipped : NIL,
									  &join->residual_exprs);
	join->filter = write_conditions(inputs, tree->filter, inner ? NIL : shipped,
									&join->filter_exprs);
	join->left_inputs = tree->left->ninputs;
	join->left = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->right = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->classes = palloc(list_length(tree->keys) * sizeof(GjKeyClass));
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjForm		left_form;
		GjForm		right_form;

		join->classes[join->nkeys] = gj_key_forms(key->kind, left, right, &left_form, &right_form);
		join->left[join->nkeys] = gj_need_column(inputs, left, left_form, true);
		join->right[join->nkeys] = gj_need_column(inputs, right, right_form, true);
		join->nkeys++;
	}
}

void
gj_add_tree(GjInputs *inputs, GjTree *tree, bool whole)
{
	add_inputs(inputs, tree);
	add_joins(inputs, tree, whole);
	gj_add_filters(inputs, tree);
}

/* ---- plan ---- */

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
		.native_ns = path->native_ns,
		.relies_on_kept = gj_relies_on_kept(tree, best_path->path.total_cost,
											((const Path *) llast(best_path->custom_paths))->total_cost),
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
	gj_check_shared_scans(custom_plans, native, &plan.defect);
	add_outputs(&inputs, tree, path->outputs, native);

	/* without an output, the native plan could not replace the job */
	for (int i = 0; i < path->ntarget; i++)
		if (plan.native_resnos[i] == 0)
			elog(ERROR, "native child of an OffloadJoin lacks an output");
	gj_add_mirrors(&inputs);
	if (plan.defect != NULL)
		drop_job(&inputs, native);
	gj_add_kept_forms(&inputs);

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
