/*
 * plan/expr/parameters.c - values that are known when an execution starts.
 *
 * Parameters of prepared statements, results of subqueries that run once, and
 * the current date and time.
 * The node evaluates them before it opens a job, which has them as integers or,
 * if they are texts, as bytes.
 * A numeric's scale is not known before, so a numeric is only compared: with
 * the integers below and above it.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/fmgroids.h"

#include "plan/expr/expr.h"

/* Is the parameter the result of a subquery that runs only once? */
static bool
is_init_param(PlannerInfo *root, int paramid)
{
	for (; root != NULL; root = root->parent_root)
	{
		ListCell   *lc;

		foreach(lc, root->init_plans)
			if (list_member_int(lfirst_node(SubPlan, lc)->setParam, paramid))
				return true;
	}
	return false;
}

static bool
is_external(const GjTranslator *t, const Param *param)
{
	return param->paramkind == PARAM_EXTERN ||
		(param->paramkind == PARAM_EXEC && (t->restarts || is_init_param(t->root, param->paramid)));
}

/* A mention of the parameter. */
static GjExpr *
mention(GjTranslator *t, const Expr *param, GjRounding rounding, int scale)
{
	return gj_parameter_expr(gj_leaf(t, (GjLeaf) {
		.parameter = param, .rounding = rounding, .scale = scale
	}));
}

GjExpr *
gj_translate_parameter(GjTranslator *t, const Param *param)
{
	GjExpr		described;
	GjExpr	   *value;

	if (!is_external(t, param) || !gj_describe_value(param->paramtype, &described) ||
		described.kind == GJ_KIND_DECIMAL)
		return NULL;
	value = mention(t, (const Expr *) param,
					described.kind == GJ_KIND_TEXT ? GJ_ROUND_TEXT : GJ_ROUND_NONE, 0);
	value->kind = described.kind;
	value->width = described.kind == GJ_KIND_TEXT ? 0 : GJ_CONSTANT_WIDTH;
	return value;
}

/* ---- the current date and time ---- */

static bool
is_clock(const Node *node)
{
	if (IsA(node, SQLValueFunction))
		return true;
	if (!IsA(node, FuncExpr))
		return false;
	switch (((const FuncExpr *) node)->funcid)
	{
		case F_NOW:
		case F_TRANSACTION_TIMESTAMP:
		case F_STATEMENT_TIMESTAMP:
			return true;
		default:
			return false;
	}
}

/* Functions of dates and times that may depend on settings, but not on rows. */
static bool
is_function_of_time(Oid function)
{
	switch (function)
	{
		case F_DATE_TIMESTAMP:
		case F_DATE_TIMESTAMPTZ:
		case F_TIMESTAMP_DATE:
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_DATE:
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_DATE_PLI:
		case F_DATE_MII:
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
		case F_TIMESTAMP_PL_INTERVAL:
		case F_TIMESTAMP_MI_INTERVAL:
		case F_TIMESTAMPTZ_PL_INTERVAL:
		case F_TIMESTAMPTZ_MI_INTERVAL:
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return true;
		default:
			return false;
	}
}

/* Stops at the first thing that is neither a function of time nor a constant. */
static bool
reads_other(Node *node, bool *clock)
{
	bool		ok = false;

	if (node == NULL)
		return false;
	if (is_clock(node))
	{
		*clock = true;
		return false;
	}
	if (IsA(node, FuncExpr))
		ok = is_function_of_time(((FuncExpr *) node)->funcid);
	else if (IsA(node, OpExpr))
	{
		set_opfuncid((OpExpr *) node);
		ok = is_function_of_time(((OpExpr *) node)->opfuncid);
	}
	else
		ok = IsA(node, List) || IsA(node, Const);
	return !ok || expression_tree_walker(node, reads_other, clock);
}

bool
gj_is_known_at_start(Expr *expr)
{
	bool		clock = false;

	return (IsA(expr, SQLValueFunction) || IsA(expr, FuncExpr) || IsA(expr, OpExpr)) &&
		!reads_other((Node *) expr, &clock) && clock;
}

GjExpr *
gj_translate_known(GjTranslator *t, Expr *expr)
{
	GjExpr		described;

	return gj_describe_value(exprType((Node *) expr), &described) && described.kind == GJ_KIND_INT ?
		mention(t, expr, GJ_ROUND_NONE, 0) : NULL;
}

GjExpr *
gj_numeric_parameter(GjTranslator *t, const Param *param, int scale, GjRounding rounding)
{
	return is_external(t, param) ?
		mention(t, (const Expr *) param, rounding, scale) : NULL;
}

/* ---- the plan ---- */

/* The number of the parameter in the job, which has each once. */
static int
number(GjInputs *inputs, const GjLeaf *leaf)
{
	GjPlan	   *plan = inputs->plan;
	ListCell   *lc;

	foreach(lc, inputs->parameters)
	{
		int			i = foreach_current_index(lc);

		if (equal(lfirst(lc), leaf->parameter) && plan->parameters[i].rounding == leaf->rounding &&
			plan->parameters[i].scale == leaf->scale)
			return i;
	}
	if (plan->parameters == NULL)
		plan->parameters = palloc(GJ_MAX_PARAMETERS * sizeof(GjParameter));
	if (plan->nparameters == GJ_MAX_PARAMETERS)
	{
		gj_note_defect(&plan->defect, "the job has more than %d parameters", GJ_MAX_PARAMETERS);
		return 0;
	}
	plan->parameters[plan->nparameters].rounding = leaf->rounding;
	plan->parameters[plan->nparameters].scale = leaf->scale;
	inputs->parameters = lappend(inputs->parameters, copyObject(unconstify(Expr *, leaf->parameter)));
	return plan->nparameters++;
}

void
gj_place_leaves(GjInputs *inputs, const List *leaves)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		GjLeaf	   *leaf = lfirst(lc);

		if (leaf->parameter != NULL)
			leaf->number = number(inputs, leaf);
		else
			leaf->place = gj_need_column(inputs, leaf->var, leaf->form, leaf->is_key);
	}
}

int
gj_count_parameters(const List *leaves)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, leaves)
		n += ((const GjLeaf *) lfirst(lc))->parameter != NULL;
	return n;
}

List *
gj_with_parameters(const GjInputs *inputs, List *children)
{
	Result	   *values;
	ListCell   *lc;

	if (inputs->parameters == NIL)
		return children;
	values = makeNode(Result);
	values->plan.plan_rows = 1;
	values->plan.parallel_safe = true;
	foreach(lc, inputs->parameters)
		values->plan.targetlist = lappend(values->plan.targetlist,
										  makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1,
														  NULL, false));
	return lappend(list_copy(children), values);
}
