/*
 * plan/block/grouping.c - the aggregation of a query block, as the daemon does it:
 * its keys, the columns that depend on them, and HAVING.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "plan/block/block.h"
#include "plan/input/input.h"

/* ---- keys and columns that depend on them ---- */

/*
 * The daemon reads a bpchar as text from a column without blanks, which is fed
 * to be compared and cannot be returned.  A copy can.
 */
static bool
is_bpchar_as_text(const Expr *key)
{
	while (IsA(key, RelabelType))
		key = ((const RelabelType *) key)->arg;
	return IsA(key, FuncExpr) && ((const FuncExpr *) key)->funcid == F_TEXT_BPCHAR;
}

/* A numeric column whose values have scales of their own is read as a value. */
static bool
is_unscaled(const Var *column)
{
	int			scale;

	return getBaseType(column->vartype) == NUMERICOID &&
		!gj_decimal_scale(column->vartype, column->vartypmod, &scale);
}

/* A key that is a column, as it is fed. */
static GjReject
add_column_key(GjAggregation *a, const Var *fed, GjColumn *column)
{
	GjExpr	   *value = gj_translate_payload(&a->translator, fed, true);

	if (value == NULL || !gj_describe_type(column, fed->vartype, fed->vartypmod, fed->varcollid))
		return GJ_REJECT_GROUP_KEY;
	a->rows.keys = lappend(a->rows.keys, value);
	return GJ_ACCEPTED;
}

/* *computed is set to the value of a key that is not a column as it is fed. */
static GjReject
add_key(GjAggregation *a, const SortGroupClause *clause, Expr *key, GjExpr **computed)
{
	const char *encoding = gj_encoding_word();
	GjColumn   *column;
	Var		   *fed = gj_column(a->translator.root, key);
	GjExpr	   *value;

	if (fed != NULL)
		key = (Expr *) fed;
	if (!gj_groups_by_bytes(clause, key))
		return GJ_REJECT_GROUP_KEY;
	column = gj_add_column(a);
	if (fed != NULL && !is_unscaled(fed))
		return add_column_key(a, fed, column);
	/* computed values of type bpchar have no blanks */
	if (getBaseType(exprType((Node *) key)) == BPCHAROID ||
		(value = gj_translate_value(&a->translator, key)) == NULL)
		return GJ_REJECT_GROUP_KEY;
	if (is_bpchar_as_text(key))
	{
		if (encoding == NULL)
			return GJ_REJECT_GROUP_KEY;
		value = gj_substring(value, 1, -1, encoding);
	}
	if (value->kind == GJ_KIND_DECIMAL)
	{
		/* a key has at most 8 bytes: a larger number is an arithmetic error */
		value = gj_to_width(value, Min(value->width, 8));
		gj_describe_integer(column, value->width);
		column->scale = value->scale;
	}
	else
	{
		if (!gj_describe_type(column, exprType((Node *) key), exprTypmod((Node *) key),
							  exprCollation((Node *) key)))
			return GJ_REJECT_GROUP_KEY;
		value = gj_to_width(value, column->width);
	}
	*computed = value;
	a->rows.keys = lappend(a->rows.keys, value);
	return GJ_ACCEPTED;
}

static bool
add_carried(GjAggregation *a, const Var *var)
{
	GjColumn   *column = gj_add_column(a);
	GjExpr	   *value = gj_translate_payload(&a->translator, var, false);

	if (value == NULL ||
		!gj_describe_type(column, var->vartype, var->vartypmod, var->varcollid))
		return false;
	a->rows.carry = lappend(a->rows.carry, value);
	return true;
}

/* Keys are shown with the scale that all rows of the group have. */
static bool
add_key_scales(GjAggregation *a, GjExpr **values)
{
	const GjGrouping *grouping = a->grouping;
	ListCell   *lc;

	foreach(lc, grouping->keys)
	{
		int			at = foreach_current_index(lc);
		int			least;
		int			largest;

		if (values[at] == NULL || values[at]->display_scale == NULL ||
			!gj_is_shown(a->translator.root, grouping->having, lfirst(lc)))
			continue;
		least = gj_scale_column(a, "min", values[at], NULL);
		largest = gj_scale_column(a, "max", values[at], NULL);
		if (!gj_add_check(a, (GjCheck) {.first = least, .second = largest, .key = at}, lfirst(lc)))
			return false;
		for (int i = 0; i < a->result->nresults; i++)
			if (equal(list_nth(grouping->leaves, i), lfirst(lc)))
				a->result->results[i].display_scale = largest;
	}
	return true;
}

/* ---- HAVING ---- */

/* A column of the result; NULL if it cannot be compared as it returns. */
static GjExpr *
result_value(const GjAggregation *a, const GjResult *result, Oid type)
{
	const GjColumn *column = &a->result->columns[result->column];
	bool		decimal = column->form == GJ_FORM_DECIMAL;
	GjExpr	   *value;

	/* the daemon compares what it returns: a finished value only if it is equal */
	if (result->finish > GJ_FINISH_NUMERIC || result->display_scale >= 0)
		return NULL;
	value = gj_result_column(a->source, result->column, decimal);

	/* comparisons of bpchar ignore blanks, which groups keep */
	if (!gj_describe_value(type, value) ||
		(OidIsValid(column->type) && getBaseType(column->type) == BPCHAROID))
		return NULL;
	if (value->kind != GJ_KIND_TEXT)
		value->width = column->width;
	value->scale = decimal ? column->scale : result->scale;
	return value;
}

static bool
having_leaf(void *arg, Expr *expr, GjExpr **value)
{
	const GjAggregation *a = arg;
	ListCell   *lc;

	foreach(lc, a->grouping->leaves)
		if (equal(lfirst(lc), expr))
		{
			*value = result_value(a, &a->result->results[foreach_current_index(lc)],
								  exprType((Node *) expr));
			return true;
		}
	/* columns below the aggregation are out of its scope */
	*value = NULL;
	return IsA(expr, Var) || IsA(expr, PlaceHolderVar) || IsA(expr, Aggref);
}

/* A HAVING that cannot be translated is evaluated on the groups that return. */
static void
add_having(GjAggregation *a)
{
	GjTranslator t = {
		.root = a->translator.root,
		.leaf = having_leaf,
		.leaf_arg = a,
		.leaves = a->translator.leaves,
	};
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, a->grouping->having)
	{
		GjExpr	   *condition = gj_translate_condition(&t, lfirst(lc));

		if (condition == NULL)
			break;
		conditions = lappend(conditions, condition);
	}
	if (conditions != NIL && lc == NULL)
		a->having = gj_conjunction(conditions);
	a->translator.leaves = t.leaves;
}

/* ---- the aggregation ---- */

/* Finds the results of the keys, and adds the columns that depend on them. */
static GjReject
add_columns(GjAggregation *a)
{
	GjAggregate *result = a->result;
	ListCell   *lc;
	ListCell   *key;

	foreach(lc, a->grouping->leaves)
	{
		GjResult   *r = &result->results[foreach_current_index(lc)];
		const Var  *column = gj_column(a->translator.root, lfirst(lc));
		int			at = 0;

		r->display_scale = r->count = r->squares = -1;
		foreach(key, a->grouping->keys)
		{
			if (equal(lfirst(key), lfirst(lc)))
				break;
			at++;
		}
		if (key != NULL)
		{
			r->column = at;
			if (result->columns[at].form == GJ_FORM_INTEGER)
			{
				r->finish = GJ_FINISH_NUMERIC;
				r->scale = result->columns[at].scale;
			}
		}
		else if (column != NULL)
		{
			r->column = result->ncolumns;
			if (!add_carried(a, column))
				return GJ_REJECT_COLUMN_TYPE;
		}
	}
	return GJ_ACCEPTED;
}

static GjReject
translate(GjAggregation *a)
{
	const GjGrouping *grouping = a->grouping;
	GjAggregate *result = a->result;
	int			n = list_length(grouping->leaves);
	GjExpr	  **values = palloc0((list_length(grouping->keys) + 1) * sizeof(GjExpr *));
	GjReject	reject;
	ListCell   *key;
	ListCell   *clause;
	ListCell   *lc;

	/* a key takes two scales, an average of distinct values five columns */
	result->columns = palloc0((3 * list_length(grouping->keys) + 5 * n + 1) * sizeof(GjColumn));
	result->results = palloc0((n + 1) * sizeof(GjResult));
	result->nkeys = list_length(grouping->keys);
	result->nresults = n;

	forboth(key, grouping->keys, clause, grouping->clauses)
	{
		reject = add_key(a, lfirst(clause), lfirst(key), &values[foreach_current_index(key)]);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	reject = add_columns(a);
	if (reject != GJ_ACCEPTED)
		return reject;
	if (!add_key_scales(a, values))
		return GJ_REJECT_GROUP_KEY;
	foreach(lc, grouping->leaves)
	{
		if (!IsA(lfirst(lc), Aggref))
			continue;
		reject = gj_add_function(a, lfirst(lc), &result->results[foreach_current_index(lc)]);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	if (grouping->sets != NIL)
		return gj_add_grouping_sets(a);
	a->check = gj_check_condition(a, a->source);
	add_having(a);
	return GJ_ACCEPTED;
}

GjReject
gj_translate_aggregation(PlannerInfo *root, const GjTree *tree, const GjGrouping *grouping,
						 GjAggregation *a)
{
	GjReject	reject;

	*a = (GjAggregation)
	{
		.translator = {.root = root, .tree = tree},
		.grouping = grouping,
		.result = palloc0(sizeof(GjAggregate)),
		.source = tree->ninputs,
	};
	reject = translate(a);
	return reject != GJ_ACCEPTED && a->translator.met_hidden ? GJ_REJECT_HIDDEN : reject;
}

/* The condition on the groups.  The check comes first: HAVING must not hide a group that fails. */
static GjExpr *
group_filter(const GjAggregation *a)
{
	if (a->check != NULL && a->having != NULL)
		return gj_both(a->check, a->having);
	return a->check != NULL ? a->check : a->having;
}

/* ---- its size ---- */

/* Of texts around an expression: of a key or carried column, and of a function. */
#define ITEM_BYTES 32
#define FUNCTION_BYTES 64

static void
measure_function(const GjExpr *expr, int *levels, int *bytes)
{
	if (expr == NULL)
		return;
	*levels = Max(*levels, 2 + expr->levels);
	*bytes += expr->bytes;
}

/* The node is above those of *size. */
static void
add_members(GjTreeSize *size, const GjMembers *members)
{
	int			levels = members->functions != NIL || members->carry != NIL ? 2 : 1;
	int			bytes = ITEM_BYTES * (list_length(members->keys) + list_length(members->carry)) +
		FUNCTION_BYTES * list_length(members->functions);
	ListCell   *lc;

	foreach(lc, members->keys)
	{
		const GjExpr *key = lfirst(lc);

		levels = Max(levels, 1 + key->levels);
		bytes += key->bytes;
	}
	foreach(lc, members->functions)
	{
		const GjFunction *function = lfirst(lc);

		measure_function(function->arg, &levels, &bytes);
		measure_function(function->filter, &levels, &bytes);
	}
	gj_add_above(size, levels, bytes);
}

static void
add_filter(GjTreeSize *size, const GjExpr *condition)
{
	if (condition != NULL)
		gj_add_above(size, condition->levels, condition->bytes);
}

bool
gj_aggregation_fits(const GjAggregation *a, const GjTree *tree)
{
	GjTreeSize	size = tree->whole_size;

	add_members(&size, &a->rows);
	if (a->result->sets != NIL)
	{
		/* the join with the sets: "keys": [{"left": {}}] */
		gj_add_above(&size, 3, ITEM_BYTES);
		add_filter(&size, a->set_filter);
		add_members(&size, &a->combined);
	}
	add_filter(&size, group_filter(a));
	size.parameters += gj_count_parameters(a->translator.leaves);
	return gj_size_fits(&size);
}

/* ---- its text ---- */

static void
append_function(StringInfo json, const GjFunction *function)
{
	appendStringInfo(json, "{\"fn\":\"%s\"", function->name);
	if (function->arg != NULL)
	{
		appendStringInfoString(json, ",\"arg\":");
		gj_append_expr(json, function->arg);
	}
	if (function->distinct)
		appendStringInfoString(json, ",\"distinct\":true");
	if (function->filter != NULL)
	{
		appendStringInfoString(json, ",\"filter\":");
		gj_append_expr(json, function->filter);
	}
	appendStringInfoChar(json, '}');
}

static char *
write_members(const GjMembers *members)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	appendStringInfoString(&json, "\"keys\":[");
	foreach(lc, members->keys)
	{
		appendStringInfoString(&json, foreach_current_index(lc) > 0 ? "," : "");
		gj_append_expr(&json, lfirst(lc));
	}
	appendStringInfoString(&json, "],\"carry\":[");
	foreach(lc, members->carry)
	{
		appendStringInfoString(&json, foreach_current_index(lc) > 0 ? "," : "");
		gj_append_reference(&json, ((const GjExpr *) lfirst(lc))->leaf->place);
	}
	appendStringInfoString(&json, "],\"functions\":[");
	foreach(lc, members->functions)
	{
		appendStringInfoString(&json, foreach_current_index(lc) > 0 ? "," : "");
		append_function(&json, lfirst(lc));
	}
	appendStringInfoChar(&json, ']');
	return json.data;
}

static char *
write_filter(const GjExpr *condition)
{
	return condition != NULL ? gj_write_expr(condition) : NULL;
}

GjAggregate *
gj_write_aggregation(GjInputs *inputs, const GjAggregation *a)
{
	GjAggregate *result = palloc(sizeof(GjAggregate));

	*result = *a->result;
	gj_place_leaves(inputs, a->translator.leaves);
	if (result->sets != NIL)
	{
		result->finest = write_members(&a->rows);
		result->set_filter = write_filter(a->set_filter);
	}
	result->members = write_members(result->sets != NIL ? &a->combined : &a->rows);
	result->filter = write_filter(group_filter(a));
	return result;
}
