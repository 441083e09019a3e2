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

#include "plan/expr/compare.h"
#include "plan/expr/dates.h"
#include "plan/expr/functions.h"
#include "plan/expr/leaf.h"
#include "plan/expr/numbers.h"

static const struct
{
	Oid			function;
	char		operator;
}			arithmetic[] =
{
	{F_INT2PL, '+'}, {F_INT4PL, '+'}, {F_INT8PL, '+'},
	{F_INT24PL, '+'}, {F_INT42PL, '+'}, {F_INT28PL, '+'},
	{F_INT82PL, '+'}, {F_INT48PL, '+'}, {F_INT84PL, '+'},
	{F_INT2MI, '-'}, {F_INT4MI, '-'}, {F_INT8MI, '-'},
	{F_INT24MI, '-'}, {F_INT42MI, '-'}, {F_INT28MI, '-'},
	{F_INT82MI, '-'}, {F_INT48MI, '-'}, {F_INT84MI, '-'},
	{F_INT2MUL, '*'}, {F_INT4MUL, '*'}, {F_INT8MUL, '*'},
	{F_INT24MUL, '*'}, {F_INT42MUL, '*'}, {F_INT28MUL, '*'},
	{F_INT82MUL, '*'}, {F_INT48MUL, '*'}, {F_INT84MUL, '*'},
	{F_INT2DIV, '/'}, {F_INT4DIV, '/'}, {F_INT8DIV, '/'},
	{F_INT24DIV, '/'}, {F_INT42DIV, '/'}, {F_INT28DIV, '/'},
	{F_INT82DIV, '/'}, {F_INT48DIV, '/'}, {F_INT84DIV, '/'},
	{F_INT2MOD, '%'}, {F_INT4MOD, '%'}, {F_INT8MOD, '%'},
	{F_MOD_INT2_INT2, '%'}, {F_MOD_INT4_INT4, '%'}, {F_MOD_INT8_INT8, '%'},
};

/*
 * The display scale of a result, where that of an operand depends on the row:
 * a product has as many decimals as both factors, a sum as the longer operand.
 */
static char *
combined_scale(char operator, const char *a, const char *b)
{
	if (operator == '*')
		return gj_call_json('+', 4, a, b);
	return psprintf("{\"case\":[{\"when\":%s,\"then\":%s}],\"else\":%s}",
					gj_compare_json(GJ_TEST_GT, a, b), a, b);
}

static bool
decimal_arithmetic(char operator, GjValueJson *a, GjValueJson *b, GjValueJson *value)
{
	bool		varies = a->display_scale != NULL || b->display_scale != NULL;
	char	   *scale = varies ?
		combined_scale(operator, gj_display_scale(a), gj_display_scale(b)) : NULL;

	if (operator != '*' && !gj_align(a, b))
		return false;
	value->kind = GJ_KIND_DECIMAL;
	value->width = 16;
	value->scale = operator == '*' ? a->scale + b->scale : a->scale;
	value->display_scale = scale;
	value->json = gj_call_json(operator, 16, a->json, b->json);
	return value->scale <= GJ_MAX_SCALE;
}

static bool
integer_arithmetic(GjTranslator *t, Oid function, List *args, Oid type, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	for (int i = 0; i < (int) lengthof(arithmetic); i++)
	{
		if (arithmetic[i].function != function)
			continue;
		if (!gj_translate_value(t, linitial(args), &a) || !gj_translate_value(t, lsecond(args), &b) ||
			!gj_describe_value(type, value))
			return false;
		value->json = gj_call_json(arithmetic[i].operator, value->width, a.json, b.json);
		return true;
	}
	return false;
}

static bool
numeric_arithmetic(GjTranslator *t, char operator, List *args, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	return gj_translate_value(t, linitial(args), &a) &&
		gj_translate_value(t, lsecond(args), &b) &&
		decimal_arithmetic(operator, &a, &b, value);
}

static bool
negation(GjTranslator *t, List *args, Oid type, GjValueJson *value)
{
	GjValueJson a;

	if (!gj_translate_value(t, linitial(args), &a) || !gj_describe_value(type, value))
		return false;
	value->scale = a.scale;
	value->display_scale = a.display_scale;
	value->json = gj_call_json('-', value->width, "{\"int\":0}", a.json);
	return true;
}

bool
gj_substring(GjValueJson *text, int from, int length)
{
	const char *encoding = gj_encoding_word();

	if (encoding == NULL)
		return false;
	text->json = psprintf("{\"fn\":\"substring\",\"args\":[%s],\"from\":%d,\"for\":%d,\"encoding\":\"%s\"}",
						  text->json, from, length, encoding);
	return true;
}

static bool
substring(GjTranslator *t, List *args, GjValueJson *value)
{
	const Const *from = lsecond(args);
	const Const *length = list_length(args) == 3 ? lthird(args) : NULL;

	if (!IsA(from, Const) || from->constisnull ||
		(length != NULL && (!IsA(length, Const) || length->constisnull ||
							DatumGetInt32(length->constvalue) < 0)))
		return false;
	return gj_translate_value(t, linitial(args), value) && value->kind == GJ_KIND_TEXT &&
		gj_substring(value, DatumGetInt32(from->constvalue),
					 length != NULL ? DatumGetInt32(length->constvalue) : -1);
}

bool
gj_translate_call(GjTranslator *t, Oid oid, List *args, Oid type, GjValueJson *value)
{
	switch (oid)
	{
		case F_NUMERIC_ADD:
			return numeric_arithmetic(t, '+', args, value);
		case F_NUMERIC_SUB:
			return numeric_arithmetic(t, '-', args, value);
		case F_NUMERIC_MUL:
			return numeric_arithmetic(t, '*', args, value);
		case F_INT2UM:
		case F_INT4UM:
		case F_INT8UM:
		case F_NUMERIC_UMINUS:
			return negation(t, args, type, value);
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			if (!gj_translate_value(t, linitial(args), value))
				return false;
			value->kind = GJ_KIND_DECIMAL;
			return true;
		case F_INT8_INT4:
		case F_INT8_INT2:
		case F_INT4_INT2:		/* the same number in a wider type */
		case F_INT2UP:
		case F_INT4UP:
		case F_INT8UP:
		case F_NUMERIC_UPLUS:
			return gj_translate_value(t, linitial(args), value);
		case F_TEXT_BPCHAR:		/* strips trailing blanks, as our bpchar does */
			return gj_translate_value(t, linitial(args), value);
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTR_TEXT_INT4:
			return substring(t, args, value);
		default:
			return (list_length(args) == 2 && integer_arithmetic(t, oid, args, type, value)) ||
				gj_translate_number_call(t, oid, args, type, value) ||
				gj_translate_time_call(t, oid, args, value);
	}
}
