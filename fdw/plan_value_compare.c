/*
 * plan_value_compare.c - comparisons of columns and constants.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "plan_value_compare.h"

static const char *const test_words[] = {
	[GJ_TEST_LT] = "<", [GJ_TEST_LE] = "<=", [GJ_TEST_EQ] = "=",
	[GJ_TEST_GE] = ">=", [GJ_TEST_GT] = ">", [GJ_TEST_NE] = "<>",
};

/* The comparison of texts that a function does, under its collation. */
static bool
text_test(Oid function, Oid collation, GjPageTest *test)
{
	switch (function)
	{
		case F_TEXTEQ:
		case F_BPCHAREQ:
			*test = GJ_TEST_EQ;
			break;
		case F_TEXTNE:
		case F_BPCHARNE:
			*test = GJ_TEST_NE;
			break;
		case F_TEXT_LT:
			*test = GJ_TEST_LT;
			break;
		case F_TEXT_LE:
			*test = GJ_TEST_LE;
			break;
		case F_TEXT_GT:
			*test = GJ_TEST_GT;
			break;
		case F_TEXT_GE:
			*test = GJ_TEST_GE;
			break;
		default:
			return false;
	}
	if (*test == GJ_TEST_EQ || *test == GJ_TEST_NE)
		return OidIsValid(collation) && get_collation_isdeterministic(collation);
	return OidIsValid(collation) && lc_collate_is_c(collation);
}

bool
gj_find_test(Oid opno, Oid collation, Oid left, Oid right, GjPageTest *test)
{
	Oid			function = get_opcode(opno);

	if (function == F_BOOLEQ || function == F_BOOLNE)
	{
		*test = function == F_BOOLEQ ? GJ_TEST_EQ : GJ_TEST_NE;
		return true;
	}
	return text_test(function, collation, test) || gj_comparison_test(opno, left, right, test);
}

bool
gj_same_value(Oid from, Oid to)
{
	from = getBaseType(from);
	to = getBaseType(to);
	return from == to ||
		((from == TEXTOID || from == VARCHAROID) && (to == TEXTOID || to == VARCHAROID));
}

const Var *
gj_plain_column(const Expr *expr)
{
	while (IsA(expr, RelabelType) &&
		   gj_same_value(exprType((const Node *) ((const RelabelType *) expr)->arg),
					  ((const RelabelType *) expr)->resulttype))
		expr = ((const RelabelType *) expr)->arg;
	return IsA(expr, Var) ? (const Var *) expr : NULL;
}

char *
gj_compare_json(GjPageTest test, const char *left, const char *right)
{
	return psprintf("{\"compare\":\"%s\",\"left\":%s,\"right\":%s}",
					test_words[test], left, right);
}

/* ---- decimals as they are stored ---- */

/*
 * A column, or a constant, with its decimals as an integer.  NaN is the least
 * integer, which no constant is, but above all numbers in PostgreSQL's order.
 */
typedef struct Stored
{
	GjValueJson value;
	bool		constant;
} Stored;

static const char stored_nan[] = "{\"int\":-9223372036854775808}";

bool
gj_translate_stored(GjTranslator *t, const Expr *expr, GjValueJson *value)
{
	const Var  *var = gj_plain_column(expr);

	return var != NULL && t->leaf == NULL &&
		getBaseType(var->vartype) == NUMERICOID &&
		gj_translate_column(t, var, GJ_READ_STORED, value);
}

static bool
read_stored(GjTranslator *t, const Expr *expr, Stored *stored)
{
	stored->constant = IsA(expr, Const);
	if (!stored->constant)
		return gj_translate_stored(t, expr, &stored->value);
	return !((const Const *) expr)->constisnull &&
		gj_translate_constant((const Const *) expr, &stored->value);
}

/*
 * a < b.  The last comparison is NULL where b is and otherwise false: NaN <
 * NULL is NULL.
 */
static char *
stored_less(const Stored *a, const Stored *b)
{
	const char *x = a->value.json;
	const char *y = b->value.json;
	char	   *less = gj_compare_json(GJ_TEST_LT, x, y);

	if (!b->constant)
		less = psprintf("{\"or\":[%s,%s]}", gj_compare_json(GJ_TEST_EQ, y, stored_nan), less);
	if (!a->constant)
		less = psprintf("{\"and\":[%s,%s]}", gj_compare_json(GJ_TEST_NE, x, stored_nan), less);
	if (!a->constant && !b->constant)
		less = psprintf("{\"or\":[%s,%s]}", less, gj_compare_json(GJ_TEST_NE, y, y));
	return less;
}

char *
gj_compare_stored(GjTranslator *t, GjPageTest test, const Expr *left, const Expr *right)
{
	Stored		a;
	Stored		b;

	if (getBaseType(exprType((const Node *) left)) != NUMERICOID ||
		(IsA(left, Const) && IsA(right, Const)) ||
		!read_stored(t, left, &a) || !read_stored(t, right, &b) ||
		(a.constant && !gj_constant_to_scale(&a.value, b.value.scale)) ||
		(b.constant && !gj_constant_to_scale(&b.value, a.value.scale)) ||
		a.value.scale != b.value.scale)
		return NULL;
	switch (test)
	{
		case GJ_TEST_LT:
			return stored_less(&a, &b);
		case GJ_TEST_GT:
			return stored_less(&b, &a);
		case GJ_TEST_LE:
			return psprintf("{\"not\":%s}", stored_less(&b, &a));
		case GJ_TEST_GE:
			return psprintf("{\"not\":%s}", stored_less(&a, &b));
		default:
			return gj_compare_json(test, a.value.json, b.value.json);
	}
}
