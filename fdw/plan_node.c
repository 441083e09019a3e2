/*
 * plan_node.c - makes the plan node of a GpuJoin from its path.
 *
 * Decides which columns each input carries, and records all positions: of a
 * column in its child's target list, and of an output in its input and in the
 * native child.  After this, no code looks up anything by Var.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"

#include "custom_private.h"
#include "plan_condition.h"
#include "plan_fallback.h"
#include "plan_hook.h"

typedef struct Builder
{
	PlannerInfo *root;
	GjPlan	   *plan;
	List	   *children;		/* Plans of the inputs */
} Builder;

static Plan *plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
							  List *tlist, List *clauses, List *custom_plans);

const CustomPathMethods gj_path_methods = {
	.CustomName = "GpuJoin",
	.PlanCustomPath = plan_custom_path,
};

static void check_native_plan(const Plan *plan);

static void
check_plan_list(const List *plans)
{
	ListCell   *lc;

	foreach(lc, plans)
		check_native_plan(lfirst(lc));
}

/*
 * Checks that a native child does not need the daemon: it would find the
 * daemon as dead as its parent did.  Planning and execution rely on this, so
 * it is not just an Assert.
 */
static void
check_native_plan(const Plan *plan)
{
	if (plan == NULL)
		return;
	switch (nodeTag(plan))
	{
		case T_CustomScan:
			if (((const CustomScan *) plan)->methods == &gj_scan_methods)
				elog(ERROR, "native child of a GpuJoin contains a GpuJoin");
			check_plan_list(((const CustomScan *) plan)->custom_plans);
			break;
		case T_Append:
			check_plan_list(((const Append *) plan)->appendplans);
			break;
		case T_MergeAppend:
			check_plan_list(((const MergeAppend *) plan)->mergeplans);
			break;
		case T_SubqueryScan:
			check_native_plan(((const SubqueryScan *) plan)->subplan);
			break;
		default:
			break;
	}
	check_native_plan(outerPlan(plan));
	check_native_plan(innerPlan(plan));
}

/* Position of a Var in a target list, from 1.  0 if it is not there. */
static int
find_var(const List *tlist, const Var *var)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (IsA(entry->expr, Var) &&
			((Var *) entry->expr)->varno == var->varno &&
			((Var *) entry->expr)->varattno == var->varattno)
			return entry->resno;
	}
	return 0;
}

static void
add_inputs(Builder *builder, const GjCandidate *tree)
{
	GjPlan	   *plan = builder->plan;
	GjInput    *input;
	const GjSource *source = tree->source;
	Plan	   *child;

	if (source == NULL)
	{
		add_inputs(builder, tree->left);
		add_inputs(builder, tree->right);
		return;
	}
	child = list_nth(builder->children, plan->ninputs);
	input = &plan->inputs[plan->ninputs++];

	/*
	 * core may have added a node above the scan, which a page feed would skip
	 */
	input->feed = IsA(child, SeqScan) ? source->feed : GJ_FEED_CHILD;
	input->partial = source->partial;
	input->rti = source->rel->relid;
	input->relid = builder->root->simple_rte_array[input->rti]->relid;
	input->rows = source->rel->rows;
	input->columns = palloc0(2 * (list_length(child->targetlist) + 1) * sizeof(GjColumn));
}

static int
find_input(const GjPlan *plan, const Var *var)
{
	for (int i = 0; i < plan->ninputs; i++)
		if (plan->inputs[i].rti == (Index) var->varno)
			return i;
	elog(ERROR, "no input of a GpuJoin contains column %d of relation %d",
		 var->varattno, var->varno);
	return -1;
}

/*
 * Returns the column that carries var in this form, and adds it if necessary.
 */
static GjOutput
need_column(Builder *builder, const Var *var, GjForm form, bool is_key)
{
	GjPlan	   *plan = builder->plan;
	GjOutput	place = {.input = find_input(plan, var)};
	GjInput    *input = &plan->inputs[place.input];
	Plan	   *child = list_nth(builder->children, place.input);
	RelOptInfo *rel = builder->root->simple_rel_array[input->rti];
	GjColumn   *column;

	for (place.column = 0; place.column < input->ncolumns; place.column++)
	{
		column = &input->columns[place.column];
		if (column->attnum == var->varattno && column->form == form)
		{
			column->is_key |= is_key;
			return place;
		}
	}

	column = &input->columns[input->ncolumns++];
	column->resno = find_var(child->targetlist, var);
	if (column->resno == 0)
		elog(ERROR, "child plan of a GpuJoin lacks column %d of relation %d",
			 var->varattno, var->varno);
	column->attnum = var->varattno;
	column->type = var->vartype;
	column->typmod = var->vartypmod;
	column->collation = var->varcollid;
	column->is_key = is_key;
	if (form == GJ_FORM_VALUE || form == GJ_FORM_DECIMAL)
	{
		if (!gj_describe_payload(var->vartype, var->vartypmod, column))
			elog(ERROR, "GpuJoin does not support type %u", var->vartype);
	}
	else
		gj_describe_key(form, column);
	column->avg_width = rel->attr_widths[var->varattno - rel->min_attr];
	return place;
}

static GjForm
payload_form(const Var *var)
{
	int			scale;

	return gj_decimal_scale(var->vartype, var->vartypmod, &scale) ?
		GJ_FORM_DECIMAL : GJ_FORM_VALUE;
}

/* Decides how both sides of a key are carried and compared. */
static GjKeyClass
key_form(GjKeyKind kind, const Var *left_var, const Var *right_var, GjForm *form)
{
	int			left;
	int			right;

	*form = GJ_FORM_VALUE;
	switch (kind)
	{
		case GJ_KEY_INT:
			return GJ_CLASS_INT;
		case GJ_KEY_BYTES:
			return GJ_CLASS_BYTES;
		case GJ_KEY_BPCHAR:
			*form = GJ_FORM_BPCHAR_KEY;
			return GJ_CLASS_VARLENA;
		case GJ_KEY_NUMERIC:
			if (gj_decimal_scale(left_var->vartype, left_var->vartypmod, &left) &&
				gj_decimal_scale(right_var->vartype, right_var->vartypmod, &right) &&
				left == right)
			{
				*form = GJ_FORM_DECIMAL;
				return GJ_CLASS_INT;
			}
			*form = GJ_FORM_NUMERIC_KEY;
			return GJ_CLASS_VARLENA;
		case GJ_KEY_TEXT:
			break;
	}
	return GJ_CLASS_VARLENA;
}

/* GjPlaceVar: the builder's column of a var. */
static GjOutput
place_var(void *builder, const Var *var)
{
	return need_column(builder, var, payload_form(var), false);
}

/* A condition as JSON; NULL: none. */
static char *
condition_json(Builder *builder, List *exprs)
{
	return exprs == NIL ? NULL : gj_residual_json(exprs, place_var, builder);
}

/* Adds the tree's joins in post-order, with the columns that they read. */
static void
add_joins(Builder *builder, const GjCandidate *tree)
{
	GjJoin	   *join;
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	add_joins(builder, tree->left);
	add_joins(builder, tree->right);

	join = &builder->plan->joins[builder->plan->njoins++];
	join->kind = tree->kind;
	join->rows = tree->rows;
	join->residual = condition_json(builder, tree->residual);
	join->residual_exprs = tree->residual;
	join->filter = condition_json(builder, tree->filter);
	join->filter_exprs = tree->filter;
	join->left_inputs = tree->left->ninputs;
	join->left = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->right = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->classes = palloc(list_length(tree->keys) * sizeof(GjKeyClass));
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjForm		form;

		join->classes[join->nkeys] = key_form(key->kind, left, right, &form);
		join->left[join->nkeys] = need_column(builder, left, form, true);
		join->right[join->nkeys] = need_column(builder, right, form, true);
		join->nkeys++;
	}
}

static void
add_outputs(Builder *builder, const GjCandidate *tree, const List *outputs, const Plan *native)
{
	GjPlan	   *plan = builder->plan;
	ListCell   *lc;

	plan->outputs = palloc(Max(1, list_length(outputs)) * sizeof(GjOutput));
	plan->native_resnos = palloc(Max(1, list_length(outputs)) * sizeof(int));
	foreach(lc, outputs)
	{
		Var		   *var = lfirst_node(Var, lc);
		int			i = plan->noutputs++;

		plan->outputs[i] = place_var(builder, gj_same_column(tree, var));
		plan->native_resnos[i] = find_var(native->targetlist, var);
	}
}

static List *
scan_tlist(const List *outputs)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, outputs)
		tlist = lappend(tlist, makeTargetEntry(copyObject(lfirst(lc)),
											   list_length(tlist) + 1, NULL, false));
	return tlist;
}

static Plan *
plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *best_path,
				 List *tlist, List *clauses, List *custom_plans)
{
	const GjPath *path = (const GjPath *) best_path;
	const GjCandidate *tree = path->tree;
	Plan	   *native = llast(custom_plans);
	List	   *quals = extract_actual_clauses(gj_deferred(tree), false);
	GjPlan		plan = {
		.parallel = path->variant == GJ_PARALLEL,
		.workers = tree->workers,
		.first_relid = bms_next_member(rel->relids, -1),
		.inputs = palloc0(tree->ninputs * sizeof(GjInput)),
		.joins = palloc0((tree->ninputs - 1) * sizeof(GjJoin)),
	};
	Builder		builder = {
		.root = root,
		.plan = &plan,
		.children = custom_plans,
	};
	CustomScan *scan = makeNode(CustomScan);

	check_native_plan(native);
	add_inputs(&builder, tree);
	add_joins(&builder, tree);
	add_outputs(&builder, tree, path->outputs, native);
	for (int i = 0; i < path->ntarget; i++)
		if (plan.native_resnos[i] == 0)
			elog(ERROR, "native child of a GpuJoin lacks an output");

	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = quals;
	scan->scan.scanrelid = 0;
	scan->flags = best_path->flags;
	scan->custom_plans = custom_plans;
	scan->custom_private = gj_plan_write(&plan);
	scan->custom_scan_tlist = scan_tlist(path->outputs);
	scan->methods = &gj_scan_methods;
	return &scan->scan.plan;
}
