/*
 * job/page_qual.c - conditions that the page feed evaluates itself.
 *
 * These are comparisons that cannot fail and whose operands are plain integers
 * on the page, numerics that fit a 64-bit integer, or texts that are compared
 * byte by byte.  Most other conditions
 * are evaluated row by row by the executor's expressions.  A table with a
 * condition that needs more than its columns uses the child feed.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "job/job.h"
#include "job/page_qual.h"
#include "util.h"

/* these have no names in pg_opfamily.dat */
#define DATETIME_BTREE_FAM_OID 434
#define NUMERIC_BTREE_FAM_OID 1988
#define FLOAT_BTREE_FAM_OID 1970

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/*
 * Returns the btree family that compares both types without a conversion that
 * depends on settings.  InvalidOid if there is none.
 */
static Oid
comparison_family(Oid column, Oid value)
{
	if (is_integer(column) && is_integer(value))
		return INTEGER_BTREE_FAM_OID;
	if (column == DATEOID && value == TIMESTAMPOID)
		return DATETIME_BTREE_FAM_OID;	/* date '...' + interval '...' */
	if (column != value)
		return InvalidOid;
	switch (column)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return DATETIME_BTREE_FAM_OID;
		case NUMERICOID:
			return NUMERIC_BTREE_FAM_OID;
		default:
			return InvalidOid;
	}
}

static bool
test_of_operator(Oid opno, Oid family, GjPageTest *test)
{
	/* users can extend families, but only built-in operators are known here */
	if (opno >= FirstGenbkiObjectId)
		return false;
	switch (get_op_opfamily_strategy(opno, family))
	{
		case BTLessStrategyNumber:
			*test = GJ_TEST_LT;
			return true;
		case BTLessEqualStrategyNumber:
			*test = GJ_TEST_LE;
			return true;
		case BTEqualStrategyNumber:
			*test = GJ_TEST_EQ;
			return true;
		case BTGreaterEqualStrategyNumber:
			*test = GJ_TEST_GE;
			return true;
		case BTGreaterStrategyNumber:
			*test = GJ_TEST_GT;
			return true;
		default:
			break;
	}
	if (get_op_opfamily_strategy(get_negator(opno), family) == BTEqualStrategyNumber)
	{
		*test = GJ_TEST_NE;
		return true;
	}
	return false;
}

/* Finds what a page does not have: SubPlans, whole rows, system columns. */
static bool
needs_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, PlaceHolderVar))
		return true;
	if (IsA(node, Var))
		return ((Var *) node)->varattno <= 0;
	return expression_tree_walker(node, needs_more, context);
}

bool
gj_page_expression(Expr *clause)
{
	return !needs_more((Node *) clause, NULL);
}

bool
gj_comparison_test(Oid opno, Oid left, Oid right, GjPageTest *test)
{
	Oid			family;

	left = getBaseType(left);
	right = getBaseType(right);
	if (left != right && !(is_integer(left) && is_integer(right)))
		return false;
	family = comparison_family(left, right);
	return OidIsValid(family) && test_of_operator(opno, family, test);
}

bool
gj_float_test(Oid opno, GjPageTest *test)
{
	return test_of_operator(opno, FLOAT_BTREE_FAM_OID, test);
}

GjPageTest
gj_test_between(GjPageTest test, bool *never, bool *always)
{
	*never = test == GJ_TEST_EQ;
	*always = test == GJ_TEST_NE;
	if (test == GJ_TEST_LT || test == GJ_TEST_LE)
		return GJ_TEST_LE;
	return GJ_TEST_GT;
}

bool
gj_day_of_timestamp(Timestamp timestamp, int64 *day)
{
	int64		rest;

	/* both types use the extremes of their integers as infinities */
	if (TIMESTAMP_NOT_FINITE(timestamp))
	{
		*day = TIMESTAMP_IS_NOBEGIN(timestamp) ? DATEVAL_NOBEGIN : DATEVAL_NOEND;
		return true;
	}
	*day = timestamp / USECS_PER_DAY;
	rest = timestamp % USECS_PER_DAY;
	if (rest < 0)
		(*day)--;
	return rest == 0;
}

GjPageTest
gj_commuted_test(GjPageTest test)
{
	switch (test)
	{
		case GJ_TEST_LT:
			return GJ_TEST_GT;
		case GJ_TEST_LE:
			return GJ_TEST_GE;
		case GJ_TEST_GE:
			return GJ_TEST_LE;
		case GJ_TEST_GT:
			return GJ_TEST_LT;
		default:
			return test;
	}
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

/* Equality of texts, as that of their bytes: LIKE and order need more. */
static bool
text_equality(Oid function, Oid collation, Oid column, Oid value, GjPageTest *test)
{
	if (!is_text(column) || !is_text(value) ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return false;
	switch (function)
	{
		case F_BPCHAREQ:
		case F_TEXTEQ:
			*test = GJ_TEST_IN;
			break;
		case F_BPCHARNE:
		case F_TEXTNE:
			*test = GJ_TEST_NOT_IN;
			break;
		default:
			return false;
	}
	/* bpchar's functions ignore trailing blanks, text's do not */
	return (function == F_BPCHAREQ || function == F_BPCHARNE) == (column == BPCHAROID);
}

/* A column of the scanned relation, or NULL. */
static const Var *
column_of(const Expr *expr)
{
	const Var  *var = (const Var *) expr;

	return IsA(expr, Var) && var->varattno > 0 && var->varlevelsup == 0 ? var : NULL;
}

static bool
is_value(const Expr *expr)
{
	return IsA(expr, Const) || IsA(expr, Param);
}

/* column IS [NOT] NULL */
static bool
null_test(const NullTest *test, GjPageQual *qual)
{
	const Var  *var = column_of(gj_strip_relabel(test->arg));

	if (test->argisrow || var == NULL)
		return false;
	qual->test = test->nulltesttype == IS_NULL ? GJ_TEST_IS_NULL : GJ_TEST_IS_NOT_NULL;
	qual->attnum = var->varattno;
	qual->type = getBaseType(var->vartype);
	return true;
}

/* column = ANY (array) */
static bool
array_test(const ScalarArrayOpExpr *any, GjPageQual *qual)
{
	const Var  *var = column_of(gj_strip_relabel(linitial(any->args)));
	Expr	   *array = gj_strip_relabel(lsecond(any->args));
	Oid			element = get_element_type(getBaseType(exprType((Node *) array)));
	Oid			family;
	GjPageTest	test;

	if (!any->useOr || var == NULL || !is_value(array) || !OidIsValid(element))
		return false;
	qual->attnum = var->varattno;
	qual->type = getBaseType(var->vartype);
	qual->value = array;
	qual->value_type = getBaseType(element);
	qual->array = true;
	if (text_equality(get_opcode(any->opno), any->inputcollid, qual->type, qual->value_type,
					  &qual->test))
		return qual->test == GJ_TEST_IN;
	family = comparison_family(qual->type, qual->value_type);
	qual->test = GJ_TEST_IN;
	return OidIsValid(family) && qual->type != NUMERICOID &&
		(qual->type == DATEOID) == (qual->value_type == DATEOID) &&
		test_of_operator(any->opno, family, &test) && test == GJ_TEST_EQ;
}

/* column TEST column */
static bool
columns_test(const OpExpr *op, const Var *left, const Var *right, GjPageQual *qual)
{
	Oid			family;
	int			scale;

	qual->attnum = left->varattno;
	qual->type = getBaseType(left->vartype);
	qual->other = right->varattno;
	qual->value_type = getBaseType(right->vartype);
	family = comparison_family(qual->type, qual->value_type);
	return OidIsValid(family) &&
		(qual->type == DATEOID) == (qual->value_type == DATEOID) &&
		test_of_operator(op->opno, family, &qual->test) &&
		(qual->type != NUMERICOID ||
		 (gj_decimal_scale(left->vartype, left->vartypmod, &qual->scale) &&
		  gj_decimal_scale(right->vartype, right->vartypmod, &scale) &&
		  qual->scale == scale));
}

bool
gj_page_qual(Expr *clause, GjPageQual *qual)
{
	OpExpr	   *op = (OpExpr *) clause;
	Expr	   *left;
	Expr	   *right;
	const Var  *var;
	Oid			family;
	bool		swapped;

	memset(qual, 0, sizeof(*qual));
	if (IsA(clause, NullTest))
		return null_test((NullTest *) clause, qual);
	if (IsA(clause, ScalarArrayOpExpr))
		return array_test((ScalarArrayOpExpr *) clause, qual);
	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	left = gj_strip_relabel(linitial(op->args));
	right = gj_strip_relabel(lsecond(op->args));
	if (column_of(left) != NULL && column_of(right) != NULL)
		return columns_test(op, column_of(left), column_of(right), qual);
	swapped = !IsA(left, Var);
	if (swapped)
	{
		Expr	   *swap = left;

		left = right;
		right = swap;
	}
	var = column_of(left);
	if (var == NULL || !is_value(right))
		return false;

	qual->attnum = var->varattno;
	qual->type = getBaseType(var->vartype);
	qual->value = right;
	qual->value_type = getBaseType(exprType((Node *) right));

	if (text_equality(get_opcode(op->opno), op->inputcollid, qual->type, qual->value_type,
					  &qual->test))
		return true;
	family = comparison_family(qual->type, qual->value_type);
	if (!OidIsValid(family) || !test_of_operator(op->opno, family, &qual->test))
		return false;
	if (swapped)
		qual->test = gj_commuted_test(qual->test);
	return qual->type != NUMERICOID ||
		gj_decimal_scale(var->vartype, var->vartypmod, &qual->scale);
}
