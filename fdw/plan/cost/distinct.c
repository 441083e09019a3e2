/*
 * plan/cost/distinct.c - how many different values the columns of inputs have.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/cost/distinct.h"
#include "plan/input/computed.h"

static void
examine(PlannerInfo *root, const Var *var, GjValues *values)
{
	const Expr *computed = gj_computed(root, var);
	VariableStatData data;
	bool		is_default;

	examine_variable(root,
					 computed != NULL ? (Node *) gj_without_placeholders((Expr *) computed) : (Node *) var,
					 0, &data);
	values->distinct = Max(get_variable_numdistinct(&data, &is_default), 1);
	values->known = !is_default;
	if (HeapTupleIsValid(data.statsTuple))
		values->null_fraction = ((Form_pg_statistic) GETSTRUCT(data.statsTuple))->stanullfrac;
	ReleaseVariableStats(data);
}

const GjValues *
gj_values(PlannerInfo *root, const Var *var)
{
	GjBaserel  *base = gj_base_slot(gj_base_rel(root, var->varno));
	GjValues   *values;

	for (values = base->values; values != NULL; values = values->next)
		if (values->attnum == var->varattno)
			return values;

	/* with GEQO the relation outlives the current memory context */
	values = MemoryContextAllocZero(GetMemoryChunkContext(base), sizeof(GjValues));
	values->attnum = var->varattno;
	examine(root, var, values);
	values->next = base->values;
	base->values = values;
	return values;
}
