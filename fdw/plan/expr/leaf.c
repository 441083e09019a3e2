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

#include "plan/expr/expr.h"

/* A factor of 10^18 still fits the daemon's constants. */
#define MAX_RESCALE 18

/* ---- types ---- */

bool
gj_describe_value(Oid type, GjExpr *value)
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

GjExpr *
gj_typed_call(const char *operator, Oid type, GjExpr *a, GjExpr *b)
{
	GjExpr		described;

	if (!gj_describe_value(type, &described))
		return NULL;
	return gj_described_as(gj_call(operator, described.width, a, b), &described);
}

/* ---- columns ---- */

/* The column that is read for var, or NULL if no row of the translator's tree has it. */
static const Var *
visible_column(GjTranslator *t, const Var *var)
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

static bool
same_leaf(const GjLeaf *a, const GjLeaf *b)
{
	if (a->parameter != NULL || b->parameter != NULL)
		return a->rounding == b->rounding && a->scale == b->scale &&
			equal(a->parameter, b->parameter);
	return a->form == b->form && a->var->varno == b->var->varno &&
		a->var->varattno == b->var->varattno;
}

GjLeaf *
gj_leaf(GjTranslator *t, GjLeaf wanted)
{
	GjLeaf	   *leaf;
	ListCell   *lc;

	foreach(lc, t->leaves)
	{
		leaf = lfirst(lc);
		if (same_leaf(leaf, &wanted))
			return leaf;
	}
	leaf = palloc(sizeof(GjLeaf));
	*leaf = wanted;
	t->leaves = lappend(t->leaves, leaf);
	return leaf;
}

/* A mention of the column in this form. */
static GjExpr *
mention(GjTranslator *t, const Var *var, GjForm form, bool is_key, bool checked)
{
	/* a text about as long as that of the column's place */
	GjLeaf	   *leaf = gj_leaf(t, (GjLeaf) {
		.var = var, .form = form, .place = {.input = var->varno, .column = var->varattno}
	});

	leaf->is_key |= is_key;
	return gj_column_expr(leaf, checked);
}

GjExpr *
gj_translate_payload(GjTranslator *t, const Var *var, bool is_key)
{
	var = visible_column(t, var);
	return var != NULL ? mention(t, var, gj_payload_form(var), is_key, false) : NULL;
}

/* A numeric column without a declared scale. */
static GjExpr *
unscaled_column(GjTranslator *t, const Var *var)
{
	int			scale = gj_unscaled_scale(t->root, var);
	GjExpr	   *value;

	if (scale < 0)
		return NULL;
	value = mention(t, var, GJ_FORM_UNSCALED, true, true);
	value->kind = GJ_KIND_DECIMAL;
	value->width = 8;
	value->scale = scale;
	value->display_scale = mention(t, var, GJ_FORM_SCALE, true, false);
	return value;
}

GjExpr *
gj_translate_float_column(GjTranslator *t, const Var *var, GjReading reading)
{
	GjExpr	   *value;

	var = visible_column(t, var);
	if (var == NULL)
		return NULL;
	value = mention(t, var, GJ_FORM_FLOAT_ORDER, true, reading != GJ_READ_STORED);
	value->width = 8;
	return value;
}

GjExpr *
gj_translate_column(GjTranslator *t, const Var *var, GjReading reading)
{
	GjExpr		described;
	GjForm		form = GJ_FORM_VALUE;

	var = visible_column(t, var);
	if (var == NULL)
		return NULL;
	if (reading == GJ_READ_NULLS)
	{
		GjColumn	column;

		return gj_describe_payload(var->vartype, var->vartypmod, &column) ?
			mention(t, var, gj_payload_form(var), false, false) : NULL;
	}
	if (!gj_describe_value(var->vartype, &described))
		return NULL;
	if (described.kind == GJ_KIND_DECIMAL)
	{
		described.width = 8;
		if (!gj_decimal_scale(var->vartype, var->vartypmod, &described.scale))
			return reading == GJ_READ_VALUE ? unscaled_column(t, var) : NULL;
		return gj_described_as(mention(t, var, GJ_FORM_DECIMAL, true, reading != GJ_READ_STORED),
							   &described);
	}
	if (getBaseType(var->vartype) == BPCHAROID && reading != GJ_READ_BLANKS)
		form = GJ_FORM_BPCHAR_KEY;
	/* equal text must have equal bytes and must not be chained */
	return gj_described_as(mention(t, var, form, true, false), &described);
}

GjExpr *
gj_result_column(int input, int column, bool checked)
{
	GjLeaf	   *leaf = palloc0(sizeof(GjLeaf));

	leaf->place = (GjOutput)
	{
		.input = input, .column = column
	};
	return gj_column_expr(leaf, checked);
}

/* ---- constants ---- */

static GjExpr *
described_int(int64 number, Oid type)
{
	GjExpr	   *value = gj_int(number);

	(void) gj_describe_value(type, value);
	value->width = GJ_CONSTANT_WIDTH;
	return value;
}

/* A numeric constant as an integer and a scale. */
static GjExpr *
numeric_constant(Datum datum)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, datum));
	__int128	sum = 0;
	bool		fraction = false;
	int			scale = 0;
	GjExpr	   *value;

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
			return NULL;		/* NaN, Infinity */
		sum = 10 * sum + (*c - '0');
		scale += fraction;
		if (sum > PG_INT64_MAX)
			return NULL;
	}
	value = described_int(text[0] == '-' ? -sum : sum, NUMERICOID);
	value->scale = scale;
	return value;
}

static GjExpr *
text_constant(Datum datum, bool padded)
{
	struct varlena *text = PG_DETOAST_DATUM_PACKED(datum);
	int			length = VARSIZE_ANY_EXHDR(text);

	if (padded)
		while (length > 0 && VARDATA_ANY(text)[length - 1] == ' ')
			length--;
	return gj_text(VARDATA_ANY(text), length);
}

GjExpr *
gj_translate_constant(const Const *c)
{
	Oid			type = getBaseType(c->consttype);
	GjExpr		described;

	if (!gj_describe_value(type, &described))
		return NULL;
	if (c->constisnull)
		return described.kind == GJ_KIND_TEXT ? NULL :
			gj_described_as(gj_null(described.width), &described);
	switch (type)
	{
		case NUMERICOID:
			return numeric_constant(c->constvalue);
		case BOOLOID:
			return described_int(DatumGetBool(c->constvalue), type);
		case INT2OID:
			return described_int(DatumGetInt16(c->constvalue), type);
		case INT4OID:
		case DATEOID:
			return described_int(DatumGetInt32(c->constvalue), type);
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return described_int(DatumGetInt64(c->constvalue), type);
		default:
			return text_constant(c->constvalue, type == BPCHAROID);
	}
}

/* ---- decimals ---- */

GjExpr *
gj_constant_to_scale(const GjExpr *constant, int scale)
{
	__int128	number = constant->number;
	GjExpr	   *scaled;

	if (constant->scale > scale || scale - constant->scale > MAX_RESCALE)
		return NULL;
	for (int i = constant->scale; i < scale; i++)
		number *= 10;
	if (number > PG_INT64_MAX || number < PG_INT64_MIN)
		return NULL;
	scaled = gj_described_as(gj_int(number), constant);
	scaled->scale = scale;
	return scaled;
}

static GjExpr *
to_scale(GjExpr *value, int scale)
{
	int			by = scale - value->scale;
	int64		factor = 1;
	GjExpr	   *scaled;

	if (by < 0 || by > MAX_RESCALE)
		return NULL;
	if (by == 0)
		return value;
	if (value->tag == GJ_EXPR_INT && (scaled = gj_constant_to_scale(value, scale)) != NULL)
		return scaled;
	for (int i = 0; i < by; i++)
		factor *= 10;
	scaled = gj_described_as(gj_call("*", 16, value, gj_int(factor)), value);
	scaled->scale = scale;
	scaled->width = 16;
	return scaled;
}

bool
gj_align(GjExpr **a, GjExpr **b)
{
	int			scale = Max((*a)->scale, (*b)->scale);

	*a = to_scale(*a, scale);
	*b = to_scale(*b, scale);
	return *a != NULL && *b != NULL;
}

GjExpr *
gj_to_width(GjExpr *value, int width)
{
	GjExpr	   *changed;

	if (value->width == width || value->kind == GJ_KIND_TEXT)
		return value;
	changed = width == 1 ? gj_truth(gj_compare(GJ_TEST_EQ, value, gj_int(1))) :
		gj_call("+", width, value, gj_int(0));
	changed = gj_described_as(changed, value);
	changed->width = width;
	return changed;
}

GjExpr *
gj_display_scale(const GjExpr *value)
{
	return value->display_scale != NULL ? value->display_scale : gj_int(value->scale);
}

/* ---- choices ---- */

static bool
is_null(const GjExpr *value)
{
	return value->tag == GJ_EXPR_NULL;
}

GjExpr *
gj_choose(GjExpr **conditions, GjExpr **values, int n)
{
	GjExpr	  **scales = palloc((n + 1) * sizeof(GjExpr *));
	const GjExpr *known = NULL; /* the last one that is not the constant NULL */
	GjExpr	   *choice;
	bool		mixed = false;	/* in scale */
	bool		nulls = false;
	int			scale;
	int			width;

	for (int i = 0; i <= n; i++)
	{
		if (values[i] == NULL)
			return NULL;
		if (!is_null(values[i]))
			known = values[i];
		else
			nulls = true;
	}
	if (known == NULL || (nulls && known->kind == GJ_KIND_TEXT))
		return NULL;
	scale = known->scale;
	width = known->width;
	for (int i = 0; i <= n; i++)
	{
		if (is_null(values[i]))
			continue;
		if (values[i]->kind != known->kind)
			return NULL;
		mixed |= values[i]->scale != scale || values[i]->display_scale != NULL;
		scale = Max(scale, values[i]->scale);
		width = Max(width, values[i]->width);
	}
	for (int i = 0; i <= n; i++)
	{
		if (is_null(values[i]))
			continue;
		scales[i] = gj_display_scale(values[i]);
		values[i] = to_scale(values[i], scale);
		if (values[i] == NULL)
			return NULL;
		width = Max(width, values[i]->width);
	}
	for (int i = 0; i <= n; i++)
		if (is_null(values[i]))
		{
			values[i] = gj_null(width);
			scales[i] = gj_null(4);
		}
	choice = gj_case(conditions, values, n, values[n]);
	if (choice == NULL)
		return NULL;
	choice->kind = known->kind;
	choice->scale = scale;
	choice->width = width;
	choice->display_scale = mixed ? gj_case(conditions, scales, n, scales[n]) : NULL;
	return choice;
}

const char *
gj_encoding_word(void)
{
	if (pg_database_encoding_max_length() == 1)
		return "single";
	return GetDatabaseEncoding() == PG_UTF8 ? "utf8" : NULL;
}
