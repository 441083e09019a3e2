/*
 * plan/expr/choice.c - CASE, COALESCE, NULLIF, GREATEST and LEAST.
 *
 * A choice between numerics of several scales has a display scale that depends
 * on the row.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "plan/expr/choice.h"
#include "plan/expr/compare.h"
#include "plan/expr/conditions.h"
#include "plan/expr/leaf.h"
#include "plan/expr/limits.h"

static char *
case_json(char **conditions, int n, GjValueJson *arms, bool scales)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"case\":[");
	for (int i = 0; i < n; i++)
		appendStringInfo(&json, "%s{\"when\":%s,\"then\":%s}", i > 0 ? "," : "", conditions[i],
						 scales ? arms[i].display_scale : arms[i].json);
	appendStringInfo(&json, "],\"else\":%s}", scales ? arms[n].display_scale : arms[n].json);
	return json.data;
}

bool
gj_translate_case(GjTranslator *t, const CaseExpr *expr, GjValueJson *value)
{
	int			n = list_length(expr->args);
	char	  **conditions = palloc(n * sizeof(char *));
	GjValueJson *arms = palloc0((n + 1) * sizeof(GjValueJson));
	const GjValueJson *outer = t->tested;
	GjValueJson tested;
	bool		ok = true;

	if (expr->arg != NULL)
	{
		if (!gj_translate_value(t, expr->arg, &tested))
			return false;
		t->tested = &tested;
	}
	for (int i = 0; i < n && ok; i++)
	{
		CaseWhen   *when = list_nth_node(CaseWhen, expr->args, i);

		conditions[i] = gj_translate_condition(t, when->expr);
		ok = conditions[i] != NULL;
	}
	t->tested = outer;
	for (int i = 0; i < n && ok; i++)
		ok = gj_translate_value(t, list_nth_node(CaseWhen, expr->args, i)->result, &arms[i]);
	ok = ok && gj_translate_value(t, expr->defresult, &arms[n]) && gj_unite(arms, n + 1, value);
	if (!ok)
		return false;
	value->json = case_json(conditions, n, arms, false);
	if (value->display_scale != NULL)
		value->display_scale = case_json(conditions, n, arms, true);
	return true;
}

/* COALESCE is a CASE: its arguments are evaluated without side effects. */
bool
gj_translate_coalesce(GjTranslator *t, const CoalesceExpr *expr, GjValueJson *value)
{
	int			n = list_length(expr->args) - 1;
	char	  **conditions = palloc((n + 1) * sizeof(char *));
	GjValueJson *arms = palloc0((n + 1) * sizeof(GjValueJson));

	/* what is left of several arguments after those that are NULL */
	if (n == 0)
		return gj_translate_value(t, linitial(expr->args), value);
	for (int i = 0; i <= n; i++)
	{
		if (!gj_translate_value(t, list_nth(expr->args, i), &arms[i]))
			return false;
		conditions[i] = psprintf("{\"not\":{\"is_null\":%s}}", arms[i].json);
	}
	if (!gj_unite(arms, n + 1, value))
		return false;
	value->json = case_json(conditions, n, arms, false);
	if (value->display_scale != NULL)
		value->display_scale = case_json(conditions, n, arms, true);
	return true;
}

/*
 * GREATEST and LEAST ignore NULLs.  Of numerics, all have one scale: it is not
 * known which of equal ones PostgreSQL returns.
 */
bool
gj_translate_extreme(GjTranslator *t, const MinMaxExpr *expr, GjValueJson *value)
{
	GjPageTest	test = expr->op == IS_GREATEST ? GJ_TEST_GT : GJ_TEST_LT;
	ListCell   *lc;

	if (!gj_translate_value(t, linitial(expr->args), value) || value->kind == GJ_KIND_TEXT)
		return false;
	for_each_from(lc, expr->args, 1)
	{
		GjValueJson next;
		char	   *better;

		if (!gj_translate_value(t, lfirst(lc), &next) || next.kind != value->kind ||
			next.scale != value->scale || next.display_scale != NULL || value->display_scale != NULL)
			return false;
		better = psprintf("{\"or\":[{\"is_null\":%s},%s]}", value->json,
						  gj_compare_json(test, next.json, value->json));
		value->json = gj_choice_json(better, next.json, value->json);
		value->width = Max(value->width, next.width);
		if (strlen(value->json) > GJ_MAX_EXPRESSION_BYTES)
			return false;
	}
	return true;
}

/* NULLIF(a, b): NULL where a = b, else a */
bool
gj_translate_nullif(GjTranslator *t, NullIfExpr *expr, GjValueJson *value)
{
	char	   *equal = gj_translate_comparison(t, expr->opno, expr->inputcollid,
												linitial(expr->args), lsecond(expr->args));

	if (equal == NULL || !gj_translate_value(t, linitial(expr->args), value) ||
		value->kind == GJ_KIND_TEXT || value->display_scale != NULL)
		return false;
	value->json = psprintf("{\"case\":[{\"when\":%s,\"then\":{\"null\":%d}}],\"else\":%s}",
						   equal, value->width, value->json);
	return true;
}
