/*
 * plan/expr/translate.c - expressions in the form in which the daemon evaluates them.
 *
 * Translates an expression by the file for its kind.  These files translate
 * the arguments by way of GjTranslator.methods.  A kind that no file knows
 * makes the whole expression untranslatable.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "plan/expr/choice.h"
#include "plan/expr/compare.h"
#include "plan/expr/conditions.h"
#include "plan/expr/functions.h"
#include "plan/expr/leaf.h"
#include "plan/expr/limits.h"
#include "plan/expr/parameters.h"
#include "plan/input/computed.h"

/* An expression of one of the kinds that the daemon evaluates. */
static bool
translate_kind(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	char	   *condition;

	switch (nodeTag(expr))
	{
		case T_Var:
		case T_PlaceHolderVar:
			{
				const Var  *var = gj_column(t->root, expr);

				return var != NULL && gj_translate_column(t, var, GJ_READ_VALUE, value);
			}
		case T_Const:
			return gj_translate_constant((Const *) expr, value);
		case T_Param:
			return gj_translate_parameter(t, (Param *) expr, value);
		case T_RelabelType:
			{
				RelabelType *relabel = (RelabelType *) expr;

				return gj_same_value(exprType((Node *) relabel->arg), relabel->resulttype) &&
					gj_translate_value(t, relabel->arg, value);
			}
		case T_FuncExpr:
			{
				FuncExpr   *call = (FuncExpr *) expr;

				return gj_translate_call(t, call->funcid, call->args, call->funcresulttype, value);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) expr;

				set_opfuncid(op);
				if (op->opresulttype != BOOLOID)
					return gj_translate_call(t, op->opfuncid, op->args, op->opresulttype, value);
				break;
			}
		case T_CaseExpr:
			return gj_translate_case(t, (CaseExpr *) expr, value);
		case T_CaseTestExpr:
			if (t->tested == NULL)
				return false;
			*value = *t->tested;
			return true;
		case T_CoalesceExpr:
			return gj_translate_coalesce(t, (CoalesceExpr *) expr, value);
		case T_NullIfExpr:
			return gj_translate_nullif(t, (NullIfExpr *) expr, value);
		case T_MinMaxExpr:
			return gj_translate_extreme(t, (MinMaxExpr *) expr, value);
		default:
			break;
	}
	if (exprType((Node *) expr) != BOOLOID)
		return false;
	condition = gj_translate_condition(t, expr);
	if (condition == NULL)
		return false;
	(void) gj_describe_value(BOOLOID, value);
	value->json = psprintf("{\"truth\":%s}", condition);
	return true;
}

/*
 * An expression that the plan of an input can compute.  Only blocks have those:
 * their input is then fed by its plan.
 */
static bool
translate_computed(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	const Var  *var;

	if (t->leaf != NULL || t->tree == NULL ||
		!(IsA(expr, FuncExpr) || IsA(expr, OpExpr) || IsA(expr, CoerceViaIO)))
		return false;
	var = gj_total_expression(t->root, expr);
	return var != NULL && gj_translate_column(t, var, GJ_READ_VALUE, value);
}

static bool
translate_value(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	bool		ok;

	if (t->leaf != NULL && t->leaf(t->leaf_arg, expr, value, &ok))
		return ok;
	if (gj_is_known_at_start(expr))
		return gj_translate_known(t, expr, value);
	return translate_kind(t, expr, value) || translate_computed(t, expr, value);
}

/* ---- bounds ---- */

/*
 * Some constructs repeat the text of an argument, so that the text may grow
 * exponentially with the nesting of the expression.
 */
static bool
is_short(const char *json)
{
	return strlen(json) <= GJ_MAX_EXPRESSION_BYTES;
}

static char *
bounded_condition(GjTranslator *t, Expr *expr)
{
	char	   *json;
	GjValueJson value;

	check_stack_depth();
	json = gj_translate_test(t, expr);
	if (json == NULL && exprType((Node *) expr) == BOOLOID && translate_computed(t, expr, &value))
		json = gj_compare_json(GJ_TEST_EQ, value.json, "{\"int\":1}");
	return json != NULL && is_short(json) ? json : NULL;
}

static bool
bounded_value(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	check_stack_depth();
	return translate_value(t, expr, value) && is_short(value->json) &&
		(value->display_scale == NULL || is_short(value->display_scale));
}

const GjTranslatorMethods gj_translator_methods = {
	.value = bounded_value,
	.condition = bounded_condition,
};

char *
gj_translate_conditions(GjTranslator *t, List *exprs)
{
	return list_length(exprs) == 1 ? gj_translate_condition(t, linitial(exprs)) :
		gj_translate_condition(t, (Expr *) makeBoolExpr(AND_EXPR, exprs, -1));
}
