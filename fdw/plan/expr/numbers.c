/*
 * plan/expr/numbers.c - functions of numbers, and their casts.
 *
 * They consist of the daemon's operations, which check ranges: an integer cast
 * is the addition of zero with a narrower result.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "job/key_forms.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"

/* A power of ten that a constant can hold.  Returns false if it is larger. */
static bool
power_of_ten(int exponent, int64 *power)
{
	*power = 1;
	for (int i = 0; i < exponent && i < 19; i++)
		*power *= 10;
	return exponent >= 0 && exponent <= 18;
}

static GjExpr *
is_negative(GjExpr *value)
{
	return gj_compare(GJ_TEST_LT, value, gj_int(0));
}

static GjExpr *
absolute(GjTranslator *t, List *args, Oid type)
{
	GjExpr	   *value = gj_translate_value(t, linitial(args));
	GjExpr		described;
	GjExpr	   *result;

	if (value == NULL || !gj_describe_value(type, &described))
		return NULL;
	result = gj_choice(is_negative(value), gj_call("-", described.width, gj_int(0), value),
					   gj_call("+", described.width, value, gj_int(0)));
	result = gj_described_as(result, value);
	result->width = described.width;
	return result;
}

static GjExpr *
sign(GjTranslator *t, List *args)
{
	GjExpr	   *value = gj_translate_value(t, linitial(args));
	GjExpr	   *result;

	if (value == NULL)
		return NULL;
	result = gj_choice(is_negative(value), gj_int(-1),
					   gj_truth(gj_compare(GJ_TEST_GT, value, gj_int(0))));
	result->kind = value->kind;
	result->width = GJ_CONSTANT_WIDTH;
	return result;
}

typedef enum Direction
{
	HALF_AWAY_FROM_ZERO,
	TOWARD_ZERO,
	DOWN,
	UP
} Direction;

/* The numerator of a division that truncates, for each direction of rounding. */
static GjExpr *
numerator(GjExpr *value, int64 divisor, Direction direction)
{
	int64		if_negative = 0;
	int64		otherwise = 0;

	switch (direction)
	{
		case HALF_AWAY_FROM_ZERO:
			if_negative = -divisor / 2;
			otherwise = divisor / 2;
			break;
		case TOWARD_ZERO:
			return value;
		case DOWN:
			if_negative = 1 - divisor;
			break;
		case UP:
			otherwise = divisor - 1;
			break;
	}
	return gj_call("+", 16, value,
				   gj_choice(is_negative(value), gj_int(if_negative), gj_int(otherwise)));
}

/* A decimal, rounded to a scale, or with zeros added. */
static GjExpr *
round_to(const GjExpr *value, int scale, Direction direction)
{
	GjExpr	   *rounded = gj_as_kind(value, GJ_KIND_DECIMAL);
	int64		factor;

	if (scale < 0 || scale > GJ_MAX_SCALE || !power_of_ten(abs(value->scale - scale), &factor))
		return NULL;
	if (scale > value->scale)
		rounded = gj_call("*", 16, rounded, gj_int(factor));
	else if (scale < value->scale)
		rounded = gj_call("/", 16, numerator(rounded, factor, direction), gj_int(factor));
	rounded->kind = GJ_KIND_DECIMAL;
	rounded->scale = scale;
	rounded->display_scale = NULL;
	return rounded;
}

/* round(x, n) and trunc(x, n), with a constant n */
static GjExpr *
rounded(GjTranslator *t, List *args, Direction direction)
{
	const Const *scale = list_length(args) == 2 ? lsecond(args) : NULL;
	GjExpr	   *value;

	if (scale != NULL && (!IsA(scale, Const) || scale->constisnull))
		return NULL;
	value = gj_translate_value(t, linitial(args));
	return value != NULL && value->kind == GJ_KIND_DECIMAL ?
		round_to(value, scale != NULL ? DatumGetInt32(scale->constvalue) : 0, direction) : NULL;
}

/* x::numeric(p, s): rounded, and an error beyond p digits */
static GjExpr *
with_declared_scale(GjTranslator *t, List *args)
{
	const Const *typmod = lsecond(args);
	int64		limit;
	int			precision;
	int			scale;
	GjExpr	   *value;
	GjExpr	   *fits;

	if (!IsA(typmod, Const) || typmod->constisnull ||
		DatumGetInt32(typmod->constvalue) < (int32) VARHDRSZ)
		return NULL;
	precision = (DatumGetInt32(typmod->constvalue) - VARHDRSZ) >> 16 & 0xffff;
	scale = (DatumGetInt32(typmod->constvalue) - VARHDRSZ) & 0x7ff;
	if (scale > precision || !power_of_ten(precision, &limit))
		return NULL;
	value = gj_translate_value(t, linitial(args));
	if (value == NULL || value->kind != GJ_KIND_DECIMAL ||
		(value = round_to(value, scale, HALF_AWAY_FROM_ZERO)) == NULL)
		return NULL;

	/* a number of more digits is divided by zero */
	fits = gj_both(gj_compare(GJ_TEST_LT, value, gj_int(limit)),
				   gj_compare(GJ_TEST_GT, value, gj_int(-limit)));
	value = gj_described_as(gj_call("/", 16, value, gj_truth(fits)), value);
	value->width = 16;
	return value;
}

/* a % b and div(a, b): both truncate toward zero */
static GjExpr *
division(GjTranslator *t, const char *operator, List *args)
{
	GjExpr	   *a = gj_translate_value(t, linitial(args));
	GjExpr	   *b = gj_translate_value(t, lsecond(args));
	GjExpr	   *result;

	if (a == NULL || b == NULL || a->kind != GJ_KIND_DECIMAL || b->kind != GJ_KIND_DECIMAL ||
		a->display_scale != NULL || b->display_scale != NULL || !gj_align(&a, &b))
		return NULL;
	result = gj_call(operator, 16, a, b);
	result->kind = GJ_KIND_DECIMAL;
	result->scale = operator[0] == '/' ? 0 : a->scale;
	return result;
}

/* To an integer type that may be too narrow; a numeric is rounded. */
static GjExpr *
to_integer(GjTranslator *t, List *args, Oid type)
{
	GjExpr	   *from = gj_translate_value(t, linitial(args));

	if (from == NULL || from->kind == GJ_KIND_TEXT ||
		(from->kind == GJ_KIND_DECIMAL &&
		 (from = round_to(from, 0, HALF_AWAY_FROM_ZERO)) == NULL))
		return NULL;
	return gj_typed_call("+", type, from, gj_int(0));
}

GjExpr *
gj_translate_number_call(GjTranslator *t, Oid function, List *args, Oid type)
{
	switch (function)
	{
		case F_INT2ABS:
		case F_INT4ABS:
		case F_INT8ABS:
		case F_NUMERIC_ABS:
		case F_ABS_INT2:
		case F_ABS_INT4:
		case F_ABS_INT8:
		case F_ABS_NUMERIC:
			return absolute(t, args, type);
		case F_SIGN_NUMERIC:
			return sign(t, args);
		case F_ROUND_NUMERIC:
		case F_ROUND_NUMERIC_INT4:
			return rounded(t, args, HALF_AWAY_FROM_ZERO);
		case F_TRUNC_NUMERIC:
		case F_TRUNC_NUMERIC_INT4:
			return rounded(t, args, TOWARD_ZERO);
		case F_FLOOR_NUMERIC:
			return rounded(t, args, DOWN);
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
			return rounded(t, args, UP);
		case F_NUMERIC_NUMERIC_INT4:
			return with_declared_scale(t, args);
		case F_NUMERIC_MOD:
		case F_MOD_NUMERIC_NUMERIC:
			return division(t, "%", args);
		case F_DIV:
			return division(t, "/", args);
		case F_INT2_INT4:
		case F_INT2_INT8:
		case F_INT4_INT8:
		case F_INT4_BOOL:
		case F_INT2_NUMERIC:
		case F_INT4_NUMERIC:
		case F_INT8_NUMERIC:
			return to_integer(t, args, type);
		default:
			return NULL;
	}
}

/* ---- floats that are compared as a whole or added up ---- */

/*
 * To the daemon, floats are integers that have their order.  It compares these,
 * and makes floats of them to add them up.
 */

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
