/*
 * plan/expr/numbers.c - functions of numbers, and their casts.
 *
 * They consist of the daemon's operations, which check ranges: an integer cast
 * is the addition of zero with a narrower result.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/numeric.h"

#include "plan/expr/compare.h"
#include "plan/expr/leaf.h"
#include "plan/expr/numbers.h"

static const char zero[] = "{\"int\":0}";

static char *
int_json(int64 number)
{
	return psprintf("{\"int\":" INT64_FORMAT "}", number);
}

/* A power of ten that a constant can hold.  Returns false if it is larger. */
static bool
power_of_ten(int exponent, int64 *power)
{
	*power = 1;
	for (int i = 0; i < exponent && i < 19; i++)
		*power *= 10;
	return exponent >= 0 && exponent <= 18;
}

/* value, checked against the range of integers of this width */
static char *
within(const GjValueJson *value, int width)
{
	return gj_call_json('+', width, value->json, zero);
}

static bool
absolute(GjTranslator *t, List *args, Oid type, GjValueJson *value)
{
	GjValueJson described;
	int			width;

	if (!gj_translate_value(t, linitial(args), value) || !gj_describe_value(type, &described))
		return false;
	width = described.width;
	value->json = gj_choice_json(gj_compare_json(GJ_TEST_LT, value->json, zero),
								 gj_call_json('-', width, zero, value->json), within(value, width));
	value->width = width;
	return true;
}

static bool
sign(GjTranslator *t, List *args, GjValueJson *value)
{
	if (!gj_translate_value(t, linitial(args), value))
		return false;
	value->json = gj_choice_json(gj_compare_json(GJ_TEST_LT, value->json, zero), int_json(-1),
								 psprintf("{\"truth\":%s}",
										  gj_compare_json(GJ_TEST_GT, value->json, zero)));
	value->width = GJ_CONSTANT_WIDTH;
	value->scale = 0;
	value->display_scale = NULL;
	return true;
}

typedef enum Direction
{
	HALF_AWAY_FROM_ZERO,
	TOWARD_ZERO,
	DOWN,
	UP
} Direction;

/* The numerator of a division that truncates, for each direction of rounding. */
static char *
numerator(const char *value, int64 divisor, Direction direction)
{
	char	   *negative = gj_compare_json(GJ_TEST_LT, value, zero);
	int64		if_negative = 0;
	int64		otherwise = 0;

	switch (direction)
	{
		case HALF_AWAY_FROM_ZERO:
			if_negative = -divisor / 2;
			otherwise = divisor / 2;
			break;
		case TOWARD_ZERO:
			return unconstify(char *, value);
		case DOWN:
			if_negative = 1 - divisor;
			break;
		case UP:
			otherwise = divisor - 1;
			break;
	}
	return gj_call_json('+', 16, value,
						gj_choice_json(negative, int_json(if_negative), int_json(otherwise)));
}

/* Rounds a decimal to a scale, or adds zeros. */
static bool
round_to(GjValueJson *value, int scale, Direction direction)
{
	int64		factor;

	if (scale < 0 || scale > GJ_MAX_SCALE || !power_of_ten(abs(value->scale - scale), &factor))
		return false;
	if (scale > value->scale)
		value->json = gj_call_json('*', 16, value->json, int_json(factor));
	else if (scale < value->scale)
		value->json = gj_call_json('/', 16, numerator(value->json, factor, direction), int_json(factor));
	if (scale != value->scale)
		value->width = 16;
	value->kind = GJ_KIND_DECIMAL;
	value->scale = scale;
	value->display_scale = NULL;
	return true;
}

/* round(x, n) and trunc(x, n), with a constant n */
static bool
rounded(GjTranslator *t, List *args, Direction direction, GjValueJson *value)
{
	const Const *scale = list_length(args) == 2 ? lsecond(args) : NULL;

	if (scale != NULL && (!IsA(scale, Const) || scale->constisnull))
		return false;
	return gj_translate_value(t, linitial(args), value) && value->kind == GJ_KIND_DECIMAL &&
		round_to(value, scale != NULL ? DatumGetInt32(scale->constvalue) : 0, direction);
}

/* x::numeric(p, s): rounded, and an error beyond p digits */
static bool
with_declared_scale(GjTranslator *t, List *args, GjValueJson *value)
{
	const Const *typmod = lsecond(args);
	int64		limit;
	int			precision;
	int			scale;
	char	   *fits;

	if (!IsA(typmod, Const) || typmod->constisnull ||
		DatumGetInt32(typmod->constvalue) < (int32) VARHDRSZ)
		return false;
	precision = (DatumGetInt32(typmod->constvalue) - VARHDRSZ) >> 16 & 0xffff;
	scale = (DatumGetInt32(typmod->constvalue) - VARHDRSZ) & 0x7ff;
	if (scale > precision || !power_of_ten(precision, &limit) ||
		!gj_translate_value(t, linitial(args), value) || value->kind != GJ_KIND_DECIMAL ||
		!round_to(value, scale, HALF_AWAY_FROM_ZERO))
		return false;

	/* a number of more digits is divided by zero */
	fits = psprintf("{\"and\":[%s,%s]}",
					gj_compare_json(GJ_TEST_LT, value->json, int_json(limit)),
					gj_compare_json(GJ_TEST_GT, value->json, int_json(-limit)));
	value->json = gj_call_json('/', 16, value->json, psprintf("{\"truth\":%s}", fits));
	value->width = 16;
	return true;
}

/* a % b and div(a, b): both truncate toward zero */
static bool
division(GjTranslator *t, char operator, List *args, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	if (!gj_translate_value(t, linitial(args), &a) || !gj_translate_value(t, lsecond(args), &b) ||
		a.kind != GJ_KIND_DECIMAL || b.kind != GJ_KIND_DECIMAL ||
		a.display_scale != NULL || b.display_scale != NULL || !gj_align(&a, &b))
		return false;
	*value = a;
	value->width = 16;
	value->json = gj_call_json(operator, 16, a.json, b.json);
	if (operator == '/')
		value->scale = 0;
	return true;
}

/* To an integer type that may be too narrow; a numeric is rounded. */
static bool
to_integer(GjTranslator *t, List *args, Oid type, GjValueJson *value)
{
	GjValueJson from;

	if (!gj_translate_value(t, linitial(args), &from) || from.kind == GJ_KIND_TEXT ||
		(from.kind == GJ_KIND_DECIMAL && !round_to(&from, 0, HALF_AWAY_FROM_ZERO)) ||
		!gj_describe_value(type, value))
		return false;
	value->json = within(&from, value->width);
	return true;
}

bool
gj_translate_number_call(GjTranslator *t, Oid function, List *args, Oid type, GjValueJson *value)
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
			return absolute(t, args, type, value);
		case F_SIGN_NUMERIC:
			return sign(t, args, value);
		case F_ROUND_NUMERIC:
		case F_ROUND_NUMERIC_INT4:
			return rounded(t, args, HALF_AWAY_FROM_ZERO, value);
		case F_TRUNC_NUMERIC:
		case F_TRUNC_NUMERIC_INT4:
			return rounded(t, args, TOWARD_ZERO, value);
		case F_FLOOR_NUMERIC:
			return rounded(t, args, DOWN, value);
		case F_CEIL_NUMERIC:
		case F_CEILING_NUMERIC:
			return rounded(t, args, UP, value);
		case F_NUMERIC_NUMERIC_INT4:
			return with_declared_scale(t, args, value);
		case F_NUMERIC_MOD:
		case F_MOD_NUMERIC_NUMERIC:
			return division(t, '%', args, value);
		case F_DIV:
			return division(t, '/', args, value);
		case F_INT2_INT4:
		case F_INT2_INT8:
		case F_INT4_INT8:
		case F_INT4_BOOL:
		case F_INT2_NUMERIC:
		case F_INT4_NUMERIC:
		case F_INT8_NUMERIC:
			return to_integer(t, args, type, value);
		default:
			return false;
	}
}
