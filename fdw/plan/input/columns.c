/*
 * plan/input/columns.c - the columns that the inputs of a job carry.
 *
 * Records the position of each column in its child's target list.  After this,
 * no code looks up a column by Var.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "utils/rel.h"

#include "job/job.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"
#include "plan/state.h"

/* Are these the same column?  Outer joins may have made one NULL. */
static bool
is_column(const Expr *expr, const Expr *column)
{
	if (IsA(expr, Var) && IsA(column, Var))
		return ((const Var *) expr)->varno == ((const Var *) column)->varno &&
			((const Var *) expr)->varattno == ((const Var *) column)->varattno;
	if (IsA(expr, PlaceHolderVar) && IsA(column, PlaceHolderVar))
		return ((const PlaceHolderVar *) expr)->phid == ((const PlaceHolderVar *) column)->phid;
	return equal(expr, column);
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

int
gj_last_column(const List *exprs, Index relid)
{
	Bitmapset  *read = NULL;
	int			last = 0;
	int			member = -1;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		const Var  *var = lfirst(lc);

		/* most are plain columns, which need no set of columns */
		if (!IsA(var, Var))
			pull_varattnos((Node *) var, relid, &read);
		else if (var->varno == (int) relid && var->varlevelsup == 0)
			last = Max(last, var->varattno);
	}
	while ((member = bms_next_member(read, member)) >= 0)
		last = Max(last, member + FirstLowInvalidHeapAttributeNumber);
	bms_free(read);
	return last;
}

/* The input that scans the column's relation, or -1. */
static int
find_input(const GjPlan *plan, const Var *var)
{
	for (int i = 0; i < plan->ninputs; i++)
		if (plan->inputs[i].rti == (Index) var->varno)
			return i;
	return -1;
}

/*
 * Lets the child's plan compute an expression, above the scan if that cannot.
 * Returns its position in the plan's target list.
 */
static int
compute_in_child(GjInputs *inputs, int input, Expr *expr)
{
	ListCell   *cell = list_nth_cell(inputs->children, input);
	Plan	   *child = lfirst(cell);
	int			resno = list_length(child->targetlist) + 1;
	List	   *tlist = lappend(list_copy(child->targetlist),
								makeTargetEntry(copyObject(expr), resno, NULL, false));

	lfirst(cell) = change_plan_targetlist(child, tlist, true);
	inputs->plan->inputs[input].feed = GJ_FEED_CHILD;
	return resno;
}

void
gj_describe_column(GjInputs *inputs, const Var *var, GjForm form, GjColumn *column)
{
	column->attnum = var->varattno;
	column->type = var->vartype;
	column->typmod = var->vartypmod;
	column->collation = var->varcollid;
	if (gj_is_key_form(form))
	{
		gj_describe_key(form, column);
		if (form == GJ_FORM_UNSCALED)
			column->scale = gj_unscaled_scale(inputs->root, var);
	}
	else if (!gj_describe_payload(var->vartype, var->vartypmod, column))
		gj_note_defect(&inputs->plan->defect, "a column has type %u, which cannot be fed", var->vartype);
	column->avg_width = gj_average_width(inputs->root, var);
}

GjOutput
gj_need_column(GjInputs *inputs, const Var *var, GjForm form, bool is_key)
{
	GjPlan	   *plan = inputs->plan;
	GjOutput	place = {.input = find_input(plan, var)};
	GjInput    *input;
	const Plan *child;
	Expr	   *computed;
	GjColumn   *column;

	if (place.input < 0)
	{
		gj_note_defect(&plan->defect, "no input contains column %d of relation %d",
					   var->varattno, var->varno);
		place.input = 0;
		return place;
	}
	input = &plan->inputs[place.input];
	child = list_nth(inputs->children, place.input);
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
	if (column->resno == 0 && computed != NULL)
		column->resno = compute_in_child(inputs, place.input, computed);
	if (column->resno == 0 && input->feed != GJ_FEED_MIRROR)
		gj_note_defect(&plan->defect, "the plan of an input lacks column %d of relation %d",
					   var->varattno, var->varno);
	gj_describe_column(inputs, var, form, column);
	if (computed != NULL)
		column->computed = gj_without_placeholders(computed);
	column->is_key = is_key;
	return place;
}

/* ---- inputs of which nothing is read ---- */

/* Reading a value of fixed length that follows only such ones costs least. */
static bool
is_cheap(const FormData_pg_attribute *att)
{
	return att->attbyval && att->attnotnull;
}

const Var *
gj_cheapest_column(const RangeTblEntry *rte, Index rti)
{
	Relation	relation = table_open(rte->relid, NoLock);	/* locked for the query */
	TupleDesc	desc = RelationGetDescr(relation);
	const FormData_pg_attribute *best = NULL;
	Var		   *var = NULL;

	for (int i = 0; i < desc->natts; i++)
	{
		const FormData_pg_attribute *att = TupleDescAttr(desc, i);
		GjColumn	column = {0};

		if (att->attisdropped || (best != NULL && !is_cheap(att)) ||
			(rte->relkind == RELKIND_FOREIGN_TABLE && !gj_is_encoded(att->atttypid)) ||
			!gj_describe_payload(att->atttypid, att->atttypmod, &column))
			continue;
		best = att;
		if (is_cheap(att))
			break;
	}
	if (best != NULL)
		var = makeVar(rti, best->attnum, best->atttypid, best->atttypmod,
					  best->attcollation, 0);
	table_close(relation, NoLock);
	return var;
}

void
gj_need_some_column(GjInputs *inputs)
{
	GjPlan	   *plan = inputs->plan;

	for (int i = 0; i < plan->ninputs; i++)
	{
		Plan	   *child = list_nth(inputs->children, i);
		Index		rti = plan->inputs[i].rti;
		bool		mirror = plan->inputs[i].feed == GJ_FEED_MIRROR;
		const Var  *var;

		if (plan->inputs[i].ncolumns > 0)
			continue;
		var = gj_cheapest_column(inputs->root->simple_rte_array[rti], rti);
		if ((!mirror && !IsA(child, SeqScan)) || var == NULL)
		{
			gj_note_defect(&plan->defect, "an input has no column");
			return;
		}
		if (!mirror)
			child->targetlist = lappend(list_copy(child->targetlist),
										makeTargetEntry((Expr *) var,
														list_length(child->targetlist) + 1, NULL, false));
		(void) gj_place_var(inputs, var);
	}
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

List *
gj_scan_tlist(const List *exprs)
{
	List	   *tlist = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		tlist = lappend(tlist, makeTargetEntry(copyObject(lfirst(lc)),
											   list_length(tlist) + 1, NULL, false));
	return tlist;
}
