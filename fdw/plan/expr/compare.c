/*
 * plan/expr/compare.c - comparisons of columns and constants.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/expr/expr.h"

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

/* ---- decimals as they are stored, and parameters ---- */

/*
 * An operand as an integer.  A column's NaN is the least integer, which no
 * other operand is, but above all numbers in PostgreSQL's order.  A parameter
 * has more decimals than the other operand: low and high are the integers
 * around it.
 */
typedef struct Operand
{
	GjExpr	   *low;
	GjExpr	   *high;
	bool		constant;		/* never NULL */
	bool		may_be_nan;
} Operand;

static Operand
operand_of(GjExpr *value, bool constant, bool may_be_nan)
{
	Operand		operand = {value, value, constant, may_be_nan};

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

/* Compares with the integer that stands for NaN. */
static GjExpr *
compare_nan(GjPageTest test, GjExpr *value)
{
	return gj_compare(test, value, gj_int(PG_INT64_MIN));
}

/*
 * a < b, NULL where either is.  NaN is the greater one whatever the other operand
 * is, so an operand that may be NULL is read again.
 */
static GjExpr *
less(const Operand *a, const Operand *b)
{
	GjExpr	   *result = gj_compare(GJ_TEST_LT, a->low, b->high);

	if (b->may_be_nan)
		result = gj_either(compare_nan(GJ_TEST_EQ, b->low), result);
	if (a->may_be_nan)
		result = gj_both(compare_nan(GJ_TEST_NE, a->low), result);
	else if (b->may_be_nan && !a->constant)
		result = gj_both(gj_compare(GJ_TEST_EQ, a->low, a->low), result);
	if (a->may_be_nan && !b->constant)
		result = gj_either(result, gj_compare(GJ_TEST_NE, b->low, b->low));
	return result;
}

static GjExpr *
equal_operands(const Operand *a, const Operand *b)
{
	GjExpr	   *result = gj_compare(GJ_TEST_EQ, a->low, b->low);

	if (a->low == a->high && b->low == b->high)
		return result;
	return gj_both(result, gj_compare(GJ_TEST_EQ, a->high, b->high));
}

static GjExpr *
compare_operands(GjPageTest test, const Operand *a, const Operand *b)
{
	switch (test)
	{
		case GJ_TEST_LT:
			return less(a, b);
		case GJ_TEST_GT:
			return less(b, a);
		case GJ_TEST_LE:
			return gj_not(less(b, a));
		case GJ_TEST_GE:
			return gj_not(less(a, b));
		case GJ_TEST_EQ:
			return equal_operands(a, b);
		default:
			return gj_not(equal_operands(a, b));
	}
}

GjExpr *
gj_translate_stored(GjTranslator *t, const Expr *expr)
{
	const Var  *var = gj_plain_column(expr);

	return var != NULL && t->leaf == NULL && getBaseType(var->vartype) == NUMERICOID ?
		gj_translate_column(t, var, GJ_READ_STORED) : NULL;
}

/* A column or a constant. */
static GjExpr *
read_stored(GjTranslator *t, const Expr *expr)
{
	if (!IsA(expr, Const))
		return gj_translate_stored(t, expr);
	return !((const Const *) expr)->constisnull ?
		gj_translate_constant((const Const *) expr) : NULL;
}

/* A constant between two integers of a scale with fewer decimals, or equal to one. */
static Operand
rounded_constant(const GjExpr *constant, int scale)
{
	Operand		operand = {.constant = true};
	int64		low = constant->number;
	bool		exact = true;

	for (int i = scale; i < constant->scale; i++)
	{
		int64		rest = low % 10;

		low = low / 10 - (rest < 0);
		exact &= rest == 0;
	}
	operand.low = operand.high = gj_int(low);
	if (!exact)
		operand.high = gj_int(low + 1);
	return operand;
}

GjExpr *
gj_compare_longer(GjPageTest test, GjExpr *a, GjExpr *b, bool may_be_nan)
{
	bool		commuted = a != NULL && a->tag == GJ_EXPR_INT;
	GjExpr	   *value = commuted ? b : a;
	const GjExpr *constant = commuted ? a : b;
	Operand		operand;
	Operand		bounds;

	if (value == NULL || constant == NULL || constant->tag != GJ_EXPR_INT ||
		value->kind != GJ_KIND_DECIMAL || constant->kind != GJ_KIND_DECIMAL ||
		constant->scale <= value->scale)
		return NULL;
	operand = operand_of(value, false, may_be_nan);
	bounds = rounded_constant(constant, value->scale);
	return commuted ? compare_operands(test, &bounds, &operand) :
		compare_operands(test, &operand, &bounds);
}

GjExpr *
gj_compare_stored(GjTranslator *t, GjPageTest test, const Expr *left, const Expr *right)
{
	bool		left_constant = IsA(left, Const);
	bool		right_constant = IsA(right, Const);
	GjExpr	   *longer;
	GjExpr	   *a;
	GjExpr	   *b;
	Operand		x;
	Operand		y;

	if (getBaseType(exprType((const Node *) left)) != NUMERICOID ||
		(left_constant && right_constant))
		return NULL;
	a = read_stored(t, left);
	b = a != NULL ? read_stored(t, right) : NULL;
	if (t->kept && (longer = gj_compare_longer(test, a, b, true)) != NULL)
		return longer;
	if (b != NULL && left_constant)
		a = gj_constant_to_scale(a, b->scale);
	if (b != NULL && right_constant)
		b = gj_constant_to_scale(b, a->scale);
	if (a == NULL || b == NULL || a->scale != b->scale)
		return NULL;
	x = operand_of(a, left_constant, !left_constant);
	y = operand_of(b, right_constant, !right_constant);
	return compare_operands(test, &x, &y);
}

static bool
is_numeric_parameter(const Expr *expr)
{
	return IsA(expr, Param) && getBaseType(((const Param *) expr)->paramtype) == NUMERICOID;
}

GjExpr *
gj_compare_parameter(GjTranslator *t, GjPageTest test, Expr *left, Expr *right,
					 bool *is_parameter)
{
	bool		commuted = is_numeric_parameter(left);
	Expr	   *other = commuted ? right : left;
	GjExpr	   *value;
	bool		stored;
	Operand		operand;
	Operand		bound;

	*is_parameter = commuted || is_numeric_parameter(right);
	if (!*is_parameter || is_numeric_parameter(other))
		return NULL;
	value = gj_translate_stored(t, other);
	stored = value != NULL;
	if (!stored)
		value = gj_translate_value(t, other);
	if (value == NULL || value->kind != GJ_KIND_DECIMAL ||
		!read_parameter(t, (const Param *) (commuted ? left : right), value->scale, &bound))
		return NULL;
	operand = operand_of(value, false, stored);
	return commuted ? compare_operands(test, &bound, &operand) :
		compare_operands(test, &operand, &bound);
}
