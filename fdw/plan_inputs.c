/*
 * plan_inputs.c - the inputs and joins of a job, and the columns they carry.
 *
 * Decides which columns each input carries, and records all positions: of a
 * column in its child's target list, and of a key in its inputs.  After this,
 * no code looks up a column by Var.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "plan_condition.h"
#include "plan_inputs.h"

int
gj_find_var(const List *tlist, const Var *var)
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
add_inputs(GjInputs *inputs, const GjCandidate *tree)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input;
	const GjSource *source = tree->source;
	const RangeTblEntry *rte;
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
	 * core may have added a node above the scan, which a page feed would skip
	 */
	input->feed = IsA(child, SeqScan) ? source->feed : GJ_FEED_CHILD;
	input->partial = source->partial;
	input->rti = source->rel->relid;
	rte = inputs->root->simple_rte_array[input->rti];
	input->relid = rte->relid;
	if (rte->rtekind != RTE_RELATION)
		input->name = rte->eref->aliasname;
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

GjOutput
gj_need_column(GjInputs *inputs, const Var *var, GjForm form, bool is_key)
{
	GjPlan	   *plan = inputs->plan;
	GjOutput	place = {.input = find_input(plan, var)};
	GjInput    *input = &plan->inputs[place.input];
	Plan	   *child = list_nth(inputs->children, place.input);
	RelOptInfo *rel = inputs->root->simple_rel_array[input->rti];
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
	column->resno = gj_find_var(child->targetlist, var);
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

GjForm
gj_payload_form(const Var *var)
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

GjOutput
gj_place_var(void *inputs, const Var *var)
{
	return gj_need_column(inputs, var, gj_payload_form(var), false);
}

/* A condition as JSON; NULL: none. */
static char *
condition_json(GjInputs *inputs, List *exprs)
{
	return exprs == NIL ? NULL : gj_residual_json(exprs, gj_place_var, inputs);
}

/* Adds the tree's joins in post-order, with the columns that they read. */
static void
add_joins(GjInputs *inputs, const GjCandidate *tree)
{
	GjJoin	   *join;
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	add_joins(inputs, tree->left);
	add_joins(inputs, tree->right);

	join = &inputs->plan->joins[inputs->plan->njoins++];
	join->kind = tree->kind;
	join->rows = tree->rows;
	join->residual = condition_json(inputs, tree->residual);
	join->residual_exprs = tree->residual;
	join->filter = condition_json(inputs, tree->filter);
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
		join->left[join->nkeys] = gj_need_column(inputs, left, form, true);
		join->right[join->nkeys] = gj_need_column(inputs, right, form, true);
		join->nkeys++;
	}
}

void
gj_add_tree(GjInputs *inputs, const GjCandidate *tree)
{
	add_inputs(inputs, tree);
	add_joins(inputs, tree);
}
