/*
 * operators.c - equality operators that the daemon can evaluate.
 *
 * The list is explicit: each of these is total, raises no error, depends on no
 * setting, and is true for exactly the values whose canonical bytes are equal.
 * Membership in an operator family would promise less and can be extended by
 * users.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "operators.h"

static const struct
{
	Oid			opno;			/* pg_operator.dat */
	int			left;			/* type length */
	int			right;
	GjKeyKind	kind;
}			operators[] =
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
	{607, 4, 4, GJ_KEY_INT},	/* oid = oid */
	{1093, 4, 4, GJ_KEY_INT},	/* date = date */
	{2060, 8, 8, GJ_KEY_INT},	/* timestamp = timestamp */
	{1320, 8, 8, GJ_KEY_INT},	/* timestamptz = timestamptz */
	{2972, 16, 16, GJ_KEY_BYTES},	/* uuid = uuid */
	{98, -1, -1, GJ_KEY_TEXT},	/* text = text, and varchar relabelled */
	{1054, -1, -1, GJ_KEY_BPCHAR},	/* bpchar = bpchar */
	{1752, -1, -1, GJ_KEY_NUMERIC}, /* numeric = numeric */
};

static int
find(Oid opno)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
		if (operators[i].opno == opno)
			return i;
	return -1;
}

GjKeyKind
gj_key_kind(Oid opno, Oid collation)
{
	int			i = find(opno);

	if (i < 0)
		return GJ_KEY_NONE;
	if ((operators[i].kind == GJ_KEY_TEXT || operators[i].kind == GJ_KEY_BPCHAR) &&
		(!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
		return GJ_KEY_NONE;
	return operators[i].kind;
}

int
gj_key_typlen(Oid opno, bool left)
{
	int			i = find(opno);

	return i < 0 ? 0 : left ? operators[i].left : operators[i].right;
}
