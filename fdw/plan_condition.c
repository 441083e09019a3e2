/*
 * plan_condition.c - conditions that the daemon evaluates.
 *
 * These are comparisons of integers, dates and timestamps, boolean columns and
 * NULL tests, connected by AND, OR and NOT.  Such conditions cannot fail and
 * depend on no setting.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "page_qual.h"
#include "plan_condition.h"

/* Of AND, OR and NOT.  Each adds two levels to the JSON document. */
#define MAX_NESTING 4

/* Both functions of this file walk a condition in the same way. */
typedef struct Writer
{
	Relids		hidden;
	int			nesting;
	StringInfo	json;			/* NULL: only check */
	GjPlaceVar	place;
	void	   *arg;
} Writer;

static bool write_condition(Writer *writer, Expr *condition);

static void
put(Writer *writer, const char *text)
{
	if (writer->json != NULL)
		appendStringInfoString(writer->json, text);
}

static Expr *
strip_relabel(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/* Returns the column that the expression reads unchanged, or NULL. */
static Var *
readable_column(const Writer *writer, Expr *expr)
{
	Var		   *var = (Var *) strip_relabel(expr);

	if (!IsA(var, Var) || var->varattno <= 0 || var->varlevelsup != 0 ||
		bms_is_member(var->varno, writer->hidden))
		return NULL;
	return var;
}

static void
write_column(Writer *writer, const Var *var)
{
	GjOutput	place;

	if (writer->json == NULL)
		return;
	place = writer->place(writer->arg, var);
	appendStringInfo(writer->json, "{\"column\":{\"input\":%d,\"column\":%d}}",
					 place.input, place.column);
}

static bool
write_constant(Writer *writer, const Const *value)
{
	int64		number;

	if (value->constisnull)
		return false;			/* such a comparison has been simplified */
	switch (value->constlen)
	{
		case 2:
			number = DatumGetInt16(value->constvalue);
			break;
		case 4:
			number = DatumGetInt32(value->constvalue);
			break;
		case 8:
			number = DatumGetInt64(value->constvalue);
			break;
		default:
			return false;
	}
	if (writer->json != NULL)
		appendStringInfo(writer->json, "{\"int\":" INT64_FORMAT "}", number);
	return true;
}

static bool
write_operand(Writer *writer, Expr *operand)
{
	Var		   *var = readable_column(writer, operand);

	if (var == NULL)
	{
		operand = strip_relabel(operand);
		return IsA(operand, Const) && write_constant(writer, (Const *) operand);
	}
	write_column(writer, var);
	return true;
}

static const char *
comparison_word(GjPageTest test)
{
	switch (test)
	{
		case GJ_TEST_LT:
			return "<";
		case GJ_TEST_LE:
			return "<=";
		case GJ_TEST_EQ:
			return "=";
		case GJ_TEST_GE:
			return ">=";
		case GJ_TEST_GT:
			return ">";
		case GJ_TEST_NE:
			return "<>";
		case GJ_TEST_IS_NULL:
		case GJ_TEST_IS_NOT_NULL:
			break;
	}
	elog(ERROR, "unexpected comparison %d", test);
}

static bool
write_comparison(Writer *writer, const OpExpr *clause)
{
	GjPageTest	test;
	Expr	   *left;
	Expr	   *right;

	if (list_length(clause->args) != 2)
		return false;
	left = linitial(clause->args);
	right = lsecond(clause->args);
	if (!gj_integer_comparison(clause->opno, getBaseType(exprType((Node *) left)),
							   getBaseType(exprType((Node *) right)), &test))
		return false;
	put(writer, "{\"compare\":\"");
	put(writer, comparison_word(test));
	put(writer, "\",\"left\":");
	if (!write_operand(writer, left))
		return false;
	put(writer, ",\"right\":");
	if (!write_operand(writer, right))
		return false;
	put(writer, "}");
	return true;
}

static bool
write_null_test(Writer *writer, const NullTest *test)
{
	Var		   *var = readable_column(writer, test->arg);

	if (var == NULL || test->argisrow)
		return false;
	if (test->nulltesttype == IS_NOT_NULL)
		put(writer, "{\"not\":");
	put(writer, "{\"is_null\":");
	write_column(writer, var);
	put(writer, "}");
	if (test->nulltesttype == IS_NOT_NULL)
		put(writer, "}");
	return true;
}

/* A boolean column is true where its byte is 1. */
static bool
write_boolean(Writer *writer, Expr *expr)
{
	Var		   *var = readable_column(writer, expr);

	if (var == NULL || getBaseType(var->vartype) != BOOLOID)
		return false;
	put(writer, "{\"compare\":\"=\",\"left\":");
	write_column(writer, var);
	put(writer, ",\"right\":{\"int\":1}}");
	return true;
}

static bool
write_list(Writer *writer, const char *word, List *args)
{
	ListCell   *lc;

	put(writer, "{\"");
	put(writer, word);
	put(writer, "\":[");
	foreach(lc, args)
	{
		if (lc != list_head(args))
			put(writer, ",");
		if (!write_condition(writer, lfirst(lc)))
			return false;
	}
	put(writer, "]}");
	return true;
}

static bool
write_logic(Writer *writer, const BoolExpr *logic)
{
	switch (logic->boolop)
	{
		case AND_EXPR:
			return write_list(writer, "and", logic->args);
		case OR_EXPR:
			return write_list(writer, "or", logic->args);
		case NOT_EXPR:
			break;
	}
	put(writer, "{\"not\":");
	if (!write_condition(writer, linitial(logic->args)))
		return false;
	put(writer, "}");
	return true;
}

static bool
write_condition(Writer *writer, Expr *condition)
{
	bool		written;

	switch (nodeTag(condition))
	{
		case T_OpExpr:
			return write_comparison(writer, (OpExpr *) condition);
		case T_NullTest:
			return write_null_test(writer, (NullTest *) condition);
		case T_Var:
		case T_RelabelType:
			return write_boolean(writer, condition);
		case T_BoolExpr:
			if (writer->nesting == MAX_NESTING)
				return false;
			writer->nesting++;
			written = write_logic(writer, (BoolExpr *) condition);
			writer->nesting--;
			return written;
		default:
			return false;
	}
}

bool
gj_can_ship(Expr *condition, Relids hidden)
{
	Writer		writer = {.hidden = hidden};

	return write_condition(&writer, condition);
}

char *
gj_residual_json(List *conditions, GjPlaceVar place, void *arg)
{
	StringInfoData json;
	Writer		writer = {.json = &json, .place = place, .arg = arg};
	bool		shippable;

	initStringInfo(&json);
	if (list_length(conditions) == 1)
		shippable = write_condition(&writer, linitial(conditions));
	else
		shippable = write_list(&writer, "and", conditions);
	if (!shippable)
		elog(ERROR, "a condition of a GpuJoin cannot be evaluated by the daemon");
	return json.data;
}
