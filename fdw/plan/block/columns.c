/*
 * plan/block/columns.c - columns of an aggregation, and which one of equal values PostgreSQL shows.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "numeric/decimal.h"
#include "options.h"
#include "plan/block/block.h"
#include "plan/join/clauses.h"

/* ---- columns of the daemon's result of an aggregation ---- */

GjColumn *
gj_add_column(GjAggregation *a)
{
	GjColumn   *column = &a->result->columns[a->result->ncolumns++];

	memset(column, 0, sizeof(*column));
	return column;
}

void
gj_describe_integer(GjColumn *column, int width)
{
	column->form = GJ_FORM_INTEGER;
	column->encoding = GJ_ENC_FIXED;
	column->width = width;
	column->align = Min(width, 8);
	column->avg_width = width;
}

bool
gj_describe_type(GjColumn *column, Oid type, int32 typmod, Oid collation)
{
	if (!gj_describe_payload(type, typmod, column))
		return false;
	column->type = type;
	column->typmod = typmod;
	column->collation = collation;
	column->avg_width = get_typavgwidth(type, typmod);
	return true;
}

int
gj_function_column(GjAggregation *a, const char *name, GjExpr *arg, GjExpr *filter,
				   bool distinct, int width)
{
	int			first = a->result->ncolumns - list_length(a->rows.functions);
	GjFunction *function;
	ListCell   *lc;

	foreach(lc, a->rows.functions)
	{
		function = lfirst(lc);
		if (strcmp(function->name, name) == 0 && function->distinct == distinct &&
			gj_same_expr(function->arg, arg) && gj_same_expr(function->filter, filter))
			return first + foreach_current_index(lc);
	}
	function = palloc(sizeof(GjFunction));
	*function = (GjFunction)
	{
		.name = name, .arg = arg, .filter = filter, .distinct = distinct
	};
	a->rows.functions = lappend(a->rows.functions, function);
	gj_describe_integer(gj_add_column(a), width);
	return a->result->ncolumns - 1;
}

bool
gj_groups_by_bytes(const SortGroupClause *clause, const Expr *key)
{
	Oid			type = exprType((const Node *) key);
	const GjOperator *op;

	if (getBaseType(type) == BOOLOID)
		return clause->eqop == BooleanEqualOperator;
	op = gj_find_operator(clause->eqop, exprCollation((const Node *) key));
	if (op == NULL)
		return false;
	switch (op->kind)
	{
		case GJ_KEY_NUMERIC:
			/* as decimals of one scale; how they look is checked (plan/block/columns.c) */
			return true;
		case GJ_KEY_BPCHAR:
			/* values are padded to one length */
			return exprTypmod((const Node *) key) >= 0;
		default:
			return gj_equal_by_bytes(op->kind);
	}
}

/* ---- which one of equal numerics PostgreSQL shows ---- */

/*
 * 1.0 and 1.00 are equal and look different.  Of such values PostgreSQL shows
 * one that depends on the order of the rows.  A check of the groups ends the
 * job before its first row if there is more than one to choose from.
 */

/* ---- columns ---- */

int
gj_scale_column(GjAggregation *a, const char *name, GjExpr *arg, GjExpr *filter)
{
	GjExpr	   *known = gj_not(gj_is_null(arg));

	return gj_function_column(a, name, gj_call("+", 4, arg->display_scale, gj_int(0)),
							  filter != NULL ? gj_both(filter, known) : known, false, 4);
}

/* A number that does not fit is an arithmetic error. */
GjExpr *
gj_packed(GjExpr *arg, const char *operator)
{
	return gj_call(operator, 8, gj_call("*", 8, arg, gj_int(GJ_PACKED_FACTOR)),
				   arg->display_scale);
}

/* ---- checks ---- */

bool
gj_add_check(GjAggregation *a, GjCheck check, const Expr *expr)
{
	GjCheck    *copy = palloc(sizeof(GjCheck));

	*copy = check;
	a->checks = lappend(a->checks, copy);
	return gj_debug_force || gj_looks_alike(a->translator.root, expr);
}

/*
 * One extreme is value * factor + scale, the other one value * factor - scale,
 * and each scale is less than the factor.  So the factor's double
 * divides their sum only if the scales are equal.
 */
static GjExpr *
differ(const GjCheck *check, int input)
{
	GjExpr	   *first = gj_result_column(input, check->first, false);
	GjExpr	   *second = gj_result_column(input, check->second, false);
	GjExpr	   *result;

	if (check->packed)
	{
		first = gj_call("%", 16, gj_call("+", 16, first, second), gj_int(2 * GJ_PACKED_FACTOR));
		second = gj_int(0);
	}
	result = gj_compare(GJ_TEST_NE, first, second);
	if (check->key < 0)
		return result;
	return gj_both(gj_not(gj_is_null(gj_result_column(input, check->key, false))), result);
}

GjExpr *
gj_check_condition(const GjAggregation *a, int input)
{
	List	   *any = NIL;
	ListCell   *lc;

	if (a->checks == NIL)
		return NULL;
	foreach(lc, a->checks)
		any = lappend(any, differ(lfirst(lc), input));

	/* a division by zero */
	return gj_compare(GJ_TEST_EQ,
					  gj_call("/", 8, gj_int(1),
							  gj_choice(gj_junction(GJ_EXPR_OR, any), gj_int(0), gj_int(1))),
					  gj_int(1));
}

/* ---- what is shown ---- */

static bool
reads(Node *node, void *key)
{
	if (node == NULL || IsA(node, Aggref) || IsA(node, GroupingFunc))
		return false;
	return equal(node, key) || expression_tree_walker(node, reads, key);
}

bool
gj_is_shown(const PlannerInfo *root, const List *having, const Expr *key)
{
	ListCell   *lc;

	/* the comparison with the native plan's rows sees all columns */
	if (gj_verify || reads((Node *) having, unconstify(Expr *, key)))
		return true;
	foreach(lc, root->processed_tlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);

		/* rows are sorted by it, or only grouped: by its value */
		if (entry->resjunk && equal(entry->expr, key))
			continue;
		if (reads((Node *) entry->expr, unconstify(Expr *, key)))
			return true;
	}
	return false;
}
