/*
 * plan_inputs.c - the columns that the inputs of a job carry.
 *
 * Records the position of each column in its child's target list.  After this,
 * no code looks up a column by Var.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "plan_computed.h"
#include "plan_inputs.h"

/* Are these the same column?  Outer joins may have made one NULL. */
static bool
is_column(const Expr *expr, const Expr *column)
{
	if (nodeTag(expr) != nodeTag(column))
		return false;
	if (IsA(column, Var))
		return ((const Var *) expr)->varno == ((const Var *) column)->varno &&
			((const Var *) expr)->varattno == ((const Var *) column)->varattno;
	return IsA(column, PlaceHolderVar) &&
		((const PlaceHolderVar *) expr)->phid == ((const PlaceHolderVar *) column)->phid;
}

int
gj_find_column(const List *tlist, const Expr *column)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);

		if (is_column(entry->expr, column))
			return entry->resno;
	}
	return 0;
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
	Expr	   *computed;
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
	computed = gj_computed(inputs->root, var);
	column->resno = gj_find_column(child->targetlist,
								   computed != NULL ? computed : (const Expr *) var);
	if (column->resno == 0)
		elog(ERROR, "child plan of a GpuJoin lacks column %d of relation %d",
			 var->varattno, var->varno);
	column->attnum = var->varattno;
	if (computed != NULL)
		column->computed = gj_without_placeholders(computed);
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
	column->avg_width = gj_average_width(inputs->root, var);
	return place;
}

GjForm
gj_payload_form(const Var *var)
{
	int			scale;

	return gj_decimal_scale(var->vartype, var->vartypmod, &scale) ?
		GJ_FORM_DECIMAL : GJ_FORM_VALUE;
}

GjOutput
gj_place_var(GjInputs *inputs, const Var *var)
{
	return gj_need_column(inputs, var, gj_payload_form(var), false);
}
