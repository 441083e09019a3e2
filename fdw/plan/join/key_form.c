/*
 * plan/join/key_form.c - how key columns are fed and compared.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "plan/join/key_form.h"

/* Are both columns numerics of one declared scale? */
static bool
are_decimals(const Var *left, const Var *right)
{
	int			left_scale;
	int			right_scale;

	return gj_decimal_scale(left->vartype, left->vartypmod, &left_scale) &&
		gj_decimal_scale(right->vartype, right->vartypmod, &right_scale) &&
		left_scale == right_scale;
}

/* Decides how a side of a key is carried. */
static GjForm
key_form(GjKeyKind kind, const Var *var, bool decimals)
{
	switch (kind)
	{
		case GJ_KEY_BPCHAR:
			return GJ_FORM_BPCHAR_KEY;
		case GJ_KEY_NAME:
			return getBaseType(var->vartype) == NAMEOID ? GJ_FORM_NAME_KEY : GJ_FORM_VALUE;
		case GJ_KEY_NUMERIC:
			return decimals ? GJ_FORM_DECIMAL : GJ_FORM_NUMERIC_KEY;
		case GJ_KEY_FLOAT:
			return GJ_FORM_FLOAT_KEY;
		case GJ_KEY_TIMESTAMP:
			return getBaseType(var->vartype) == DATEOID ? GJ_FORM_DATE_KEY : GJ_FORM_VALUE;
		case GJ_KEY_INTERVAL:
			return GJ_FORM_INTERVAL_KEY;
		case GJ_KEY_INT:
		case GJ_KEY_BYTES:
		case GJ_KEY_VARLENA:
		case GJ_KEY_TEXT:
		case GJ_KEY_KINDS:
			break;
	}
	return GJ_FORM_VALUE;
}

/* Decides how the two sides are compared. */
static GjKeyClass
key_class(GjKeyKind kind, bool decimals)
{
	switch (kind)
	{
		case GJ_KEY_INT:
		case GJ_KEY_FLOAT:
		case GJ_KEY_TIMESTAMP:
			return GJ_CLASS_INT;
		case GJ_KEY_BYTES:
		case GJ_KEY_INTERVAL:
			return GJ_CLASS_BYTES;
		case GJ_KEY_NUMERIC:
			return decimals ? GJ_CLASS_INT : GJ_CLASS_VARLENA;
		case GJ_KEY_VARLENA:
		case GJ_KEY_TEXT:
		case GJ_KEY_NAME:
		case GJ_KEY_BPCHAR:
		case GJ_KEY_KINDS:
			break;
	}
	return GJ_CLASS_VARLENA;
}

GjKeyClass
gj_key_forms(GjKeyKind kind, const Var *left, const Var *right, GjForm *left_form,
			 GjForm *right_form)
{
	bool		decimals = are_decimals(left, right);

	*left_form = key_form(kind, left, decimals);
	*right_form = key_form(kind, right, decimals);
	return key_class(kind, decimals);
}
