/*
 * plan/block/functions_float.c - aggregate functions of floats.
 *
 * To the daemon, floats are integers that have their order.  It compares these,
 * and makes floats of them to add them up.  PostgreSQL's sums depend on the
 * order of the rows and the daemon's do not (joincore/float.go), so they differ
 * in the last digits and are computed only if gpujoin.float_aggregates is on.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "job/key_forms.h"
#include "options.h"
#include "plan/block/functions_float.h"
#include "plan/expr/choice.h"
#include "plan/expr/leaf.h"
#include "plan/input/computed.h"

/* A column, or an expression that the plan of an input computes. */
static bool
translate_column(GjTranslator *t, Expr *expr, GjReading reading, GjValueJson *value)
{
	const Var  *var = gj_column(t->root, expr);

	if (var == NULL && t->tree != NULL && !IsA(expr, PlaceHolderVar))
		var = gj_total_expression(t->root, expr);
	return var != NULL && gj_translate_float(t, var, reading, value);
}

/* PostgreSQL orders NaN after all others. */
GjReject
gj_add_float_extreme(GjAggregation *a, const Aggref *aggref, const char *name, const char *filter,
					 GjResult *result)
{
	Expr	   *expr = linitial_node(TargetEntry, aggref->args)->expr;
	GjValueJson arg;

	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	if (!translate_column(&a->translator, expr, GJ_READ_VALUE, &arg))
		return GJ_REJECT_VALUE;
	result->finish = aggref->aggtype == FLOAT4OID ? GJ_FINISH_FLOAT4 : GJ_FINISH_FLOAT8;
	result->column = gj_function_column(a, name, arg.json, filter, false, arg.width);
	return GJ_ACCEPTED;
}

/* ---- what is added up ---- */

static bool
translate_constant(const Const *c, GjValueJson *value)
{
	Oid			type = getBaseType(c->consttype);

	if (type != FLOAT4OID && type != FLOAT8OID)
		return false;
	*value = (GjValueJson)
	{
		.kind = GJ_KIND_INT, .width = sizeof(int64)
	};
	if (c->constisnull)
		value->json = psprintf("{\"null\":%d}", value->width);
	else
		value->json = psprintf("{\"int\":" INT64_FORMAT "}",
							   gj_float_order(type == FLOAT4OID ? DatumGetFloat4(c->constvalue) :
											  DatumGetFloat8(c->constvalue)));
	return true;
}

/* The arms of CASE and the arguments of COALESCE are such values. */
static bool
translate_float(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	switch (nodeTag(expr))
	{
		case T_RelabelType:
			return translate_float(t, ((RelabelType *) expr)->arg, value);
		case T_Const:
			return translate_constant((const Const *) expr, value);
		case T_CaseExpr:
			return ((const CaseExpr *) expr)->arg == NULL &&
				gj_translate_case(t, (const CaseExpr *) expr, value);
		case T_CoalesceExpr:
			return gj_translate_coalesce(t, (const CoalesceExpr *) expr, value);
		default:
			return translate_column(t, expr, GJ_READ_STORED, value);
	}
}

/* The conditions of CASE are not about such values. */
static char *
translate_condition(GjTranslator *t, Expr *expr)
{
	const GjTranslatorMethods *methods = t->methods;
	char	   *json;

	t->methods = &gj_translator_methods;
	json = gj_translate_condition(t, expr);
	t->methods = methods;
	return json;
}

static const GjTranslatorMethods float_methods = {
	.value = translate_float,
	.condition = translate_condition,
};

GjReject
gj_add_float_sum(GjAggregation *a, const Aggref *aggref, bool average, const char *filter,
				 GjResult *result)
{
	Expr	   *expr = linitial_node(TargetEntry, aggref->args)->expr;
	bool		single = aggref->aggtype == FLOAT4OID;
	GjValueJson arg;
	bool		ok;

	/* verification compares all digits */
	if (!gj_float_aggregates || gj_verify)
		return GJ_REJECT_FLOAT_AGGREGATE;
	if (aggref->aggdistinct != NIL)
		return GJ_REJECT_AGGREGATE;
	a->translator.methods = &float_methods;
	ok = gj_translate_value(&a->translator, expr, &arg);
	a->translator.methods = &gj_translator_methods;
	if (!ok)
		return GJ_REJECT_VALUE;
	result->finish = single ? GJ_FINISH_FLOAT4 : GJ_FINISH_FLOAT8;
	result->column = gj_function_column(a, average ? "avg_float" : single ? "sum_float4" : "sum_float8",
									 arg.json, filter, false, sizeof(int64));
	return GJ_ACCEPTED;
}
