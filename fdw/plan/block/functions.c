/*
 * plan/block/functions.c - aggregate functions, as the daemon computes them.
 *
 * The daemon counts, sums integers in 128 bits, and finds extremes.  This file
 * decides how PostgreSQL's results and their display scales follow from these, and
 * result/aggregates.c computes them.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "options.h"
#include "plan/block/block.h"
#include "util.h"

/* The value of an extreme; its display scale is that of all rows with it. */
static GjReject
add_packed_extreme(GjAggregation *a, const Expr *expr, const char *name, GjExpr *arg,
				   GjExpr *filter, GjResult *result)
{
	int			other = gj_function_column(a, name, gj_packed(arg, "-"), filter, false, 8);

	result->finish = GJ_FINISH_PACKED;
	result->column = gj_function_column(a, name, gj_packed(arg, "+"), filter, false, 8);
	result->scale = arg->scale;
	return gj_add_check(a, (GjCheck) {.first = result->column, .second = other, .packed = true, .key = -1},
						expr) ? GJ_ACCEPTED : GJ_REJECT_AGGREGATE;
}

static GjReject
add_extreme(GjAggregation *a, const Aggref *aggref, const char *name, GjExpr *arg,
			GjExpr *filter, GjResult *result)
{
	Oid			type = getBaseType(aggref->aggtype);

	if (arg->kind == GJ_KIND_INT)
		arg = gj_to_width(arg, get_typlen(type));

	if (arg->kind == GJ_KIND_TEXT &&
		(type == BPCHAROID || !OidIsValid(aggref->inputcollid) || !gj_collation_is_c(aggref->inputcollid)))
		return GJ_REJECT_AGGREGATE;
	if (arg->display_scale != NULL)
		return add_packed_extreme(a, linitial_node(TargetEntry, aggref->args)->expr, name, arg,
								  filter, result);
	result->column = gj_function_column(a, name, arg, filter, false, Max(arg->width, 1));
	if (arg->kind == GJ_KIND_DECIMAL)
	{
		result->finish = GJ_FINISH_NUMERIC;
		result->scale = arg->scale;
	}
	else if (!gj_describe_type(&a->result->columns[result->column], aggref->aggtype, -1,
							aggref->aggcollid))
		return GJ_REJECT_AGGREGATE;
	return GJ_ACCEPTED;
}

/* expr: the argument. */
static GjReject
add_sum(GjAggregation *a, const Expr *expr, GjExpr *arg, GjExpr *filter,
		bool distinct, GjFinish finish, GjResult *result)
{
	int			values;
	int			looks;

	result->finish = finish;
	result->column = gj_function_column(a, "sum", arg, filter, distinct, 16);
	result->scale = arg->scale;
	if (arg->display_scale == NULL)
		return GJ_ACCEPTED;
	result->display_scale = gj_scale_column(a, "max", arg, filter);
	if (!distinct)
		return GJ_ACCEPTED;

	/* of equal values one is added: all must have the same scale */
	values = gj_function_column(a, "count", arg, filter, true, 8);
	looks = gj_function_column(a, "count", gj_packed(arg, "+"), filter, true, 8);
	return gj_add_check(a, (GjCheck) {.first = values, .second = looks, .key = -1}, expr) ?
		GJ_ACCEPTED : GJ_REJECT_AGGREGATE;
}

/* A variance or standard deviation, finished by result/aggregates.c. */
static GjReject
add_spread(GjAggregation *a, GjExpr *arg, GjExpr *filter, bool distinct,
		   GjFinish finish, GjResult *result)
{
	if (distinct)
		return GJ_REJECT_AGGREGATE;
	(void) add_sum(a, NULL, arg, filter, false, finish, result);
	result->squares = gj_function_column(a, "sum_squares", arg, filter, false, 32);
	result->count = gj_function_column(a, "count", arg, filter, false, 8);
	return GJ_ACCEPTED;
}

/* The daemon's part of an aggregate function of one argument. */
typedef enum Computation
{
	COMPUTE_NOTHING,
	COMPUTE_COUNT,
	COMPUTE_SUM,
	COMPUTE_AVERAGE,
	COMPUTE_VAR_POP,
	COMPUTE_VAR_SAMP,
	COMPUTE_STDDEV_POP,
	COMPUTE_STDDEV_SAMP,
	COMPUTE_MIN,
	COMPUTE_MAX,
	COMPUTE_MIN_FLOAT,
	COMPUTE_MAX_FLOAT,
	COMPUTE_SUM_FLOAT,
	COMPUTE_AVERAGE_FLOAT,
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
	{F_VAR_POP_INT2, COMPUTE_VAR_POP}, {F_VAR_POP_INT4, COMPUTE_VAR_POP},
	{F_VAR_POP_INT8, COMPUTE_VAR_POP}, {F_VAR_POP_NUMERIC, COMPUTE_VAR_POP},
	{F_VAR_SAMP_INT2, COMPUTE_VAR_SAMP}, {F_VAR_SAMP_INT4, COMPUTE_VAR_SAMP},
	{F_VAR_SAMP_INT8, COMPUTE_VAR_SAMP}, {F_VAR_SAMP_NUMERIC, COMPUTE_VAR_SAMP},
	{F_VARIANCE_INT2, COMPUTE_VAR_SAMP}, {F_VARIANCE_INT4, COMPUTE_VAR_SAMP},
	{F_VARIANCE_INT8, COMPUTE_VAR_SAMP}, {F_VARIANCE_NUMERIC, COMPUTE_VAR_SAMP},
	{F_STDDEV_POP_INT2, COMPUTE_STDDEV_POP}, {F_STDDEV_POP_INT4, COMPUTE_STDDEV_POP},
	{F_STDDEV_POP_INT8, COMPUTE_STDDEV_POP}, {F_STDDEV_POP_NUMERIC, COMPUTE_STDDEV_POP},
	{F_STDDEV_SAMP_INT2, COMPUTE_STDDEV_SAMP}, {F_STDDEV_SAMP_INT4, COMPUTE_STDDEV_SAMP},
	{F_STDDEV_SAMP_INT8, COMPUTE_STDDEV_SAMP}, {F_STDDEV_SAMP_NUMERIC, COMPUTE_STDDEV_SAMP},
	{F_STDDEV_INT2, COMPUTE_STDDEV_SAMP}, {F_STDDEV_INT4, COMPUTE_STDDEV_SAMP},
	{F_STDDEV_INT8, COMPUTE_STDDEV_SAMP}, {F_STDDEV_NUMERIC, COMPUTE_STDDEV_SAMP},
	{F_MIN_INT2, COMPUTE_MIN}, {F_MAX_INT2, COMPUTE_MAX},
	{F_MIN_INT4, COMPUTE_MIN}, {F_MAX_INT4, COMPUTE_MAX},
	{F_MIN_INT8, COMPUTE_MIN}, {F_MAX_INT8, COMPUTE_MAX},
	{F_MIN_DATE, COMPUTE_MIN}, {F_MAX_DATE, COMPUTE_MAX},
	{F_MIN_TIMESTAMP, COMPUTE_MIN}, {F_MAX_TIMESTAMP, COMPUTE_MAX},
	{F_MIN_TIMESTAMPTZ, COMPUTE_MIN}, {F_MAX_TIMESTAMPTZ, COMPUTE_MAX},
	{F_MIN_NUMERIC, COMPUTE_MIN}, {F_MAX_NUMERIC, COMPUTE_MAX},
	{F_MIN_FLOAT4, COMPUTE_MIN_FLOAT}, {F_MAX_FLOAT4, COMPUTE_MAX_FLOAT},
	{F_MIN_FLOAT8, COMPUTE_MIN_FLOAT}, {F_MAX_FLOAT8, COMPUTE_MAX_FLOAT},
	{F_SUM_FLOAT4, COMPUTE_SUM_FLOAT}, {F_SUM_FLOAT8, COMPUTE_SUM_FLOAT},
	{F_AVG_FLOAT4, COMPUTE_AVERAGE_FLOAT}, {F_AVG_FLOAT8, COMPUTE_AVERAGE_FLOAT},
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

/* A column of any type, as a value that is NULL where the column is. */
static GjExpr *
translate_presence(GjAggregation *a, Expr *expr)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = IS_NOT_NULL;
	return gj_choice(gj_translate_condition(&a->translator, (Expr *) test), gj_int(1),
					 gj_null(GJ_CONSTANT_WIDTH));
}

/* ---- floats ---- */

/* The least or greatest float.  PostgreSQL orders NaN after all others. */
static GjReject
add_float_extreme(GjAggregation *a, const Aggref *aggref, const char *name, GjExpr *filter,
				  GjResult *result)
{
	Expr	   *expr = linitial_node(TargetEntry, aggref->args)->expr;
	GjExpr	   *arg;

	arg = gj_translate_plain_float(&a->translator, gj_strip_relabel(expr), GJ_READ_VALUE);
	if (arg == NULL)
		return GJ_REJECT_VALUE;
	result->finish = aggref->aggtype == FLOAT4OID ? GJ_FINISH_FLOAT4 : GJ_FINISH_FLOAT8;
	result->column = gj_function_column(a, name, arg, filter, false, arg->width);
	return GJ_ACCEPTED;
}

/*
 * PostgreSQL's sums of floats depend on the order of the rows and the daemon's do
 * not (joincore/aggregate.go), so they differ in the last digits and are computed only
 * if gpujoin.float_aggregates is on.
 */
static GjReject
add_float_sum(GjAggregation *a, const Aggref *aggref, bool average, GjExpr *filter,
			  GjResult *result)
{
	bool		single = aggref->aggtype == FLOAT4OID;
	GjExpr	   *arg;

	/* verification compares all digits */
	if (!gj_float_aggregates || gj_verify)
		return GJ_REJECT_FLOAT_AGGREGATE;
	if (aggref->aggdistinct != NIL)
		return GJ_REJECT_AGGREGATE;
	a->translator.floats = true;
	arg = gj_translate_value(&a->translator, linitial_node(TargetEntry, aggref->args)->expr);
	a->translator.floats = false;
	if (arg == NULL)
		return GJ_REJECT_VALUE;
	result->finish = single ? GJ_FINISH_FLOAT4 : GJ_FINISH_FLOAT8;
	result->column = gj_function_column(a, average ? "avg_float" : single ? "sum_float4" : "sum_float8",
										arg, filter, false, sizeof(int64));
	return GJ_ACCEPTED;
}

/* ---- all functions ---- */

GjReject
gj_add_function(GjAggregation *a, const Aggref *aggref, GjResult *result)
{
	bool		distinct = aggref->aggdistinct != NIL;
	Computation computation;
	GjExpr	   *arg;
	GjExpr	   *filter = NULL;
	Expr	   *expr;

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
	result->display_scale = result->count = result->squares = -1;
	if (aggref->aggfnoid == F_COUNT_)
	{
		result->finish = GJ_FINISH_INT8;
		result->column = gj_function_column(a, "count", NULL, filter, false, 8);
		return GJ_ACCEPTED;
	}
	if (list_length(aggref->args) != 1)
		return GJ_REJECT_AGGREGATE;
	expr = linitial_node(TargetEntry, aggref->args)->expr;
	computation = computation_of(aggref->aggfnoid);
	if (computation == COMPUTE_SUM_FLOAT || computation == COMPUTE_AVERAGE_FLOAT)
		return add_float_sum(a, aggref, computation == COMPUTE_AVERAGE_FLOAT, filter, result);
	if (distinct && !gj_groups_by_bytes(linitial(aggref->aggdistinct), expr))
		return GJ_REJECT_AGGREGATE;
	if (computation == COMPUTE_NOTHING)
		return GJ_REJECT_AGGREGATE;
	if (computation == COMPUTE_MIN_FLOAT || computation == COMPUTE_MAX_FLOAT)
		return add_float_extreme(a, aggref, computation == COMPUTE_MIN_FLOAT ? "min" : "max",
									filter, result);
	arg = gj_translate_value(&a->translator, expr);
	if (arg == NULL && computation == COMPUTE_COUNT && !distinct)
		arg = translate_presence(a, expr);
	if (arg == NULL)
		return GJ_REJECT_VALUE;
	switch (computation)
	{
		case COMPUTE_COUNT:
			result->finish = GJ_FINISH_INT8;
			result->column = gj_function_column(a, "count", arg, filter, distinct, 8);
			return GJ_ACCEPTED;
		case COMPUTE_SUM:
			return add_sum(a, expr, arg, filter, distinct,
						   aggref->aggtype == INT8OID ? GJ_FINISH_INT8 : GJ_FINISH_NUMERIC, result);
		case COMPUTE_AVERAGE:
			result->count = gj_function_column(a, "count", arg, filter, distinct, 8);
			return add_sum(a, expr, arg, filter, distinct, GJ_FINISH_AVERAGE, result);
		case COMPUTE_VAR_POP:
			return add_spread(a, arg, filter, distinct, GJ_FINISH_VAR_POP, result);
		case COMPUTE_VAR_SAMP:
			return add_spread(a, arg, filter, distinct, GJ_FINISH_VAR_SAMP, result);
		case COMPUTE_STDDEV_POP:
			return add_spread(a, arg, filter, distinct, GJ_FINISH_STDDEV_POP, result);
		case COMPUTE_STDDEV_SAMP:
			return add_spread(a, arg, filter, distinct, GJ_FINISH_STDDEV_SAMP, result);
		case COMPUTE_AND:
		case COMPUTE_OR:
			result->finish = GJ_FINISH_VALUE;
			result->column = gj_function_column(a, computation == COMPUTE_OR ? "bool_or" : "bool_and",
												gj_to_width(arg, 1), filter, false, 1);
			(void) gj_describe_type(&a->result->columns[result->column], BOOLOID, -1, InvalidOid);
			return GJ_ACCEPTED;
		case COMPUTE_MIN:
		case COMPUTE_MAX:
			result->finish = GJ_FINISH_VALUE;
			return add_extreme(a, aggref, computation == COMPUTE_MIN ? "min" : "max",
							   arg, filter, result);
		case COMPUTE_MIN_FLOAT:
		case COMPUTE_MAX_FLOAT:
		case COMPUTE_SUM_FLOAT:
		case COMPUTE_AVERAGE_FLOAT:
		case COMPUTE_NOTHING:
			break;
	}
	return GJ_REJECT_AGGREGATE;
}
