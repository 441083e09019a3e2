/*
 * plan/expr/functions.c - calls of functions and operators.
 *
 * Functions are recognised by their OIDs: built-in ones only, whose meaning is
 * known.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "plan/expr/expr.h"

static const struct
{
	Oid			function;
	const char *operator;
}			arithmetic[] =
{
	{F_INT2PL, "+"}, {F_INT4PL, "+"}, {F_INT8PL, "+"},
	{F_INT24PL, "+"}, {F_INT42PL, "+"}, {F_INT28PL, "+"},
	{F_INT82PL, "+"}, {F_INT48PL, "+"}, {F_INT84PL, "+"},
	{F_INT2MI, "-"}, {F_INT4MI, "-"}, {F_INT8MI, "-"},
	{F_INT24MI, "-"}, {F_INT42MI, "-"}, {F_INT28MI, "-"},
	{F_INT82MI, "-"}, {F_INT48MI, "-"}, {F_INT84MI, "-"},
	{F_INT2MUL, "*"}, {F_INT4MUL, "*"}, {F_INT8MUL, "*"},
	{F_INT24MUL, "*"}, {F_INT42MUL, "*"}, {F_INT28MUL, "*"},
	{F_INT82MUL, "*"}, {F_INT48MUL, "*"}, {F_INT84MUL, "*"},
	{F_INT2DIV, "/"}, {F_INT4DIV, "/"}, {F_INT8DIV, "/"},
	{F_INT24DIV, "/"}, {F_INT42DIV, "/"}, {F_INT28DIV, "/"},
	{F_INT82DIV, "/"}, {F_INT48DIV, "/"}, {F_INT84DIV, "/"},
	{F_INT2MOD, "%"}, {F_INT4MOD, "%"}, {F_INT8MOD, "%"},
	{F_MOD_INT2_INT2, "%"}, {F_MOD_INT4_INT4, "%"}, {F_MOD_INT8_INT8, "%"},
};

/*
 * The display scale of a result, where that of an operand depends on the row:
 * a product has as many decimals as both factors, a sum as the longer operand.
 */
static GjExpr *
combined_scale(bool product, GjExpr *a, GjExpr *b)
{
	return product ? gj_call("+", 4, a, b) : gj_choice(gj_compare(GJ_TEST_GT, a, b), a, b);
}

static GjExpr *
decimal_arithmetic(const char *operator, GjExpr *a, GjExpr *b)
{
	bool		product = operator[0] == '*';
	GjExpr	   *scale = NULL;
	GjExpr	   *result;

	if (a->display_scale != NULL || b->display_scale != NULL)
		scale = combined_scale(product, gj_display_scale(a), gj_display_scale(b));
	if (!product && !gj_align(&a, &b))
		return NULL;
	result = gj_call(operator, 16, a, b);
	result->kind = GJ_KIND_DECIMAL;
	result->scale = product ? a->scale + b->scale : a->scale;
	result->display_scale = scale;
	return result->scale <= GJ_MAX_SCALE ? result : NULL;
}

static GjExpr *
integer_arithmetic(GjTranslator *t, Oid function, List *args, Oid type)
{
	GjExpr	   *a;
	GjExpr	   *b;

	for (int i = 0; i < (int) lengthof(arithmetic); i++)
	{
		if (arithmetic[i].function != function)
			continue;
		a = gj_translate_value(t, linitial(args));
		b = gj_translate_value(t, lsecond(args));
		return gj_typed_call(arithmetic[i].operator, type, a, b);
	}
	return NULL;
}

static GjExpr *
numeric_arithmetic(GjTranslator *t, const char *operator, List *args)
{
	GjExpr	   *a = gj_translate_value(t, linitial(args));
	GjExpr	   *b = gj_translate_value(t, lsecond(args));

	return a != NULL && b != NULL ? decimal_arithmetic(operator, a, b) : NULL;
}

static GjExpr *
negation(GjTranslator *t, List *args, Oid type)
{
	GjExpr	   *a = gj_translate_value(t, linitial(args));
	GjExpr	   *result = gj_typed_call("-", type, gj_int(0), a);

	if (result == NULL)
		return NULL;
	result->scale = a->scale;
	result->display_scale = a->display_scale;
	return result;
}

static GjExpr *
substring(GjTranslator *t, List *args)
{
	const Const *from = lsecond(args);
	const Const *length = list_length(args) == 3 ? lthird(args) : NULL;
	const char *encoding = gj_encoding_word();
	GjExpr	   *text;

	if (!IsA(from, Const) || from->constisnull ||
		(length != NULL && (!IsA(length, Const) || length->constisnull ||
							DatumGetInt32(length->constvalue) < 0)))
		return NULL;
	text = gj_translate_value(t, linitial(args));
	return text != NULL && text->kind == GJ_KIND_TEXT && encoding != NULL ?
		gj_substring(text, DatumGetInt32(from->constvalue),
					 length != NULL ? DatumGetInt32(length->constvalue) : -1, encoding) : NULL;
}

/* The first of several translations that is possible. */
static GjExpr *
other_call(GjTranslator *t, Oid function, List *args, Oid type)
{
	GjExpr	   *value = list_length(args) == 2 ? integer_arithmetic(t, function, args, type) : NULL;

	if (value == NULL)
		value = gj_translate_number_call(t, function, args, type);
	return value != NULL ? value : gj_translate_time_call(t, function, args);
}

GjExpr *
gj_translate_call(GjTranslator *t, Oid function, List *args, Oid type)
{
	switch (function)
	{
		case F_NUMERIC_ADD:
			return numeric_arithmetic(t, "+", args);
		case F_NUMERIC_SUB:
			return numeric_arithmetic(t, "-", args);
		case F_NUMERIC_MUL:
			return numeric_arithmetic(t, "*", args);
		case F_INT2UM:
		case F_INT4UM:
		case F_INT8UM:
		case F_NUMERIC_UMINUS:
			return negation(t, args, type);
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			return gj_as_kind(gj_translate_value(t, linitial(args)), GJ_KIND_DECIMAL);
		case F_INT8_INT4:
		case F_INT8_INT2:
		case F_INT4_INT2:		/* the same number in a wider type */
		case F_INT2UP:
		case F_INT4UP:
		case F_INT8UP:
		case F_NUMERIC_UPLUS:
		case F_TEXT_BPCHAR:		/* strips trailing blanks, as our bpchar does */
			return gj_translate_value(t, linitial(args));
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTR_TEXT_INT4:
			return substring(t, args);
		default:
			return other_call(t, function, args, type);
	}
}
