/*
 * exec_parameters.c - the values of a job's parameters.
 *
 * They are evaluated at the start of each scan, before any participant of a
 * parallel node waits for another one: evaluation may raise an error.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "exec_node.h"
#include "numeric.h"

void
gj_prepare_parameters(GjState *state)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	int			n = state->plan->nparameters;

	initStringInfo(&state->parameters);
	state->parameter_exprs = palloc(Max(1, n) * sizeof(ExprState *));
	for (int i = 0; i < n; i++)
		state->parameter_exprs[i] = ExecInitExpr(list_nth(scan->custom_exprs, i),
												 &state->css.ss.ps);
}

/*
 * The numeric, multiplied by 10^scale and rounded.  Returns false if it is NaN
 * or too large.
 */
static bool
round_numeric(Datum datum, const GjParameter *parameter, ExprContext *econtext, int64 *number)
{
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	struct varlena *numeric = PG_DETOAST_DATUM_PACKED(datum);
	bool		exact = gj_numeric_bound(VARDATA_ANY(numeric), VARSIZE_ANY_EXHDR(numeric),
										 parameter->scale, number);

	MemoryContextSwitchTo(old);
	if (*number >= GJ_NUMERIC_BOUND_LIMIT || *number <= -GJ_NUMERIC_BOUND_LIMIT)
		return false;
	if (!exact && parameter->rounding == GJ_ROUND_UP)
		(*number)++;
	return true;
}

static bool
integer_of(Oid type, Datum datum, const GjParameter *parameter, ExprContext *econtext,
		   int64 *number)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
			*number = DatumGetBool(datum);
			return true;
		case INT2OID:
			*number = DatumGetInt16(datum);
			return true;
		case INT4OID:
		case DATEOID:
			*number = DatumGetInt32(datum);
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = DatumGetInt64(datum);
			return true;
		case NUMERICOID:
			return round_numeric(datum, parameter, econtext, number);
		default:
			elog(ERROR, "unexpected type %u of a parameter of a GpuJoin", type);
	}
	return false;
}

bool
gj_evaluate_parameters(GjState *state)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	StringInfo	json = &state->parameters;

	resetStringInfo(json);
	for (int i = 0; i < state->plan->nparameters; i++)
	{
		bool		isnull;
		Datum		datum = ExecEvalExprSwitchContext(state->parameter_exprs[i], econtext, &isnull);
		int64		number;

		if (i > 0)
			appendStringInfoChar(json, ',');
		if (isnull)
			appendStringInfoString(json, "null");
		else if (integer_of(exprType(list_nth(scan->custom_exprs, i)), datum,
							&state->plan->parameters[i], econtext, &number))
			appendStringInfo(json, INT64_FORMAT, number);
		else
			return false;
	}
	return true;
}
