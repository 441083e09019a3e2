/*
 * plan/expr/unscaled_numeric.c - numeric columns without a declared scale.
 *
 * The values of such a column have decimals of their own.  The daemon gets two
 * columns: the values as integers at one scale that is large enough for all, and
 * how many decimals each has, from which the number shown of a sum follows.  The
 * statistics tell which scale is enough.  If a value turns out to have more
 * decimals, the feed ends, and the native plan runs.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "optimizer/optimizer.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "numeric/decimal.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"

typedef struct GjUnscaled
{
	struct GjUnscaled *next;
	AttrNumber	attnum;
	int			scale;			/* -1: not expected to be 64-bit decimals */
	bool		alike;			/* the sampled values, see gj_looks_alike() */
} GjUnscaled;

static const GjUnscaled no_numbers = {.scale = -1};

/* More decimals than the statistics know, if the integers stay small. */
#define SPARE_DECIMALS 4

/* The integers of the statistics are less than this. */
#define LARGEST_SAMPLE INT64CONST(1000000000000000)

/*
 * The statistics know common values of a column, and bounds of ranges, of which the
 * first and the last are the extremes.
 */
static const int kinds[] = {STATISTIC_KIND_MCV, STATISTIC_KIND_HISTOGRAM};

static int
largest_scale(const AttStatsSlot *sample)
{
	int			largest = 0;

	for (int i = 0; i < sample->nvalues; i++)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(sample->values[i]);

		largest = Max(largest, gj_numeric_scale(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));
	}
	return largest;
}

static bool
fits(const AttStatsSlot *sample, int scale)
{
	for (int i = 0; i < sample->nvalues; i++)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(sample->values[i]);
		int64		decimal;

		if (!gj_numeric_to_wider(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, &decimal) ||
			decimal > LARGEST_SAMPLE || decimal < -LARGEST_SAMPLE)
			return false;
	}
	return true;
}

static int
scale_of_statistics(HeapTuple tuple)
{
	AttStatsSlot samples[lengthof(kinds)];
	int			n = 0;
	int			least = 0;
	int			scale;

	for (int i = 0; i < (int) lengthof(kinds); i++)
		if (get_attstatsslot(&samples[n], tuple, kinds[i], InvalidOid, ATTSTATSSLOT_VALUES))
			n++;
	if (n == 0)
		return -1;
	for (int i = 0; i < n; i++)
	{
		int			own = largest_scale(&samples[i]);

		least = Max(least, own);
	}
	for (scale = Min(least + SPARE_DECIMALS, GJ_DECIMAL_MAX_SCALE); scale >= least; scale--)
		if (fits(&samples[0], scale) && fits(&samples[n - 1], scale))
			break;
	for (int i = 0; i < n; i++)
		free_attstatsslot(&samples[i]);
	return scale >= least ? scale : -1;
}

static bool
is_trimmed(const AttStatsSlot *sample)
{
	for (int i = 0; i < sample->nvalues; i++)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(sample->values[i]);
		int			needed = DatumGetInt32(DirectFunctionCall1(numeric_min_scale,
															   PointerGetDatum(PG_DETOAST_DATUM(sample->values[i]))));

		if (needed < gj_numeric_scale(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)))
			return false;
	}
	return true;
}

static bool
has_scale(const AttStatsSlot *sample, int scale)
{
	for (int i = 0; i < sample->nvalues; i++)
	{
		struct varlena *value = PG_DETOAST_DATUM_PACKED(sample->values[i]);

		if (gj_numeric_scale(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)) != scale)
			return false;
	}
	return true;
}

/* Of numbers only: columns with NaN or infinity have no scale here. */
static bool
samples_look_alike(HeapTuple tuple)
{
	AttStatsSlot sample;
	bool		trimmed = true;
	bool		one_scale = true;
	int			scale = -1;

	for (int i = 0; i < (int) lengthof(kinds); i++)
	{
		if (!get_attstatsslot(&sample, tuple, kinds[i], InvalidOid, ATTSTATSSLOT_VALUES))
			continue;
		if (scale < 0)
			scale = largest_scale(&sample);
		trimmed = trimmed && is_trimmed(&sample);
		one_scale = one_scale && has_scale(&sample, scale);
		free_attstatsslot(&sample);
	}
	return trimmed || one_scale;
}

/* Reads the statistics of a column, if it has numbers without a declared scale. */
static void
examine(PlannerInfo *root, const Var *var, GjUnscaled *column)
{
	VariableStatData data;

	column->scale = -1;
	if (getBaseType(var->vartype) != NUMERICOID || gj_computed(root, var) != NULL)
		return;
	examine_variable(root, (Node *) unconstify(Var *, var), 0, &data);
	if (HeapTupleIsValid(data.statsTuple) && data.atttype == NUMERICOID)
	{
		column->scale = scale_of_statistics(data.statsTuple);
		column->alike = column->scale >= 0 && samples_look_alike(data.statsTuple);
	}
	ReleaseVariableStats(data);
}

/*
 * The statistics are read once for each column and planner run.  They may change
 * in between, while the column's values are fed by the same scale as expressions
 * read them by.
 */
static const GjUnscaled *
unscaled(PlannerInfo *root, const Var *var)
{
	RelOptInfo *rel = gj_base_rel(root, var->varno);
	GjBaserel  *base = rel != NULL ? gj_base_slot(rel) : NULL;
	GjUnscaled *column;

	if (base == NULL)			/* no input */
		return &no_numbers;
	for (column = base->unscaled; column != NULL; column = column->next)
		if (column->attnum == var->varattno)
			return column;

	/* with GEQO the relation outlives the current memory context */
	column = MemoryContextAllocZero(GetMemoryChunkContext(base), sizeof(GjUnscaled));
	column->attnum = var->varattno;
	examine(root, var, column);
	column->next = base->unscaled;
	base->unscaled = column;
	return column;
}

int
gj_unscaled_scale(PlannerInfo *root, const Var *var)
{
	return unscaled(root, var)->scale;
}

bool
gj_looks_alike(PlannerInfo *root, const Expr *expr)
{
	List	   *vars = pull_var_clause((Node *) unconstify(Expr *, expr),
									   PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS);
	ListCell   *lc;

	foreach(lc, vars)
	{
		Var		   *var = lfirst_node(Var, lc);
		int			scale;

		if (!gj_decimal_scale(var->vartype, var->vartypmod, &scale) &&
			unscaled(root, var)->scale >= 0 && !unscaled(root, var)->alike)
			return false;
	}
	return true;
}
