/*
 * plan/expr/leaf.c - types, columns and constants as values of the daemon.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "job/job.h"
#include "plan/expr/leaf.h"
#include "plan/expr/unscaled_numeric.h"

/* A factor of 10^18 still fits the daemon's constants. */
#define MAX_RESCALE 18

/* ---- types and leaves ---- */

bool
gj_describe_value(Oid type, GjValueJson *value)
{
	value->scale = 0;
	value->display_scale = NULL;
	switch (getBaseType(type))
	{
		case BOOLOID:
			value->kind = GJ_KIND_BOOL;
			value->width = 1;
			return true;
		case INT2OID:
			value->kind = GJ_KIND_INT;
			value->width = 2;
			return true;
		case INT4OID:
		case DATEOID:
			value->kind = GJ_KIND_INT;
			value->width = 4;
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			value->kind = GJ_KIND_INT;
			value->width = 8;
			return true;
		case NUMERICOID:
			value->kind = GJ_KIND_DECIMAL;
			value->width = 16;
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			value->kind = GJ_KIND_TEXT;
			value->width = 0;
			return true;
		default:
			return false;
	}
}

char *
gj_reference_json(GjOutput place)
{
	return psprintf("{\"input\":%d,\"column\":%d}", place.input, place.column);
}

const Var *
gj_visible_column(GjTranslator *t, const Var *var)
{
	const Var  *visible = var;

	if (t->leaf != NULL || var->varattno <= 0 || var->varlevelsup != 0)
		return NULL;
	if (t->tree != NULL)
		visible = gj_same_column(t->tree, unconstify(Var *, var));
	else if (bms_is_member(var->varno, t->hidden))
		visible = NULL;
	t->met_hidden |= visible == NULL;
	return visible;
}

static char *
column_json(GjTranslator *t, const Var *var, GjForm form, bool is_key)
{
	GjOutput	place = {.input = var->varno, .column = var->varattno};

	if (t->inputs != NULL)
		place = gj_need_column(t->inputs, var, form, is_key);
	return gj_reference_json(place);
}

/* A numeric column without a declared scale. */
static bool
unscaled_column(GjTranslator *t, const Var *var, GjValueJson *value)
{
	value->scale = gj_unscaled_scale(t->root, var);
	if (value->scale < 0)
		return false;
	value->json = psprintf("{\"decimal\":%s}", column_json(t, var, GJ_FORM_UNSCALED, true));
	value->display_scale = psprintf("{\"column\":%s}", column_json(t, var, GJ_FORM_SCALE, true));
	return true;
}

bool
gj_translate_float(GjTranslator *t, const Var *var, GjReading reading, GjValueJson *value)
{
	var = gj_visible_column(t, var);
	if (var == NULL)
		return false;
	*value = (GjValueJson)
	{
		.json = psprintf(reading == GJ_READ_STORED ? "{\"column\":%s}" : "{\"decimal\":%s}",
						 column_json(t, var, GJ_FORM_FLOAT_ORDER, true)),
		.kind = GJ_KIND_INT, .width = 8
	};
	return true;
}

bool
gj_translate_column(GjTranslator *t, const Var *var, GjReading reading, GjValueJson *value)
{
	GjColumn	column;
	GjForm		form = GJ_FORM_VALUE;

	var = gj_visible_column(t, var);
	if (var == NULL)
		return false;
	if (reading == GJ_READ_NULLS)
	{
		value->json = psprintf("{\"column\":%s}",
							   column_json(t, var, gj_payload_form(var), false));
		return gj_describe_payload(var->vartype, var->vartypmod, &column);
	}
	if (!gj_describe_value(var->vartype, value))
		return false;
	if (value->kind == GJ_KIND_DECIMAL)
	{
		value->width = 8;
		if (!gj_decimal_scale(var->vartype, var->vartypmod, &value->scale))
			return reading == GJ_READ_VALUE && unscaled_column(t, var, value);
		value->json = psprintf(reading == GJ_READ_STORED ? "{\"column\":%s}" : "{\"decimal\":%s}",
							   column_json(t, var, GJ_FORM_DECIMAL, true));
		return true;
	}
	if (getBaseType(var->vartype) == BPCHAROID && reading != GJ_READ_BLANKS)
		form = GJ_FORM_BPCHAR_KEY;
	/* equal text must have equal bytes and must not be chained */
	value->json = psprintf("{\"column\":%s}", column_json(t, var, form, true));
	return true;
}

char *
gj_hex(const char *data, int length)
{
	char	   *hex = palloc(2 * length + 1);

	hex_encode(data, length, hex);
	hex[2 * length] = '\0';
	return hex;
}

/* A numeric constant as an integer and a scale. */
static bool
numeric_constant(Datum datum, GjValueJson *value)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
	__int128	sum = 0;
	bool		fraction = false;

	value->scale = 0;
	for (char *c = text; *c != '\0'; c++)
	{
		if (*c == '-' && c == text)
			continue;
		if (*c == '.')
		{
			fraction = true;
			continue;
		}
		if (*c < '0' || *c > '9')
			return false;		/* NaN, Infinity */
		sum = 10 * sum + (*c - '0');
		value->scale += fraction;
		if (sum > PG_INT64_MAX)
			return false;
	}
	if (text[0] == '-')
		sum = -sum;
	value->kind = GJ_KIND_DECIMAL;
	value->width = GJ_CONSTANT_WIDTH;
	value->json = psprintf("{\"int\":" INT64_FORMAT "}", (int64) sum);
	return true;
}

bool
gj_translate_constant(const Const *c, GjValueJson *value)
{
	Oid			type = getBaseType(c->consttype);
	int64		number;

	if (!gj_describe_value(c->consttype, value))
		return false;
	if (c->constisnull)
	{
		value->json = psprintf("{\"null\":%d}", value->kind == GJ_KIND_TEXT ? 0 : value->width);
		return value->kind != GJ_KIND_TEXT;
	}
	switch (type)
	{
		case NUMERICOID:
			return numeric_constant(c->constvalue, value);
		case BOOLOID:
			number = DatumGetBool(c->constvalue);
			break;
		case INT2OID:
			number = DatumGetInt16(c->constvalue);
			break;
		case INT4OID:
		case DATEOID:
			number = DatumGetInt32(c->constvalue);
			break;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			number = DatumGetInt64(c->constvalue);
			break;
		default:
			{
				struct varlena *text = PG_DETOAST_DATUM_PACKED(c->constvalue);
				int			length = VARSIZE_ANY_EXHDR(text);

				if (type == BPCHAROID)
					while (length > 0 && VARDATA_ANY(text)[length - 1] == ' ')
						length--;
				value->json = psprintf("{\"text\":\"%s\"}", gj_hex(VARDATA_ANY(text), length));
				return true;
			}
	}
	value->width = GJ_CONSTANT_WIDTH;
	value->json = psprintf("{\"int\":" INT64_FORMAT "}", number);
	return true;
}

/* ---- operations ---- */

char *
gj_call_json(char operator, int width, const char *a, const char *b)
{
	return psprintf("{\"fn\":\"%c\",\"width\":%d,\"args\":[%s,%s]}", operator, width, a, b);
}

char *
gj_choice_json(const char *condition, const char *then, const char *otherwise)
{
	return psprintf("{\"case\":[{\"when\":%s,\"then\":%s}],\"else\":%s}", condition, then, otherwise);
}

/* ---- decimals ---- */

bool
gj_constant_to_scale(GjValueJson *constant, int scale)
{
	__int128	number = strtoll(strchr(constant->json, ':') + 1, NULL, 10);

	if (constant->scale > scale || scale - constant->scale > MAX_RESCALE)
		return false;
	for (int i = constant->scale; i < scale; i++)
		number *= 10;
	if (number > PG_INT64_MAX || number < PG_INT64_MIN)
		return false;
	constant->scale = scale;
	constant->json = psprintf("{\"int\":" INT64_FORMAT "}", (int64) number);
	return true;
}

static bool
to_scale(GjValueJson *value, int scale)
{
	int			by = scale - value->scale;
	int64		factor = 1;

	if (by < 0 || by > MAX_RESCALE)
		return false;
	if (by == 0 || (strncmp(value->json, "{\"int\":", 7) == 0 && gj_constant_to_scale(value, scale)))
		return true;
	for (int i = 0; i < by; i++)
		factor *= 10;
	value->json = psprintf("{\"fn\":\"*\",\"width\":16,\"args\":[%s,{\"int\":" INT64_FORMAT "}]}",
						   value->json, factor);
	value->scale = scale;
	value->width = 16;
	return true;
}

bool
gj_align(GjValueJson *a, GjValueJson *b)
{
	int			scale = Max(a->scale, b->scale);

	return to_scale(a, scale) && to_scale(b, scale);
}

void
gj_set_width(GjValueJson *value, int width)
{
	if (value->width == width || value->kind == GJ_KIND_TEXT)
		return;
	value->width = width;
	value->json = width == 1 ?
		psprintf("{\"truth\":{\"compare\":\"=\",\"left\":%s,\"right\":{\"int\":1}}}", value->json) :
		psprintf("{\"fn\":\"+\",\"width\":%d,\"args\":[%s,{\"int\":0}]}", width, value->json);
}

char *
gj_display_scale(const GjValueJson *value)
{
	return value->display_scale != NULL ? value->display_scale :
		psprintf("{\"int\":%d}", value->scale);
}

bool
gj_unite(GjValueJson *arms, int n, GjValueJson *value)
{
	int			known = -1;		/* an arm that is not the constant NULL */
	bool		mixed = false;

	for (int i = 0; i < n; i++)
		if (strncmp(arms[i].json, "{\"null\"", 7) != 0)
			known = i;
	if (known < 0)
		return false;
	*value = arms[known];
	for (int i = 0; i < n; i++)
	{
		if (strncmp(arms[i].json, "{\"null\"", 7) == 0)
			continue;
		if (arms[i].kind != value->kind)
			return false;
		mixed |= arms[i].scale != value->scale || arms[i].display_scale != NULL;
		value->scale = Max(value->scale, arms[i].scale);
		value->width = Max(value->width, arms[i].width);
	}
	value->display_scale = mixed ? "" : NULL;
	for (int i = 0; i < n; i++)
	{
		if (strncmp(arms[i].json, "{\"null\"", 7) == 0)
			continue;
		if (mixed)
			arms[i].display_scale = gj_display_scale(&arms[i]);
		if (!to_scale(&arms[i], value->scale))
			return false;
		value->width = Max(value->width, arms[i].width);
	}
	for (int i = 0; i < n; i++)
		if (strncmp(arms[i].json, "{\"null\"", 7) == 0)
		{
			arms[i].json = psprintf("{\"null\":%d}", value->width);
			arms[i].display_scale = "{\"null\":4}";
			if (value->kind == GJ_KIND_TEXT)
				return false;
		}
	return true;
}

const char *
gj_encoding_word(void)
{
	if (pg_database_encoding_max_length() == 1)
		return "single";
	return GetDatabaseEncoding() == PG_UTF8 ? "utf8" : NULL;
}
