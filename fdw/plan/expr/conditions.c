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

#include "plan/expr/expr.h"

/* Constants of a list that are compared one by one. */
#define MAX_COMPARISONS 100

GjExpr *
gj_translate_comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left, Expr *right)
{
	GjPageTest	test;
	GjExpr	   *a;
	GjExpr	   *b;
	GjExpr	   *condition;
	bool		is_parameter;

	if (t->kept && (condition = gj_translate_kept_comparison(t, opno, left, right)) != NULL)
		return condition;
	if (!gj_find_test(opno, collation, exprType((Node *) left), exprType((Node *) right), &test))
		return gj_compare_date_with_timestamp(t, get_opcode(opno), left, right);
	condition = gj_compare_parameter(t, test, left, right, &is_parameter);
	if (is_parameter)
		return condition;
	condition = gj_compare_stored(t, test, left, right);
	if (condition != NULL)
		return condition;
	a = gj_translate_value(t, left);
	b = gj_translate_value(t, right);
	if (t->kept && (condition = gj_compare_longer(test, a, b, false)) != NULL)
		return condition;
	if (a == NULL || b == NULL || a->kind != b->kind ||
		(a->kind == GJ_KIND_DECIMAL && !gj_align(&a, &b)))
		return NULL;
	return gj_compare(test, a, b);
}

/* text LIKE pattern; bpchar keeps its blanks here */
static GjExpr *
like(GjTranslator *t, Oid function, Oid collation, List *args)
{
	Expr	   *left = linitial(args);
	const Const *pattern = lsecond(args);
	const char *encoding = gj_encoding_word();
	bool		negated = function == F_TEXTNLIKE || function == F_BPCHARNLIKE;
	struct varlena *bytes;
	const char *data;
	int			length;
	GjExpr	   *value;
	bool		escaped = false;

	if (encoding == NULL || !IsA(pattern, Const) || pattern->constisnull ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return NULL;
	if (function == F_BPCHARLIKE || function == F_BPCHARNLIKE)
	{
		const Var  *var = gj_plain_column(left);

		value = var != NULL ? gj_translate_column(t, var, GJ_READ_BLANKS) : NULL;
	}
	else
		value = gj_translate_value(t, left);
	bytes = PG_DETOAST_DATUM_PACKED(pattern->constvalue);
	data = VARDATA_ANY(bytes);
	length = VARSIZE_ANY_EXHDR(bytes);

	/* PostgreSQL raises an error for an escape character at the end */
	for (int i = 0; i < length; i++)
		escaped = !escaped && data[i] == '\\';
	if (escaped)
		return NULL;
	value = gj_like(value, data, length, encoding);
	return negated ? gj_not(value) : value;
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
static GjExpr *
each_compared(GjTranslator *t, const ScalarArrayOpExpr *expr)
{
	Expr	   *left = linitial(expr->args);
	Elements	e;
	List	   *tests = NIL;

	if (!elements_of(lsecond(expr->args), &e) || e.n == 0 || e.n > MAX_COMPARISONS)
		return NULL;
	for (int i = 0; i < e.n; i++)
	{
		Const	   *element = element_constant(&e, i, expr->inputcollid);

		tests = lappend(tests, e.nulls[i] ? NULL :
						gj_translate_comparison(t, expr->opno, expr->inputcollid, left,
												(Expr *) element));
	}
	return gj_junction(expr->useOr ? GJ_EXPR_OR : GJ_EXPR_AND, tests);
}

/* value = ANY (constants) and value <> ALL (constants) */
static GjExpr *
in_list(GjTranslator *t, ScalarArrayOpExpr *expr)
{
	Expr	   *left = linitial(expr->args);
	GjPageTest	test;
	GjExpr	   *value;
	Elements	e;
	bool		has_null = false;
	List	   *items = NIL;
	GjExpr	   *in;

	if (!elements_of(lsecond(expr->args), &e) ||
		!gj_find_test(expr->opno, expr->inputcollid, exprType((Node *) left), e.type, &test) ||
		test != (expr->useOr ? GJ_TEST_EQ : GJ_TEST_NE))
		return NULL;

	/* NaN, as it is stored, equals no constant */
	value = gj_translate_stored(t, left);
	if (value == NULL)
		value = gj_translate_value(t, left);
	if (value == NULL)
		return NULL;

	for (int i = 0; i < e.n; i++)
	{
		GjExpr	   *item;

		if (e.nulls[i])
		{
			has_null = true;
			continue;
		}
		item = gj_translate_constant(element_constant(&e, i, expr->inputcollid));
		if (item == NULL || item->kind != value->kind)
			return NULL;

		/* a constant with more decimals than the value equals none of them */
		if (item->kind == GJ_KIND_DECIMAL)
			item = gj_constant_to_scale(item, value->scale);
		items = lappend(items, item);
	}
	in = gj_in(value, items, has_null);
	return expr->useOr ? in : gj_not(in);
}

static GjExpr *
logic(GjTranslator *t, BoolExpr *expr)
{
	List	   *args = NIL;
	ListCell   *lc;

	foreach(lc, expr->args)
		args = lappend(args, gj_translate_condition(t, lfirst(lc)));
	if (expr->boolop == NOT_EXPR)
		return gj_not(linitial(args));
	return gj_junction(expr->boolop == AND_EXPR ? GJ_EXPR_AND : GJ_EXPR_OR, args);
}

/* a IS DISTINCT FROM b: never NULL */
static GjExpr *
distinct(GjTranslator *t, const DistinctExpr *expr)
{
	GjExpr	   *equal = gj_translate_comparison(t, expr->opno, expr->inputcollid,
												linitial(expr->args), lsecond(expr->args));
	GjExpr	   *null[2];

	for (int i = 0; i < 2; i++)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = list_nth(expr->args, i);
		test->nulltesttype = IS_NULL;
		null[i] = gj_translate_condition(t, (Expr *) test);
	}
	equal = gj_junction(GJ_EXPR_AND, list_make3(equal, gj_not(null[0]), gj_not(null[1])));
	return gj_not(gj_either(equal, gj_both(null[0], null[1])));
}

/* IS [NOT] TRUE, FALSE, UNKNOWN */
static GjExpr *
boolean_test(GjTranslator *t, BooleanTest *expr)
{
	GjExpr	   *arg = gj_translate_condition(t, expr->arg);
	GjExpr	   *unknown = gj_is_null(gj_truth(arg));

	switch (expr->booltesttype)
	{
		case IS_TRUE:
			return gj_both(arg, gj_not(unknown));
		case IS_NOT_TRUE:
			return gj_either(gj_not(arg), unknown);
		case IS_FALSE:
			return gj_both(gj_not(arg), gj_not(unknown));
		case IS_NOT_FALSE:
			return gj_either(arg, unknown);
		case IS_UNKNOWN:
			return unknown;
		case IS_NOT_UNKNOWN:
			return gj_not(unknown);
	}
	return NULL;
}

/* A column of any type may be NULL, also one whose values the daemon does not know. */
static GjExpr *
null_test(GjTranslator *t, const NullTest *test)
{
	const Var  *var = t->leaf == NULL ? gj_plain_column(test->arg) : NULL;
	GjExpr	   *value;

	if (test->argisrow)
		return NULL;
	value = var != NULL ? gj_translate_column(t, var, GJ_READ_NULLS) :
		gj_translate_value(t, test->arg);
	return test->nulltesttype == IS_NULL ? gj_is_null(value) : gj_not(gj_is_null(value));
}

/*
 * How many of n arguments, from one on, are NULL, or are not.  Both halves are
 * added up, which nests least; a truth value is 0 or 1.
 */
static GjExpr *
null_count(GjTranslator *t, NullTestType type, const List *args, int from, int n)
{
	const Expr *arg = list_nth(args, from);
	NullTest   *test;

	if (n > 1)
		return gj_typed_call("+", INT4OID, null_count(t, type, args, from, n / 2),
							 null_count(t, type, args, from + n / 2, n - n / 2));
	if (IsA(arg, Const))
		return gj_int(((const Const *) arg)->constisnull == (type == IS_NULL));
	test = makeNode(NullTest);
	test->arg = unconstify(Expr *, arg);
	test->nulltesttype = type;
	return gj_truth(gj_translate_condition(t, (Expr *) test));
}

/* The daemon does not know the elements of an array. */
GjExpr *
gj_translate_null_count(GjTranslator *t, const FuncExpr *call)
{
	NullTestType type = call->funcid == F_NUM_NULLS ? IS_NULL : IS_NOT_NULL;

	return call->funcvariadic ? NULL :
		gj_typed_call("+", INT4OID, null_count(t, type, call->args, 0, list_length(call->args)), gj_int(0));
}

GjExpr *
gj_translate_test(GjTranslator *t, Expr *expr)
{
	GjExpr	   *value;

	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return logic(t, (BoolExpr *) expr);
		case T_NullTest:
			return null_test(t, (NullTest *) expr);
		case T_BooleanTest:
			return boolean_test(t, (BooleanTest *) expr);
		case T_ScalarArrayOpExpr:
			value = in_list(t, (ScalarArrayOpExpr *) expr);
			return value != NULL ? value : each_compared(t, (ScalarArrayOpExpr *) expr);
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
			value = gj_translate_value(t, expr);
			return value != NULL && value->kind == GJ_KIND_BOOL ?
				gj_compare(GJ_TEST_EQ, value, gj_int(1)) : NULL;
		default:
			return NULL;
	}
}

/* ---- CASE, COALESCE, NULLIF, GREATEST and LEAST ---- */

/*
 * A choice between numerics of several scales has a display scale that depends
 * on the row.
 */

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
