/*
 * plan/expr/choice.c - CASE, COALESCE, NULLIF, GREATEST and LEAST.
 *
 * A choice between numerics of several scales has a display scale that depends
 * on the row.
 */
#include "postgres.h"

#include "plan/expr/expr.h"

GjExpr *
gj_translate_case(GjTranslator *t, const CaseExpr *expr)
{
	int			n = list_length(expr->args);
	GjExpr	  **conditions = palloc(n * sizeof(GjExpr *));
	GjExpr	  **values = palloc((n + 1) * sizeof(GjExpr *));
	const GjExpr *outer = t->tested;

	if (expr->arg != NULL)
		t->tested = gj_translate_value(t, expr->arg);
	for (int i = 0; i < n; i++)
		conditions[i] = gj_translate_condition(t, list_nth_node(CaseWhen, expr->args, i)->expr);
	t->tested = outer;
	for (int i = 0; i < n; i++)
		values[i] = gj_translate_value(t, list_nth_node(CaseWhen, expr->args, i)->result);
	values[n] = gj_translate_value(t, expr->defresult);
	return gj_choose(conditions, values, n);
}

/* COALESCE is a CASE: its arguments are evaluated without side effects. */
GjExpr *
gj_translate_coalesce(GjTranslator *t, const CoalesceExpr *expr)
{
	int			n = list_length(expr->args) - 1;
	GjExpr	  **conditions = palloc((n + 1) * sizeof(GjExpr *));
	GjExpr	  **values = palloc((n + 1) * sizeof(GjExpr *));

	/* one is left of several arguments after those that are NULL */
	if (n == 0)
		return gj_translate_value(t, linitial(expr->args));
	for (int i = 0; i <= n; i++)
	{
		values[i] = gj_translate_value(t, list_nth(expr->args, i));
		conditions[i] = gj_not(gj_is_null(values[i]));
	}
	return gj_choose(conditions, values, n);
}

/*
 * GREATEST and LEAST ignore NULLs.  Of numerics, all have one scale: it is not
 * known which of equal ones PostgreSQL returns.
 */
GjExpr *
gj_translate_extreme(GjTranslator *t, const MinMaxExpr *expr)
{
	GjPageTest	test = expr->op == IS_GREATEST ? GJ_TEST_GT : GJ_TEST_LT;
	GjExpr	   *value = gj_translate_value(t, linitial(expr->args));
	ListCell   *lc;

	if (value == NULL || value->kind == GJ_KIND_TEXT)
		return NULL;
	for_each_from(lc, expr->args, 1)
	{
		GjExpr	   *next = gj_translate_value(t, lfirst(lc));
		int			width;

		if (next == NULL || next->kind != value->kind || next->scale != value->scale ||
			next->display_scale != NULL || value->display_scale != NULL)
			return NULL;
		width = Max(value->width, next->width);
		value = gj_choice(gj_either(gj_is_null(value), gj_compare(test, next, value)), next, value);
		value->width = width;
	}
	return value;
}

/* NULLIF(a, b): NULL where a = b, else a */
GjExpr *
gj_translate_nullif(GjTranslator *t, const NullIfExpr *expr)
{
	GjExpr	   *equal = gj_translate_comparison(t, expr->opno, expr->inputcollid,
												linitial(expr->args), lsecond(expr->args));
	GjExpr	   *value = equal != NULL ? gj_translate_value(t, linitial(expr->args)) : NULL;

	if (value == NULL || value->kind == GJ_KIND_TEXT || value->display_scale != NULL)
		return NULL;
	return gj_choice(equal, gj_null(value->width), value);
}
