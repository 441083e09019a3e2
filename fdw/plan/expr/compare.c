/*
 * plan/expr/compare.c - comparisons of columns and constants.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/expr/compare.h"
#include "plan/expr/parameters.h"

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
	return OidIsValid(collation) && gj_collation_is_c(collation);
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

/* ---- decimals as they are stored, and parameters ---- */

/*
 * An operand as an integer.  A column's NaN is the least integer, which no
 * other operand is, but above all numbers in PostgreSQL's order.  A parameter
 * has more decimals than the other operand: low and high are the integers
 * around it.
 */
typedef struct Operand
{
	const char *low;
	const char *high;
	bool		constant;		/* never NULL */
	bool		may_be_nan;
} Operand;

static const char stored_nan[] = "{\"int\":-9223372036854775808}";

static Operand
operand_of(const GjValueJson *value, bool constant, bool may_be_nan)
{
	Operand		operand = {value->json, value->json, constant, may_be_nan};

	return operand;
}

/* Returns false if the parameter cannot be translated. */
static bool
read_parameter(GjTranslator *t, const Param *param, int scale, Operand *operand)
{
	operand->low = gj_numeric_parameter(t, param, scale, GJ_ROUND_DOWN);
	operand->high = gj_numeric_parameter(t, param, scale, GJ_ROUND_UP);
	operand->constant = operand->may_be_nan = false;
	return operand->low != NULL;
}

/*
 * a < b, NULL where either is.  NaN is known to be the greater one without
 * looking at the other operand, so what may be NULL is looked at again.
 */
static char *
less(const Operand *a, const Operand *b)
{
	char	   *json = gj_compare_json(GJ_TEST_LT, a->low, b->high);

	if (b->may_be_nan)
		json = psprintf("{\"or\":[%s,%s]}", gj_compare_json(GJ_TEST_EQ, b->low, stored_nan), json);
	if (a->may_be_nan)
		json = psprintf("{\"and\":[%s,%s]}", gj_compare_json(GJ_TEST_NE, a->low, stored_nan), json);
	else if (b->may_be_nan && !a->constant)
		json = psprintf("{\"and\":[%s,%s]}", gj_compare_json(GJ_TEST_EQ, a->low, a->low), json);
	if (a->may_be_nan && !b->constant)
		json = psprintf("{\"or\":[%s,%s]}", json, gj_compare_json(GJ_TEST_NE, b->low, b->low));
	return json;
}

static char *
equal_operands(const Operand *a, const Operand *b)
{
	char	   *json = gj_compare_json(GJ_TEST_EQ, a->low, b->low);

	if (a->low == a->high && b->low == b->high)
		return json;
	return psprintf("{\"and\":[%s,%s]}", json, gj_compare_json(GJ_TEST_EQ, a->high, b->high));
}

static char *
compare_operands(GjPageTest test, const Operand *a, const Operand *b)
{
	switch (test)
	{
		case GJ_TEST_LT:
			return less(a, b);
		case GJ_TEST_GT:
			return less(b, a);
		case GJ_TEST_LE:
			return psprintf("{\"not\":%s}", less(b, a));
		case GJ_TEST_GE:
			return psprintf("{\"not\":%s}", less(a, b));
		case GJ_TEST_EQ:
			return equal_operands(a, b);
		default:
			return psprintf("{\"not\":%s}", equal_operands(a, b));
	}
}

bool
gj_translate_stored(GjTranslator *t, const Expr *expr, GjValueJson *value)
{
	const Var  *var = gj_plain_column(expr);

	return var != NULL && t->leaf == NULL &&
		getBaseType(var->vartype) == NUMERICOID &&
		gj_translate_column(t, var, GJ_READ_STORED, value);
}

/* A column or a constant. */
static bool
read_stored(GjTranslator *t, const Expr *expr, GjValueJson *value)
{
	if (!IsA(expr, Const))
		return gj_translate_stored(t, expr, value);
	return !((const Const *) expr)->constisnull &&
		gj_translate_constant((const Const *) expr, value);
}

char *
gj_compare_stored(GjTranslator *t, GjPageTest test, const Expr *left, const Expr *right)
{
	bool		left_constant = IsA(left, Const);
	bool		right_constant = IsA(right, Const);
	GjValueJson a;
	GjValueJson b;
	Operand		x;
	Operand		y;

	if (getBaseType(exprType((const Node *) left)) != NUMERICOID ||
		(left_constant && right_constant) ||
		!read_stored(t, left, &a) || !read_stored(t, right, &b) ||
		(left_constant && !gj_constant_to_scale(&a, b.scale)) ||
		(right_constant && !gj_constant_to_scale(&b, a.scale)) ||
		a.scale != b.scale)
		return NULL;
	x = operand_of(&a, left_constant, !left_constant);
	y = operand_of(&b, right_constant, !right_constant);
	return compare_operands(test, &x, &y);
}

bool
gj_is_numeric_parameter(const Expr *expr)
{
	return IsA(expr, Param) && getBaseType(((const Param *) expr)->paramtype) == NUMERICOID;
}

char *
gj_compare_parameter(GjTranslator *t, GjPageTest test, const GjValueJson *value, bool stored,
					 const Param *param, bool commuted)
{
	Operand		operand = operand_of(value, false, stored);
	Operand		bound;

	if (value->kind != GJ_KIND_DECIMAL || !read_parameter(t, param, value->scale, &bound))
		return NULL;
	return commuted ? compare_operands(test, &bound, &operand) :
		compare_operands(test, &operand, &bound);
}
