/*
 * exec/parameters.c - the values of a job's parameters.
 *
 * They are evaluated at the start of each scan, before any participant of a
 * parallel node waits for another one: evaluation may raise an error.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "exec/parameters.h"
#include "numeric/decimal.h"
#include "options.h"

/* Of all parameters in the job, if texts are among them. */
#define MOST_TEXT_BYTES (256 * 1024)

void
gj_prepare_parameters(GjParameterValues *values, GjPlan *plan, PlanState *node)
{
	initStringInfo(&values->json);

	/* there is no row yet: evaluation would read memory that is not there */
	if (plan->defect == NULL && contain_var_clause((Node *) plan->parameter_exprs))
		plan->defect = "internal: a parameter of the job reads a row";
	if (plan->defect != NULL)
		return;
	values->exprs = palloc(Max(1, plan->nparameters) * sizeof(ExprState *));
	for (int i = 0; i < plan->nparameters; i++)
		values->exprs[i] = ExecInitExpr(list_nth(plan->parameter_exprs, i), node);
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

/* Returns NULL, or why the daemon cannot take the value. */
static const char *
integer_of(Oid type, Datum datum, const GjParameter *parameter, ExprContext *econtext,
		   int64 *number)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
			*number = DatumGetBool(datum);
			return NULL;
		case INT2OID:
			*number = DatumGetInt16(datum);
			return NULL;
		case INT4OID:
		case DATEOID:
			*number = DatumGetInt32(datum);
			return NULL;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = DatumGetInt64(datum);
			return NULL;
		case NUMERICOID:
			if (!round_numeric(datum, parameter, econtext, number))
				return "a numeric parameter is not a number or too large";
			return NULL;
		default:
			return "internal: a parameter of the job is no integer";
	}
}

/* Appends a text as hexadecimal digits.  Of char(n), blanks at the end do not count. */
static void
append_text(StringInfo json, Oid type, Datum datum, ExprContext *econtext)
{
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	struct varlena *text = PG_DETOAST_DATUM_PACKED(datum);
	int			length = VARSIZE_ANY_EXHDR(text);

	MemoryContextSwitchTo(old);
	if (getBaseType(type) == BPCHAROID)
		while (length > 0 && VARDATA_ANY(text)[length - 1] == ' ')
			length--;
	appendStringInfoChar(json, '"');
	enlargeStringInfo(json, 2 * length + 1);
	json->len += hex_encode(VARDATA_ANY(text), length, json->data + json->len);
	json->data[json->len] = '\0';
	appendStringInfoChar(json, '"');
}

/*
 * Values that only conditions of keepable inputs read come last.  The feed evaluates
 * these conditions too, so a value that the daemon cannot take means that nothing is
 * kept.
 */
const char *
gj_evaluate_parameters(GjParameterValues *values, GjPlan *plan, PlanState *node)
{
	int			n = plan->nparameters;
	ExprContext *econtext = node->ps_ExprContext;
	StringInfo	json = &values->json;

	if (plan->defect != NULL)
		return plan->defect;
	resetStringInfo(json);
	plan->keeps_nothing = gj_keep == GJ_KEEP_OFF;
	if (plan->keeps_nothing)
		n = plan->plain_parameters;
	for (int i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		datum = ExecEvalExprSwitchContext(values->exprs[i], econtext, &isnull);
		Oid			type = exprType(list_nth(plan->parameter_exprs, i));
		const GjParameter *parameter = &plan->parameters[i];
		const char *unfit = NULL;
		int64		number;

		if (i > 0)
			appendStringInfoChar(json, ',');
		if (isnull)
			appendStringInfoString(json, "null");
		else if (parameter->rounding == GJ_ROUND_TEXT)
		{
			if (json->len + 2 * toast_raw_datum_size(datum) > MOST_TEXT_BYTES)
				unfit = "text parameters are too long";
			else
				append_text(json, type, datum, econtext);
		}
		else if ((unfit = integer_of(type, datum, parameter, econtext, &number)) == NULL)
			appendStringInfo(json, INT64_FORMAT, number);
		if (unfit == NULL)
			continue;
		if (i < plan->plain_parameters)
			return unfit;
		plan->keeps_nothing = true;
		appendStringInfoString(json, "null");
	}
	return NULL;
}
