/*
 * plan/block/column.c - columns of the daemon's result of an aggregation.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "plan/block/block.h"
#include "plan/join/keys.h"

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
			/* as decimals of one scale; how they look is checked (plan/block/display_scale.c) */
			return true;
		case GJ_KEY_BPCHAR:
			/* values are padded to one length */
			return exprTypmod((const Node *) key) >= 0;
		default:
			return gj_equal_by_bytes(op->kind);
	}
}
