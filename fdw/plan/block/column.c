/*
 * plan/block/column.c - columns of the daemon's result of an aggregation.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "job/job.h"
#include "plan/block/column.h"
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

void
gj_append_item(StringInfo list, const char *item)
{
	if (list->len > 0)
		appendStringInfoChar(list, ',');
	appendStringInfoString(list, item);
}

int
gj_function_column(GjAggregation *a, const char *name, const char *arg, const char *filter,
				   bool distinct, int width)
{
	StringInfoData json;
	GjFunction *function;
	int			first = a->result->ncolumns - list_length(a->functions);
	ListCell   *lc;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"fn\":\"%s\"", name);
	if (arg != NULL)
		appendStringInfo(&json, ",\"arg\":%s", arg);
	if (distinct)
		appendStringInfoString(&json, ",\"distinct\":true");
	if (filter != NULL)
		appendStringInfo(&json, ",\"filter\":%s", filter);
	appendStringInfoChar(&json, '}');

	foreach(lc, a->functions)
		if (strcmp(((const GjFunction *) lfirst(lc))->json, json.data) == 0)
			return first + foreach_current_index(lc);
	gj_append_item(&a->functions_json, json.data);
	function = palloc(sizeof(GjFunction));
	*function = (GjFunction)
	{
		.name = name, .distinct = distinct, .json = json.data
	};
	a->functions = lappend(a->functions, function);
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
			/* as decimals of one scale; how they look is checked (plan/block/display_scale.h) */
			return true;
		case GJ_KEY_BPCHAR:
			/* values are padded to one length */
			return exprTypmod((const Node *) key) >= 0;
		default:
			return gj_equal_by_bytes(op->kind);
	}
}
