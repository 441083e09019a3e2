/*
 * plan_aggregate.c - the aggregation of a query block, as the daemon does it.
 *
 * The daemon counts, sums integers in 128 bits, and finds extremes.  What
 * PostgreSQL makes of these, with its display scale, is decided here and done
 * by result_finish.c.  An aggregate over floats depends on the order of its
 * input and is not translated.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "columns.h"
#include "plan_aggregate.h"
#include "plan_operators.h"
#include "plan_value_leaf.h"

/* ---- columns of the daemon's result ---- */

static GjColumn *
add_column(GjAggregation *a)
{
	GjColumn   *column = &a->result->columns[a->result->ncolumns++];

	memset(column, 0, sizeof(*column));
	return column;
}

static void
describe_integer(GjColumn *column, int width)
{
	column->form = GJ_FORM_INTEGER;
	column->encoding = GJ_ENC_FIXED;
	column->width = width;
	column->align = Min(width, 8);
	column->avg_width = width;
}

/* A column that returns values of this type as they are fed. */
static bool
describe_type(GjColumn *column, Oid type, int32 typmod, Oid collation)
{
	if (!gj_describe_payload(type, typmod, column))
		return false;
	column->type = type;
	column->typmod = typmod;
	column->collation = collation;
	column->avg_width = get_typavgwidth(type, typmod);
	return true;
}

static void
append_item(StringInfo list, const char *item)
{
	if (list->len > 0)
		appendStringInfoChar(list, ',');
	appendStringInfoString(list, item);
}

/* ---- keys and columns that depend on them ---- */

/* Does equality in GROUP BY mean equal bytes in the column? */
static bool
groups_by_bytes(const SortGroupClause *clause, const Expr *key)
{
	Oid			type = exprType((const Node *) key);
	const GjOperator *op;
	int			scale;

	if (getBaseType(type) == BOOLOID)
		return clause->eqop == BooleanEqualOperator;
	op = gj_find_operator(clause->eqop, exprCollation((const Node *) key));
	if (op == NULL)
		return false;
	switch (op->kind)
	{
		case GJ_KEY_NUMERIC:
			/* 1.0 and 1.00 are one group, shown as the first one met */
			return gj_decimal_scale(type, exprTypmod((const Node *) key), &scale) ||
				!IsA(key, Var);
		case GJ_KEY_BPCHAR:
			/* values are padded to one length */
			return exprTypmod((const Node *) key) >= 0;
		default:
			return true;
	}
}

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

static GjReject
add_key(GjAggregation *a, const SortGroupClause *clause, Expr *key)
{
	GjColumn   *column;
	GjValueJson value;

	if (!groups_by_bytes(clause, key))
		return GJ_REJECT_GROUP_KEY;
	column = add_column(a);
	if (IsA(key, Var))
	{
		const Var  *var = (const Var *) key;
		char	   *json = plain_column(a, var, true);

		if (json == NULL ||
			!describe_type(column, var->vartype, var->vartypmod, var->varcollid))
			return GJ_REJECT_GROUP_KEY;
		append_item(&a->keys_json, psprintf("{\"column\":%s}", json));
		return GJ_ACCEPTED;
	}
	/* computed values of type bpchar have no blanks */
	if (getBaseType(exprType((Node *) key)) == BPCHAROID ||
		!gj_translate_value(&a->translator, key, &value) || value.width == 16 ||
		value.display_scale != NULL)
		return GJ_REJECT_GROUP_KEY;
	if (value.kind == GJ_KIND_DECIMAL)
	{
		describe_integer(column, value.width);
		column->scale = value.scale;
	}
	else
	{
		if (!describe_type(column, exprType((Node *) key), exprTypmod((Node *) key),
						   exprCollation((Node *) key)))
			return GJ_REJECT_GROUP_KEY;
		gj_set_width(&value, column->width);
	}
	append_item(&a->keys_json, value.json);
	return GJ_ACCEPTED;
}

static bool
add_carried(GjAggregation *a, const Var *var)
{
	GjColumn   *column = add_column(a);
	char	   *json = plain_column(a, var, false);

	if (json == NULL ||
		!describe_type(column, var->vartype, var->vartypmod, var->varcollid))
		return false;
	append_item(&a->carry_json, json);
	return true;
}

/* ---- functions ---- */

/*
 * Returns the column of the daemon's result with this function, and adds it
 * if necessary.
 */
static int
function_column(GjAggregation *a, const char *name, const char *arg, const char *filter,
				bool distinct, int width)
{
	StringInfoData json;
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
		if (strcmp(lfirst(lc), json.data) == 0)
			return first + foreach_current_index(lc);
	append_item(&a->functions_json, json.data);
	a->functions = lappend(a->functions, json.data);
	describe_integer(add_column(a), width);
	return a->result->ncolumns - 1;
}

/* The largest display scale of the values that are not NULL. */
static int
scale_column(GjAggregation *a, const GjValueJson *arg, const char *filter)
{
	char	   *known = psprintf("{\"not\":{\"is_null\":%s}}", arg->json);
	GjValueJson scale = {.json = arg->display_scale, .kind = GJ_KIND_INT};

	if (arg->display_scale == NULL)
		return -1;
	gj_set_width(&scale, 4);
	if (filter != NULL)
		known = psprintf("{\"and\":[%s,%s]}", filter, known);
	return function_column(a, "max", scale.json, known, false, scale.width);
}

static GjReject
add_extreme(GjAggregation *a, const Aggref *aggref, const char *name, GjValueJson *arg,
			const char *filter, GjResult *result)
{
	Oid			type = getBaseType(aggref->aggtype);

	if (arg->kind == GJ_KIND_INT)
		gj_set_width(arg, get_typlen(type));

	if (arg->kind == GJ_KIND_TEXT &&
		(type == BPCHAROID || !OidIsValid(aggref->inputcollid) || !lc_collate_is_c(aggref->inputcollid)))
		return GJ_REJECT_AGGREGATE;
	if (arg->display_scale != NULL)
		return GJ_REJECT_AGGREGATE; /* of equal values, which is shown? */
	result->column = function_column(a, name, arg->json, filter, false, Max(arg->width, 1));
	if (arg->kind == GJ_KIND_DECIMAL)
	{
		result->finish = GJ_FINISH_NUMERIC;
		result->scale = arg->scale;
	}
	else if (!describe_type(&a->result->columns[result->column], aggref->aggtype, -1,
							aggref->aggcollid))
		return GJ_REJECT_AGGREGATE;
	return GJ_ACCEPTED;
}

static void
add_sum(GjAggregation *a, const GjValueJson *arg, const char *filter, bool distinct,
		GjFinish finish, GjResult *result)
{
	result->finish = finish;
	result->column = function_column(a, "sum", arg->json, filter, distinct, 16);
	result->scale = arg->scale;
	result->display_scale = scale_column(a, arg, filter);
}

/* What the daemon computes for an aggregate function of one argument. */
typedef enum Computation
{
	COMPUTE_NOTHING,
	COMPUTE_COUNT,
	COMPUTE_SUM,
	COMPUTE_AVERAGE,
	COMPUTE_MIN,
	COMPUTE_MAX,
	COMPUTE_AND,
	COMPUTE_OR
} Computation;

static const struct
{
	Oid			function;
	Computation computation;
}			computations[] =
{
	{F_COUNT_ANY, COMPUTE_COUNT},
	{F_SUM_INT2, COMPUTE_SUM}, {F_SUM_INT4, COMPUTE_SUM},
	{F_SUM_INT8, COMPUTE_SUM}, {F_SUM_NUMERIC, COMPUTE_SUM},
	{F_AVG_INT2, COMPUTE_AVERAGE}, {F_AVG_INT4, COMPUTE_AVERAGE},
	{F_AVG_INT8, COMPUTE_AVERAGE}, {F_AVG_NUMERIC, COMPUTE_AVERAGE},
	{F_MIN_INT2, COMPUTE_MIN}, {F_MAX_INT2, COMPUTE_MAX},
	{F_MIN_INT4, COMPUTE_MIN}, {F_MAX_INT4, COMPUTE_MAX},
	{F_MIN_INT8, COMPUTE_MIN}, {F_MAX_INT8, COMPUTE_MAX},
	{F_MIN_DATE, COMPUTE_MIN}, {F_MAX_DATE, COMPUTE_MAX},
	{F_MIN_TIMESTAMP, COMPUTE_MIN}, {F_MAX_TIMESTAMP, COMPUTE_MAX},
	{F_MIN_TIMESTAMPTZ, COMPUTE_MIN}, {F_MAX_TIMESTAMPTZ, COMPUTE_MAX},
	{F_MIN_NUMERIC, COMPUTE_MIN}, {F_MAX_NUMERIC, COMPUTE_MAX},
	{F_MIN_TEXT, COMPUTE_MIN}, {F_MAX_TEXT, COMPUTE_MAX},
	{F_BOOL_AND, COMPUTE_AND}, {F_EVERY, COMPUTE_AND}, {F_BOOL_OR, COMPUTE_OR},
};

static Computation
computation_of(Oid function)
{
	for (int i = 0; i < (int) lengthof(computations); i++)
		if (computations[i].function == function)
			return computations[i].computation;
	return COMPUTE_NOTHING;
}

static GjReject
add_aggregate(GjAggregation *a, const Aggref *aggref, GjResult *result)
{
	bool		distinct = aggref->aggdistinct != NIL;
	Computation computation;
	GjValueJson arg;
	char	   *filter = NULL;

	if (aggref->aggorder != NIL || aggref->aggdirectargs != NIL || aggref->agglevelsup != 0 ||
		aggref->aggsplit != AGGSPLIT_SIMPLE || aggref->aggkind != AGGKIND_NORMAL ||
		list_length(aggref->args) > 1)
		return GJ_REJECT_AGGREGATE;
	if (aggref->aggfilter != NULL)
	{
		filter = gj_translate_condition(&a->translator, aggref->aggfilter);
		if (filter == NULL)
			return GJ_REJECT_VALUE;
	}
	result->display_scale = result->count = -1;
	if (aggref->aggfnoid == F_COUNT_)
	{
		result->finish = GJ_FINISH_INT8;
		result->column = function_column(a, "count", NULL, filter, false, 8);
		return GJ_ACCEPTED;
	}
	if (list_length(aggref->args) != 1)
		return GJ_REJECT_AGGREGATE;
	if (distinct && !groups_by_bytes(linitial(aggref->aggdistinct),
									 linitial_node(TargetEntry, aggref->args)->expr))
		return GJ_REJECT_AGGREGATE;
	computation = computation_of(aggref->aggfnoid);
	if (computation == COMPUTE_NOTHING)
		return GJ_REJECT_AGGREGATE;
	if (!gj_translate_value(&a->translator, linitial_node(TargetEntry, aggref->args)->expr, &arg))
		return GJ_REJECT_VALUE;
	if (distinct && arg.display_scale != NULL)
		return GJ_REJECT_AGGREGATE;
	switch (computation)
	{
		case COMPUTE_COUNT:
			result->finish = GJ_FINISH_INT8;
			result->column = function_column(a, "count", arg.json, filter, distinct, 8);
			return GJ_ACCEPTED;
		case COMPUTE_SUM:
			add_sum(a, &arg, filter, distinct,
					aggref->aggtype == INT8OID ? GJ_FINISH_INT8 : GJ_FINISH_NUMERIC, result);
			return GJ_ACCEPTED;
		case COMPUTE_AVERAGE:
			add_sum(a, &arg, filter, distinct, GJ_FINISH_AVERAGE, result);
			result->count = function_column(a, "count", arg.json, filter, distinct, 8);
			return GJ_ACCEPTED;
		case COMPUTE_AND:
		case COMPUTE_OR:
			result->finish = GJ_FINISH_VALUE;
			gj_set_width(&arg, 1);
			result->column = function_column(a, computation == COMPUTE_OR ? "bool_or" : "bool_and",
											 arg.json, filter, false, 1);
			(void) describe_type(&a->result->columns[result->column], BOOLOID, -1, InvalidOid);
			return GJ_ACCEPTED;
		case COMPUTE_MIN:
		case COMPUTE_MAX:
			result->finish = GJ_FINISH_VALUE;
			return add_extreme(a, aggref, computation == COMPUTE_MIN ? "min" : "max",
							   &arg, filter, result);
		case COMPUTE_NOTHING:
			break;
	}
	return GJ_REJECT_AGGREGATE;
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
		*ok = result->finish != GJ_FINISH_AVERAGE && result->display_scale < 0 &&
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
	return IsA(expr, Var) || IsA(expr, Aggref);
}

static void
add_having(GjAggregation *a, List *having)
{
	GjTranslator t = {
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
translate(GjAggregation *a, List *clauses, List *having)
{
	GjAggregate *result = a->result;
	List	   *keys = a->keys;
	List	   *leaves = a->leaves;
	int			n = list_length(leaves);
	GjReject	reject;
	ListCell   *key;
	ListCell   *clause;
	ListCell   *lc;

	initStringInfo(&a->keys_json);
	initStringInfo(&a->carry_json);
	initStringInfo(&a->functions_json);

	/* an average takes a sum, a count and a scale */
	result->columns = palloc0((list_length(keys) + 3 * n + 1) * sizeof(GjColumn));
	result->results = palloc0((n + 1) * sizeof(GjResult));
	result->nkeys = list_length(keys);
	result->nresults = n;

	forboth(key, keys, clause, clauses)
	{
		reject = add_key(a, lfirst(clause), lfirst(key));
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	foreach(lc, leaves)
	{
		GjResult   *r = &result->results[foreach_current_index(lc)];
		int			at = 0;

		r->display_scale = r->count = -1;
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
		else if (IsA(lfirst(lc), Var))
		{
			r->column = result->ncolumns;
			if (!add_carried(a, lfirst(lc)))
				return GJ_REJECT_COLUMN_TYPE;
		}
	}
	foreach(lc, leaves)
	{
		if (!IsA(lfirst(lc), Aggref))
			continue;
		reject = add_aggregate(a, lfirst(lc), &result->results[foreach_current_index(lc)]);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	add_having(a, having);
	result->members = psprintf("\"keys\":[%s],\"carry\":[%s],\"functions\":[%s]",
							   a->keys_json.data, a->carry_json.data, a->functions_json.data);
	return GJ_ACCEPTED;
}

GjReject
gj_translate_aggregation(PlannerInfo *root, GjInputs *inputs, const GjCandidate *tree,
						 int source, List *keys, List *clauses, List *leaves, List *having, GjAggregate *result)
{
	GjAggregation a = {
		.translator = {.root = root, .inputs = inputs, .tree = tree},
		.result = result,
		.source = source,
		.leaves = leaves,
		.keys = keys,
	};
	GjReject	reject = translate(&a, clauses, having);

	return reject != GJ_ACCEPTED && a.translator.met_hidden ? GJ_REJECT_HIDDEN : reject;
}
