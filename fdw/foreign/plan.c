/*
 * foreign/plan.c - makes the plan node of a scan of a foreign table.
 *
 * Conditions that the daemon evaluates without ever failing are part of the job.  The
 * node evaluates the others on the rows that it gets.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "foreign/scan.h"
#include "foreign/wrapper.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"

/* The conditions of a scan. */
typedef struct Conditions
{
	GjTranslator translator;
	Index		rti;
	List	   *shipped;		/* that the daemon evaluates */
	List	   *exprs;			/* those, as GjExpr */
	int			bytes;			/* of their text */
	List	   *local;			/* the others */
} Conditions;

/* Can the daemon derive what the leaf reads from every value of the column? */
static bool
is_derivable(const GjLeaf *leaf, Index rti)
{
	return leaf->parameter != NULL ||
		((Index) leaf->var->varno == rti && gj_is_encoded(leaf->var->vartype) &&
		 leaf->form != GJ_FORM_UNSCALED && leaf->form != GJ_FORM_SCALE);
}

static bool
are_derivable(const List *leaves, Index rti)
{
	ListCell   *lc;

	foreach(lc, leaves)
		if (!is_derivable(lfirst(lc), rti))
			return false;
	return true;
}

/* Does the job stay within the daemon's limits with this condition, too? */
static bool
fits(const Conditions *conditions, const GjExpr *expr)
{
	return expr->levels <= GJ_MAX_CONDITION_LEVELS &&
		conditions->bytes + expr->bytes <= GJ_MAX_EXPRESSION_BYTES &&
		gj_count_parameters(conditions->translator.leaves) <= GJ_MAX_PARAMETERS &&
		list_length(conditions->translator.leaves) <= GJ_MAX_COLUMNS / 2;
}

/* Gives the condition to the daemon, or to the node. */
static void
sort_condition(Conditions *conditions, Expr *clause)
{
	GjTranslator *t = &conditions->translator;
	int			nleaves = list_length(t->leaves);
	GjExpr	   *expr = gj_translate_condition(t, clause);

	if (expr != NULL && !expr->can_fail && are_derivable(t->leaves, conditions->rti) &&
		fits(conditions, expr))
	{
		conditions->shipped = lappend(conditions->shipped, clause);
		conditions->exprs = lappend(conditions->exprs, expr);
		conditions->bytes += expr->bytes;
		return;
	}
	t->leaves = list_truncate(t->leaves, nleaves);
	conditions->local = lappend(conditions->local, clause);
}

List *
gj_local_conditions(PlannerInfo *root, const RelOptInfo *rel)
{
	Conditions	conditions = {
		.translator = {.root = root, .kept = true, .restarts = true},
		.rti = rel->relid
	};
	ListCell   *lc;

	foreach(lc, extract_actual_clauses(rel->baserestrictinfo, false))
		sort_condition(&conditions, lfirst(lc));
	return conditions.local;
}

/* ---- the job ---- */

static void
add_conditions(GjInputs *inputs, const Conditions *conditions)
{
	GjPlan	   *plan = inputs->plan;

	if (conditions->exprs != NIL)
	{
		gj_place_conditions(inputs, 0, conditions->translator.leaves);
		gj_name_hidden_columns(&plan->inputs[0]);
		plan->inputs[0].condition = gj_write_expr(gj_conjunction(conditions->exprs));
	}
	plan->plain_parameters = plan->nparameters;
}

/* The columns that the node's rows need.  The executor refuses system columns but this one. */
static Bitmapset *
columns_read(const RelOptInfo *rel, const List *local)
{
	Bitmapset  *attnums = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &attnums);
	pull_varattnos((Node *) local, rel->relid, &attnums);
	if (bms_is_member(SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber, attnums))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"ctid\" of a foreign table cannot be read")));
	return attnums;
}

/* Widths of values, where the planner knows them better than their types. */
static void
set_widths(GjInput *input, const RelOptInfo *rel)
{
	for (int i = 0; i < input->ncolumns; i++)
	{
		int			width = rel->attr_widths[input->columns[i].attnum - rel->min_attr];

		if (width > 0)
			input->columns[i].avg_width = width;
	}
}

ForeignScan *
gj_foreign_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid, ForeignPath *path,
					List *tlist, List *clauses, Plan *outer)
{
	Conditions	conditions = {
		.translator = {.root = root, .kept = true, .restarts = true},
		.rti = rel->relid
	};
	GjInputs	inputs = {.root = root};
	ListCell   *lc;

	foreach(lc, extract_actual_clauses(clauses, false))
		sort_condition(&conditions, lfirst(lc));
	inputs.plan = gj_plan_of_columns(relid, rel->userid, columns_read(rel, conditions.local));
	inputs.plan->inputs[0].rti = rel->relid;
	inputs.plan->inputs[0].rows = Max(rel->tuples, 0);
	set_widths(&inputs.plan->inputs[0], rel);
	add_conditions(&inputs, &conditions);
	return make_foreignscan(tlist, conditions.local, rel->relid, inputs.parameters,
							gj_plan_write(inputs.plan), NIL, conditions.shipped, outer);
}
