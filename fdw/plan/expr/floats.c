/*
 * plan/expr/floats.c - floats that are compared as a whole or added up.
 *
 * To the daemon, floats are integers that have their order.  It compares these,
 * and makes floats of them to add them up.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "job/key_forms.h"
#include "plan/expr/expr.h"
#include "plan/input/computed.h"

GjExpr *
gj_translate_plain_float(GjTranslator *t, Expr *expr, GjReading reading)
{
	const Var  *var = gj_column(t->root, expr);

	if (var == NULL && t->tree != NULL && !IsA(expr, PlaceHolderVar))
		var = gj_total_expression(t->root, expr);
	return var != NULL ? gj_translate_float_column(t, var, reading) : NULL;
}

static GjExpr *
translate_constant(const Const *c)
{
	Oid			type = getBaseType(c->consttype);

	if (type != FLOAT4OID && type != FLOAT8OID)
		return NULL;
	if (c->constisnull)
		return gj_null(sizeof(int64));
	return gj_int(gj_float_order(type == FLOAT4OID ? DatumGetFloat4(c->constvalue) :
								 DatumGetFloat8(c->constvalue)));
}

/* The arms of CASE and the arguments of COALESCE are such values. */
GjExpr *
gj_translate_float(GjTranslator *t, Expr *expr)
{
	switch (nodeTag(expr))
	{
		case T_RelabelType:
			return gj_translate_value(t, ((RelabelType *) expr)->arg);
		case T_Const:
			return translate_constant((const Const *) expr);
		case T_CaseExpr:
			return ((const CaseExpr *) expr)->arg == NULL ?
				gj_translate_case(t, (const CaseExpr *) expr) : NULL;
		case T_CoalesceExpr:
			return gj_translate_coalesce(t, (const CoalesceExpr *) expr);
		default:
			return gj_translate_plain_float(t, expr, GJ_READ_STORED);
	}
}
