/*
 * plan/block/grouping.c - the aggregation of a query block, as the daemon does it:
 * its keys, the columns that depend on them, and HAVING.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "plan/block/display_scale.h"
#include "plan/block/functions.h"
#include "plan/block/grouping.h"
#include "plan/block/grouping_sets.h"
#include "plan/expr/functions.h"
#include "plan/expr/leaf.h"
#include "plan/input/computed.h"

/* ---- keys and columns that depend on them ---- */

/* A column as it is returned, or NULL if no row has it. */
static char *
plain_column(GjAggregation *a, const Var *var, bool is_key)
{
	GjOutput	place;

	var = gj_visible_column(&a->translator, var);
	if (var == NULL)
		return NULL;
	place.input = var->varno;
	place.column = var->varattno;

	if (a->translator.inputs != NULL)
		place = gj_need_column(a->translator.inputs, var, gj_payload_form(var), is_key);
	return gj_reference_json(place);
}

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

/* *value is filled in if the key is computed. */
static GjReject
add_key(GjAggregation *a, const SortGroupClause *clause, Expr *key, GjValueJson *value)
{
	GjColumn   *column;
	Var		   *fed = gj_column(a->translator.root, key);

	if (fed != NULL)
		key = (Expr *) fed;
	if (!gj_groups_by_bytes(clause, key))
		return GJ_REJECT_GROUP_KEY;
	column = gj_add_column(a);
	if (fed != NULL && !is_unscaled(fed))
	{
		char	   *json = plain_column(a, fed, true);

		if (json == NULL ||
			!gj_describe_type(column, fed->vartype, fed->vartypmod, fed->varcollid))
			return GJ_REJECT_GROUP_KEY;
		gj_append_item(&a->keys_json, psprintf("{\"column\":%s}", json));
		return GJ_ACCEPTED;
	}
	/* computed values of type bpchar have no blanks */
	if (getBaseType(exprType((Node *) key)) == BPCHAROID ||
		!gj_translate_value(&a->translator, key, value))
		return GJ_REJECT_GROUP_KEY;
	if (is_bpchar_as_text(key) && !gj_substring(value, 1, -1))
		return GJ_REJECT_GROUP_KEY;
	if (value->kind == GJ_KIND_DECIMAL)
	{
		/* a key has at most 8 bytes: a larger number is an arithmetic error */
		gj_set_width(value, Min(value->width, 8));
		gj_describe_integer(column, value->width);
		column->scale = value->scale;
	}
	else
	{
		if (!gj_describe_type(column, exprType((Node *) key), exprTypmod((Node *) key),
						   exprCollation((Node *) key)))
			return GJ_REJECT_GROUP_KEY;
		gj_set_width(value, column->width);
	}
	gj_append_item(&a->keys_json, value->json);
	return GJ_ACCEPTED;
}

static bool
add_carried(GjAggregation *a, const Var *var)
{
	GjColumn   *column = gj_add_column(a);
	char	   *json = plain_column(a, var, false);

	if (json == NULL ||
		!gj_describe_type(column, var->vartype, var->vartypmod, var->varcollid))
		return false;
	gj_append_item(&a->carry_json, json);
	return true;
}

/* Keys are shown with the scale that all rows of the group have. */
static bool
add_key_scales(GjAggregation *a, const GjGrouping *grouping, const GjValueJson *values)
{
	ListCell   *lc;

	foreach(lc, a->keys)
	{
		int			at = foreach_current_index(lc);
		int			least;
		int			largest;

		if (values[at].display_scale == NULL ||
			!gj_is_shown(a->translator.root, grouping->having, lfirst(lc)))
			continue;
		least = gj_scale_column(a, "min", &values[at], NULL);
		largest = gj_scale_column(a, "max", &values[at], NULL);
		if (!gj_add_check(a, (GjCheck) {.first = least, .second = largest, .key = at}, lfirst(lc)))
			return false;
		for (int i = 0; i < a->result->nresults; i++)
			if (equal(list_nth(a->leaves, i), lfirst(lc)))
				a->result->results[i].display_scale = largest;
	}
	return true;
}

/* ---- HAVING ---- */

/* The daemon compares what it returns, so a finished value only if it is equal. */
static bool
having_leaf(void *arg, Expr *expr, GjValueJson *value, bool *ok)
{
	GjAggregation *a = arg;
	ListCell   *lc;

	foreach(lc, a->leaves)
	{
		const GjResult *result = &a->result->results[foreach_current_index(lc)];
		const GjColumn *column = &a->result->columns[result->column];
		GjOutput	place = {.input = a->source, .column = result->column};

		if (!equal(lfirst(lc), expr))
			continue;
		*ok = result->finish <= GJ_FINISH_NUMERIC && result->display_scale < 0 &&
			gj_describe_value(exprType((Node *) expr), value);
		if (!*ok)
			return true;
		/* comparisons of bpchar ignore blanks, which groups keep */
		if (OidIsValid(column->type) && getBaseType(column->type) == BPCHAROID)
			*ok = false;
		if (value->kind != GJ_KIND_TEXT)
			value->width = column->width;
		value->scale = column->form == GJ_FORM_DECIMAL ? column->scale : result->scale;
		value->json = psprintf(column->form == GJ_FORM_DECIMAL ? "{\"decimal\":%s}" : "{\"column\":%s}",
							   gj_reference_json(place));
		return true;
	}
	/* columns below the aggregation are out of its scope */
	*ok = false;
	return IsA(expr, Var) || IsA(expr, PlaceHolderVar) || IsA(expr, Aggref);
}

static void
add_having(GjAggregation *a, List *having)
{
	GjTranslator t = {
		.methods = &gj_translator_methods,
		.root = a->translator.root,
		.inputs = a->translator.inputs,
		.leaf = having_leaf,
		.leaf_arg = a,
	};

	/* what cannot be translated is evaluated on the groups that return */
	if (having != NIL)
		a->result->having = gj_translate_conditions(&t, having);
}

static GjReject
translate(GjAggregation *a, const GjGrouping *grouping)
{
	GjAggregate *result = a->result;
	List	   *keys = a->keys;
	List	   *leaves = a->leaves;
	int			n = list_length(leaves);
	GjValueJson *values;
	GjReject	reject;
	ListCell   *key;
	ListCell   *clause;
	ListCell   *lc;

	initStringInfo(&a->keys_json);
	initStringInfo(&a->carry_json);
	initStringInfo(&a->functions_json);

	/* a key takes two scales, an average of distinct values five columns */
	result->columns = palloc0((3 * list_length(keys) + 5 * n + 1) * sizeof(GjColumn));
	values = palloc0(list_length(keys) * sizeof(GjValueJson));
	result->results = palloc0((n + 1) * sizeof(GjResult));
	result->nkeys = list_length(keys);
	result->nresults = n;

	forboth(key, keys, clause, grouping->clauses)
	{
		reject = add_key(a, lfirst(clause), lfirst(key), &values[foreach_current_index(key)]);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	foreach(lc, leaves)
	{
		GjResult   *r = &result->results[foreach_current_index(lc)];
		const Var  *column = gj_column(a->translator.root, lfirst(lc));
		int			at = 0;

		r->display_scale = r->count = r->squares = -1;
		foreach(key, keys)
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
	if (!add_key_scales(a, grouping, values))
		return GJ_REJECT_GROUP_KEY;
	foreach(lc, leaves)
	{
		if (!IsA(lfirst(lc), Aggref))
			continue;
		reject = gj_add_function(a, lfirst(lc), &result->results[foreach_current_index(lc)]);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	if (grouping->sets != NIL)
		return gj_add_grouping_sets(a, grouping);
	result->check = gj_check_text(a, a->source);
	add_having(a, grouping->having);
	result->members = psprintf("\"keys\":[%s],\"carry\":[%s],\"functions\":[%s]",
							   a->keys_json.data, a->carry_json.data, a->functions_json.data);
	return GJ_ACCEPTED;
}

GjReject
gj_translate_aggregation(PlannerInfo *root, GjInputs *inputs, const GjTree *tree,
						 int ninputs, const GjGrouping *grouping, GjAggregate *result)
{
	GjAggregation a = {
		.translator = {
			.methods = &gj_translator_methods,
			.root = root,
			.inputs = inputs,
			.tree = tree,
		},
		.result = result,
		.source = ninputs,
		.leaves = grouping->leaves,
		.keys = grouping->keys,
	};
	GjReject	reject = translate(&a, grouping);

	return reject != GJ_ACCEPTED && a.translator.met_hidden ? GJ_REJECT_HIDDEN : reject;
}
