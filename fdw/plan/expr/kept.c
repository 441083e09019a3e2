/*
 * plan/expr/kept.c - comparisons of tables that may be kept.
 *
 * A condition of a table that the daemon cannot evaluate makes it feed the table
 * each time, and one that may fail does so unless an aggregate follows.  So more
 * comparisons have a form here than in joins and aggregates: of floats, of types that
 * are compared for equality only, and of dates with constant timestamps.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "job/key_forms.h"
#include "plan/expr/expr.h"

/* ---- floats ---- */

static bool
is_float(Oid type)
{
	type = getBaseType(type);
	return type == FLOAT4OID || type == FLOAT8OID;
}

/* A column or a constant as an integer of the floats' order. */
static GjExpr *
float_operand(GjTranslator *t, Expr *expr)
{
	const Var  *var = gj_plain_column(expr);
	GjExpr	   *value;

	if (IsA(expr, Const))
	{
		const Const *constant = (const Const *) expr;
		double		number;

		if (constant->constisnull)
			return NULL;
		number = getBaseType(constant->consttype) == FLOAT4OID ?
			DatumGetFloat4(constant->constvalue) : DatumGetFloat8(constant->constvalue);
		return gj_int(number == 0 ? 0 : gj_float_order(number));
	}
	value = var != NULL ? gj_translate_float_column(t, var, GJ_READ_STORED) : NULL;

	/* -0 equals 0 */
	return value == NULL ? NULL :
		gj_choice(gj_compare(GJ_TEST_EQ, value, gj_int(PG_INT64_MIN)), gj_int(0), value);
}

/* ---- types of which only equality is known ---- */

static bool
equality_test(Oid function, GjPageTest *test)
{
	switch (function)
	{
		case F_ENUM_EQ:
		case F_OIDEQ:
		case F_CHAREQ:
			*test = GJ_TEST_EQ;
			return true;
		case F_ENUM_NE:
		case F_OIDNE:
		case F_CHARNE:
			*test = GJ_TEST_NE;
			return true;
		default:
			return false;
	}
}

/* A column or a constant as the integer that its bytes are. */
static GjExpr *
bytes_operand(GjTranslator *t, Expr *expr)
{
	const Var  *var = gj_plain_column(expr);
	int			width = get_typlen(exprType((Node *) expr));
	GjExpr	   *value;

	if (IsA(expr, Const))
	{
		const Const *constant = (const Const *) expr;

		if (constant->constisnull)
			return NULL;
		return gj_int(width == 1 ? (int8) DatumGetChar(constant->constvalue) :
					  (int32) DatumGetObjectId(constant->constvalue));
	}
	value = var != NULL ? gj_translate_payload(t, var, true) : NULL;
	if (value != NULL)
		value->width = width;
	return value;
}

/* ---- dates ---- */

/* A date and a constant timestamp, as days. */
static GjExpr *
compare_days(GjTranslator *t, GjPageTest test, Expr *date, const Const *timestamp)
{
	GjExpr	   *value = gj_translate_value(t, date);
	int64		day;
	bool		never = false;
	bool		always = false;

	if (!gj_day_of_timestamp(DatumGetTimestamp(timestamp->constvalue), &day))
		test = gj_test_between(test, &never, &always);

	/* NULL where the date is */
	if (never || always)
		return gj_compare(never ? GJ_TEST_NE : GJ_TEST_EQ, value, value);
	return gj_compare(test, value, gj_int(day));
}

static GjExpr *
compare_date(GjTranslator *t, GjPageTest test, bool date_first, Expr *left, Expr *right)
{
	Expr	   *date = date_first ? left : right;
	const Const *timestamp = (const Const *) (date_first ? right : left);

	if (!IsA(timestamp, Const) || timestamp->constisnull)
		return NULL;
	return compare_days(t, date_first ? test : gj_commuted_test(test), date, timestamp);
}

GjExpr *
gj_translate_kept_comparison(GjTranslator *t, Oid opno, Expr *left, Expr *right)
{
	Oid			function = get_opcode(opno);
	GjPageTest	test;
	bool		date_first;

	if (gj_find_date_test(function, &date_first, &test))
		return compare_date(t, test, date_first, left, right);
	if (equality_test(function, &test))
		return gj_compare(test, bytes_operand(t, left), bytes_operand(t, right));
	if (is_float(exprType((Node *) left)) && is_float(exprType((Node *) right)) &&
		gj_float_test(opno, &test))
		return gj_compare(test, float_operand(t, left), float_operand(t, right));
	return NULL;
}
