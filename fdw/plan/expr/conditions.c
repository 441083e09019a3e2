/*
 * plan/expr/conditions.c - conditions in the form in which the daemon evaluates
 * them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "plan/expr/compare.h"
#include "plan/expr/conditions.h"
#include "plan/expr/dates.h"

/* Constants of a list that are compared one by one. */
#define MAX_COMPARISONS 100

/* A comparison with a numeric parameter. */
static char *
parameter_comparison(GjTranslator *t, GjPageTest test, Expr *left, Expr *right)
{
	bool		commuted = gj_is_numeric_parameter(left);
	Expr	   *operand = commuted ? right : left;
	const Param *param = (const Param *) (commuted ? left : right);
	GjValueJson value;
	bool		stored;

	if (gj_is_numeric_parameter(operand))
		return NULL;
	stored = gj_translate_stored(t, operand, &value);
	if (!stored && !gj_translate_value(t, operand, &value))
		return NULL;
	return gj_compare_parameter(t, test, &value, stored, param, commuted);
}

char *
gj_translate_comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left, Expr *right)
{
	GjPageTest	test;
	GjValueJson a;
	GjValueJson b;
	char	   *stored;

	if (!gj_find_test(opno, collation, exprType((Node *) left), exprType((Node *) right), &test))
		return gj_compare_date_with_timestamp(t, get_opcode(opno), left, right);
	if (gj_is_numeric_parameter(left) || gj_is_numeric_parameter(right))
		return parameter_comparison(t, test, left, right);
	stored = gj_compare_stored(t, test, left, right);
	if (stored != NULL)
		return stored;
	if (!gj_translate_value(t, left, &a) || !gj_translate_value(t, right, &b) ||
		a.kind != b.kind ||
		(a.kind == GJ_KIND_DECIMAL && !gj_align(&a, &b)))
		return NULL;
	return gj_compare_json(test, a.json, b.json);
}

/* text LIKE pattern; bpchar keeps its blanks here */
static char *
like(GjTranslator *t, Oid function, Oid collation, List *args)
{
	Expr	   *left = linitial(args);
	const Const *pattern = lsecond(args);
	const char *encoding = gj_encoding_word();
	bool		negated = function == F_TEXTNLIKE || function == F_BPCHARNLIKE;
	struct varlena *bytes;
	const char *data;
	int			length;
	GjValueJson value;
	bool		escaped = false;
	char	   *json;

	if (encoding == NULL || !IsA(pattern, Const) || pattern->constisnull ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return NULL;
	if (function == F_BPCHARLIKE || function == F_BPCHARNLIKE)
	{
		const Var  *var = gj_plain_column(left);

		if (var == NULL || !gj_translate_column(t, var, GJ_READ_BLANKS, &value))
			return NULL;
	}
	else if (!gj_translate_value(t, left, &value))
		return NULL;
	bytes = PG_DETOAST_DATUM_PACKED(pattern->constvalue);
	data = VARDATA_ANY(bytes);
	length = VARSIZE_ANY_EXHDR(bytes);

	/* PostgreSQL raises an error for an escape character at the end */
	for (int i = 0; i < length; i++)
		escaped = !escaped && data[i] == '\\';
	if (escaped)
		return NULL;
	json = psprintf("{\"like\":%s,\"pattern\":\"%s\",\"encoding\":\"%s\"}",
					value.json, gj_hex(data, length), encoding);
	return negated ? psprintf("{\"not\":%s}", json) : json;
}

/* The elements of a constant array. */
typedef struct Elements
{
	Oid			type;
	int16		length;
	bool		by_value;
	Datum	   *values;
	bool	   *nulls;
	int			n;
} Elements;

/* Returns false if the expression is not a constant array. */
static bool
elements_of(const Const *list, Elements *e)
{
	ArrayType  *array;
	char		align;

	if (!IsA(list, Const) || list->constisnull)
		return false;
	array = DatumGetArrayTypeP(list->constvalue);
	e->type = ARR_ELEMTYPE(array);
	get_typlenbyvalalign(e->type, &e->length, &e->by_value, &align);
	deconstruct_array(array, e->type, e->length, e->by_value, align, &e->values, &e->nulls, &e->n);
	return true;
}

static Const *
element_constant(const Elements *e, int i, Oid collation)
{
	return makeConst(e->type, -1, collation, e->length, e->values[i], e->nulls[i], e->by_value);
}

/*
 * value op ANY (constants) and value op ALL (constants), as one comparison for
 * each constant
 */
static char *
each_compared(GjTranslator *t, const ScalarArrayOpExpr *expr)
{
	Expr	   *left = linitial(expr->args);
	Elements	e;
	StringInfoData json;

	if (!elements_of(lsecond(expr->args), &e) || e.n == 0 || e.n > MAX_COMPARISONS)
		return NULL;
	initStringInfo(&json);
	for (int i = 0; i < e.n; i++)
	{
		Const	   *element = element_constant(&e, i, expr->inputcollid);
		char	   *test = e.nulls[i] ? NULL :
			gj_translate_comparison(t, expr->opno, expr->inputcollid, left, (Expr *) element);

		if (test == NULL)
			return NULL;
		appendStringInfo(&json, "%s%s", i > 0 ? "," : "", test);
	}
	return psprintf(expr->useOr ? "{\"or\":[%s]}" : "{\"and\":[%s]}", json.data);
}

/* value = ANY (constants) and value <> ALL (constants) */
static char *
in_list(GjTranslator *t, ScalarArrayOpExpr *expr)
{
	Expr	   *left = linitial(expr->args);
	GjPageTest	test;
	GjValueJson value;
	Elements	e;
	bool		has_null = false;
	StringInfoData items;
	char	   *json;

	if (!elements_of(lsecond(expr->args), &e) ||
		!gj_find_test(expr->opno, expr->inputcollid, exprType((Node *) left), e.type, &test) ||
		test != (expr->useOr ? GJ_TEST_EQ : GJ_TEST_NE))
		return NULL;

	/* NaN, as it is stored, equals no constant */
	if (!gj_translate_stored(t, left, &value) && !gj_translate_value(t, left, &value))
		return NULL;

	initStringInfo(&items);
	for (int i = 0; i < e.n; i++)
	{
		Const	   *element = element_constant(&e, i, expr->inputcollid);
		GjValueJson item;
		const char *from;
		int			length;

		if (e.nulls[i])
		{
			has_null = true;
			continue;
		}
		if (!gj_translate_constant(element, &item) || item.kind != value.kind)
			return NULL;

		/* a constant with more decimals than the value equals none of them */
		if (item.kind == GJ_KIND_DECIMAL && !gj_constant_to_scale(&item, value.scale))
			return NULL;
		if (items.len > 0)
			appendStringInfoChar(&items, ',');
		from = strchr(item.json, ':') + 1;
		length = strlen(from) - 1;
		appendBinaryStringInfo(&items, from, length);
	}
	json = psprintf("{\"in\":%s,\"%s\":[%s],\"null\":%s}", value.json,
					value.kind == GJ_KIND_TEXT ? "texts" : "ints", items.data,
					has_null ? "true" : "false");
	return expr->useOr ? json : psprintf("{\"not\":%s}", json);
}

static char *
logic(GjTranslator *t, BoolExpr *expr)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	if (expr->boolop == NOT_EXPR)
	{
		char	   *arg = gj_translate_condition(t, linitial(expr->args));

		return arg != NULL ? psprintf("{\"not\":%s}", arg) : NULL;
	}
	appendStringInfo(&json, "{\"%s\":[", expr->boolop == AND_EXPR ? "and" : "or");
	foreach(lc, expr->args)
	{
		char	   *arg = gj_translate_condition(t, lfirst(lc));

		if (arg == NULL)
			return NULL;
		appendStringInfo(&json, "%s%s", foreach_current_index(lc) > 0 ? "," : "", arg);
	}
	appendStringInfoString(&json, "]}");
	return json.data;
}

/* a IS DISTINCT FROM b: never NULL */
static char *
distinct(GjTranslator *t, const DistinctExpr *expr)
{
	char	   *equal = gj_translate_comparison(t, expr->opno, expr->inputcollid,
												linitial(expr->args), lsecond(expr->args));
	char	   *null[2];

	if (equal == NULL)
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = list_nth(expr->args, i);
		test->nulltesttype = IS_NULL;
		null[i] = gj_translate_condition(t, (Expr *) test);
		if (null[i] == NULL)
			return NULL;
	}
	return psprintf("{\"not\":{\"or\":[{\"and\":[%s,{\"not\":%s},{\"not\":%s}]},{\"and\":[%s,%s]}]}}",
					equal, null[0], null[1], null[0], null[1]);
}

/* IS [NOT] TRUE, FALSE, UNKNOWN */
static char *
boolean_test(GjTranslator *t, BooleanTest *expr)
{
	char	   *arg = gj_translate_condition(t, expr->arg);
	char	   *unknown;

	if (arg == NULL)
		return NULL;
	unknown = psprintf("{\"is_null\":{\"truth\":%s}}", arg);
	switch (expr->booltesttype)
	{
		case IS_TRUE:
			return psprintf("{\"and\":[%s,{\"not\":%s}]}", arg, unknown);
		case IS_NOT_TRUE:
			return psprintf("{\"or\":[{\"not\":%s},%s]}", arg, unknown);
		case IS_FALSE:
			return psprintf("{\"and\":[{\"not\":%s},{\"not\":%s}]}", arg, unknown);
		case IS_NOT_FALSE:
			return psprintf("{\"or\":[%s,%s]}", arg, unknown);
		case IS_UNKNOWN:
			return unknown;
		case IS_NOT_UNKNOWN:
			return psprintf("{\"not\":%s}", unknown);
	}
	return NULL;
}

char *
gj_translate_test(GjTranslator *t, Expr *expr)
{
	GjValueJson value;

	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return logic(t, (BoolExpr *) expr);
		case T_NullTest:
			{
				NullTest   *test = (NullTest *) expr;
				const Var  *var = t->leaf == NULL ? gj_plain_column(test->arg) : NULL;

				if (test->argisrow ||
					!(var != NULL ? gj_translate_column(t, var, GJ_READ_NULLS, &value) :
					  gj_translate_value(t, test->arg, &value)))
					return NULL;
				return psprintf(test->nulltesttype == IS_NULL ? "{\"is_null\":%s}" :
								"{\"not\":{\"is_null\":%s}}", value.json);
			}
		case T_BooleanTest:
			return boolean_test(t, (BooleanTest *) expr);
		case T_ScalarArrayOpExpr:
			{
				char	   *list = in_list(t, (ScalarArrayOpExpr *) expr);

				return list != NULL ? list : each_compared(t, (ScalarArrayOpExpr *) expr);
			}
		case T_DistinctExpr:
			return distinct(t, (DistinctExpr *) expr);
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) expr;
				Oid			function = get_opcode(op->opno);

				if (list_length(op->args) != 2)
					return NULL;
				if (function == F_TEXTLIKE || function == F_TEXTNLIKE ||
					function == F_BPCHARLIKE || function == F_BPCHARNLIKE)
					return like(t, function, op->inputcollid, op->args);
				return gj_translate_comparison(t, op->opno, op->inputcollid, linitial(op->args),
											   lsecond(op->args));
			}
		case T_Var:
		case T_PlaceHolderVar:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
			if (!gj_translate_value(t, expr, &value) || value.kind != GJ_KIND_BOOL)
				return NULL;
			return psprintf("{\"compare\":\"=\",\"left\":%s,\"right\":{\"int\":1}}", value.json);
		default:
			return NULL;
	}
}
