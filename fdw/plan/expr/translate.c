/*
 * plan/expr/translate.c - expressions in the form in which the daemon evaluates them.
 *
 * Translates an expression by the file for its kind.  A kind that no file knows
 * makes the whole expression untranslatable.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "plan/expr/expr.h"
#include "plan/input/input.h"

/* An expression of one of the kinds that the daemon evaluates. */
static GjExpr *
translate_kind(GjTranslator *t, Expr *expr)
{
	switch (nodeTag(expr))
	{
		case T_Var:
		case T_PlaceHolderVar:
			{
				const Var  *var = gj_column(t->root, expr);

				return var != NULL ? gj_translate_column(t, var, GJ_READ_VALUE) : NULL;
			}
		case T_Const:
			return gj_translate_constant((Const *) expr);
		case T_Param:
			return gj_translate_parameter(t, (Param *) expr);
		case T_RelabelType:
			{
				RelabelType *relabel = (RelabelType *) expr;

				return gj_same_value(exprType((Node *) relabel->arg), relabel->resulttype) ?
					gj_translate_value(t, relabel->arg) : NULL;
			}
		case T_FuncExpr:
			{
				FuncExpr   *call = (FuncExpr *) expr;

				if (call->funcid == F_NUM_NULLS || call->funcid == F_NUM_NONNULLS)
					return gj_translate_null_count(t, call);
				return gj_translate_call(t, call->funcid, call->args, call->funcresulttype);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) expr;

				set_opfuncid(op);
				if (op->opresulttype != BOOLOID)
					return gj_translate_call(t, op->opfuncid, op->args, op->opresulttype);
				break;
			}
		case T_CaseExpr:
			return gj_translate_case(t, (CaseExpr *) expr);
		case T_CaseTestExpr:
			return t->tested != NULL ? gj_as_kind(t->tested, t->tested->kind) : NULL;
		case T_CoalesceExpr:
			return gj_translate_coalesce(t, (CoalesceExpr *) expr);
		case T_NullIfExpr:
			return gj_translate_nullif(t, (NullIfExpr *) expr);
		case T_MinMaxExpr:
			return gj_translate_extreme(t, (MinMaxExpr *) expr);
		default:
			break;
	}
	return exprType((Node *) expr) == BOOLOID ? gj_truth(gj_translate_condition(t, expr)) : NULL;
}

/*
 * An expression that the plan of an input can compute.  Only blocks have those:
 * their input is then fed by its plan.
 */
static GjExpr *
translate_computed(GjTranslator *t, Expr *expr)
{
	const Var  *var;

	if (t->leaf != NULL || t->tree == NULL ||
		!(IsA(expr, FuncExpr) || IsA(expr, OpExpr) || IsA(expr, CoerceViaIO)))
		return NULL;
	var = gj_total_expression(t->root, expr);
	return var != NULL ? gj_translate_column(t, var, GJ_READ_VALUE) : NULL;
}

static GjExpr *
translate_any(GjTranslator *t, Expr *expr)
{
	int			nleaves = list_length(t->leaves);
	GjExpr	   *value;

	if (t->leaf != NULL && t->leaf(t->leaf_arg, expr, &value))
		return value;
	if (gj_is_known_at_start(expr))
		return gj_translate_known(t, expr);
	value = translate_kind(t, expr);
	if (value != NULL)
		return value;
	/* an attempt that failed reads nothing */
	t->leaves = list_truncate(t->leaves, nleaves);
	return translate_computed(t, expr);
}

/* expr, or NULL if there is none or its text would be too long. */
static GjExpr *
bounded(GjExpr *expr)
{
	return expr != NULL && expr->bytes <= GJ_MAX_EXPRESSION_BYTES ? expr : NULL;
}

GjExpr *
gj_translate_value(GjTranslator *t, Expr *expr)
{
	GjExpr	   *value;

	check_stack_depth();
	value = bounded(t->floats ? gj_translate_float(t, expr) : translate_any(t, expr));
	return value != NULL && (value->display_scale == NULL || bounded(value->display_scale) != NULL) ?
		value : NULL;
}

/* The conditions of a CASE are not about the floats that it adds up. */
GjExpr *
gj_translate_condition(GjTranslator *t, Expr *expr)
{
	bool		floats = t->floats;
	int			nleaves = list_length(t->leaves);
	GjExpr	   *condition;

	check_stack_depth();
	t->floats = false;
	condition = gj_translate_test(t, expr);
	if (condition == NULL && exprType((Node *) expr) == BOOLOID)
	{
		t->leaves = list_truncate(t->leaves, nleaves);
		condition = gj_compare(GJ_TEST_EQ, translate_computed(t, expr), gj_int(1));
	}
	t->floats = floats;
	return bounded(condition);
}
