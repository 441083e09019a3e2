/*
 * plan/join/keys.c - equality operators that the daemon can evaluate.
 *
 * The list is explicit.  Each operator in it is total, raises no error,
 * depends on no setting, and is true for exactly the values whose canonical
 * bytes are equal. Membership in an operator family would guarantee less, and
 * users can extend families.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "plan/join/clauses.h"
#include "plan/join/join.h"

static const GjOperator operators[] =
{
	{94, 2, 2, GJ_KEY_INT},		/* int2 = int2 */
	{532, 2, 4, GJ_KEY_INT},	/* int2 = int4 */
	{1862, 2, 8, GJ_KEY_INT},	/* int2 = int8 */
	{533, 4, 2, GJ_KEY_INT},	/* int4 = int2 */
	{96, 4, 4, GJ_KEY_INT},		/* int4 = int4 */
	{15, 4, 8, GJ_KEY_INT},		/* int4 = int8 */
	{1868, 8, 2, GJ_KEY_INT},	/* int8 = int2 */
	{416, 8, 4, GJ_KEY_INT},	/* int8 = int4 */
	{410, 8, 8, GJ_KEY_INT},	/* int8 = int8 */
	{91, 1, 1, GJ_KEY_INT},		/* bool = bool */
	{92, 1, 1, GJ_KEY_INT},		/* "char" = "char" */
	{607, 4, 4, GJ_KEY_INT},	/* oid = oid */
	{352, 4, 4, GJ_KEY_INT},	/* xid = xid */
	{385, 4, 4, GJ_KEY_INT},	/* cid = cid */
	{5068, 8, 8, GJ_KEY_INT},	/* xid8 = xid8 */
	{3516, 4, 4, GJ_KEY_INT},	/* anyenum = anyenum */
	{900, 8, 8, GJ_KEY_INT},	/* money = money */
	{3222, 8, 8, GJ_KEY_INT},	/* pg_lsn = pg_lsn */
	{1093, 4, 4, GJ_KEY_INT},	/* date = date */
	{1108, 8, 8, GJ_KEY_INT},	/* time = time */
	{2060, 8, 8, GJ_KEY_INT},	/* timestamp = timestamp */
	{1320, 8, 8, GJ_KEY_INT},	/* timestamptz = timestamptz */
	{2347, 4, 8, GJ_KEY_TIMESTAMP}, /* date = timestamp */
	{2373, 8, 4, GJ_KEY_TIMESTAMP}, /* timestamp = date */
	{1330, 16, 16, GJ_KEY_INTERVAL},	/* interval = interval */
	{1550, 12, 12, GJ_KEY_BYTES},	/* timetz = timetz: time and zone are equal */
	{2972, 16, 16, GJ_KEY_BYTES},	/* uuid = uuid */
	{1220, 6, 6, GJ_KEY_BYTES}, /* macaddr = macaddr */
	{3362, 8, 8, GJ_KEY_BYTES}, /* macaddr8 = macaddr8 */
	{387, 6, 6, GJ_KEY_BYTES},	/* tid = tid */
	{1201, -1, -1, GJ_KEY_VARLENA}, /* inet = inet, and cidr relabelled */
	{1784, -1, -1, GJ_KEY_VARLENA}, /* bit = bit */
	{1804, -1, -1, GJ_KEY_VARLENA}, /* varbit = varbit */
	{1955, -1, -1, GJ_KEY_VARLENA}, /* bytea = bytea */
	{98, -1, -1, GJ_KEY_TEXT},	/* text = text, and varchar relabelled */
	{93, 64, 64, GJ_KEY_NAME},	/* name = name */
	{254, 64, -1, GJ_KEY_NAME}, /* name = text */
	{260, -1, 64, GJ_KEY_NAME}, /* text = name */
	{1054, -1, -1, GJ_KEY_BPCHAR},	/* bpchar = bpchar */
	{1752, -1, -1, GJ_KEY_NUMERIC}, /* numeric = numeric */
	{620, 4, 4, GJ_KEY_FLOAT},	/* float4 = float4 */
	{670, 8, 8, GJ_KEY_FLOAT},	/* float8 = float8 */
	{1120, 4, 8, GJ_KEY_FLOAT}, /* float4 = float8 */
	{1130, 8, 4, GJ_KEY_FLOAT}, /* float8 = float4 */
};

bool
gj_equal_by_bytes(GjKeyKind kind)
{
	switch (kind)
	{
		case GJ_KEY_INT:
		case GJ_KEY_BYTES:
		case GJ_KEY_VARLENA:
		case GJ_KEY_TEXT:
		case GJ_KEY_TIMESTAMP:
			return true;
		case GJ_KEY_NAME:		/* bytes after the first zero are not compared */
		case GJ_KEY_BPCHAR:
		case GJ_KEY_NUMERIC:
		case GJ_KEY_FLOAT:
		case GJ_KEY_INTERVAL:
		case GJ_KEY_KINDS:
			break;
	}
	return false;
}

const GjOperator *
gj_find_operator(Oid opno, Oid collation)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		const GjOperator *op = &operators[i];

		if (op->opno != opno)
			continue;
		if ((op->kind == GJ_KEY_TEXT || op->kind == GJ_KEY_NAME || op->kind == GJ_KEY_BPCHAR) &&
			(!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
			return NULL;
		return op;
	}
	return NULL;
}

/* ---- how key columns are fed and compared ---- */

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
