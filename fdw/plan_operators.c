/*
 * plan_operators.c - equality operators that the daemon can evaluate.
 *
 * The list is explicit.  Each operator in it is total, raises no error,
 * depends on no setting, and is true for exactly the values whose canonical
 * bytes are equal. Membership in an operator family would guarantee less, and
 * users can extend families.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "plan_operators.h"

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
	{607, 4, 4, GJ_KEY_INT},	/* oid = oid */
	{1093, 4, 4, GJ_KEY_INT},	/* date = date */
	{2060, 8, 8, GJ_KEY_INT},	/* timestamp = timestamp */
	{1320, 8, 8, GJ_KEY_INT},	/* timestamptz = timestamptz */
	{2972, 16, 16, GJ_KEY_BYTES},	/* uuid = uuid */
	{98, -1, -1, GJ_KEY_TEXT},	/* text = text, and varchar relabelled */
	{1054, -1, -1, GJ_KEY_BPCHAR},	/* bpchar = bpchar */
	{1752, -1, -1, GJ_KEY_NUMERIC}, /* numeric = numeric */
};

const GjOperator *
gj_find_operator(Oid opno, Oid collation)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		const GjOperator *op = &operators[i];

		if (op->opno != opno)
			continue;
		if ((op->kind == GJ_KEY_TEXT || op->kind == GJ_KEY_BPCHAR) &&
			(!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
			return NULL;
		return op;
	}
	return NULL;
}
