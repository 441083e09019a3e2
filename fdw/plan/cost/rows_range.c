/*
 * plan/cost/rows_range.c - joins of rows that were selected by a range of an
 * ordered table.
 *
 * A table of dates has two centuries, the sales that refer to it have five
 * years, and a query selects one of these.  core expects that any year has the
 * same share of the sales: a fortieth of what it finds.  The statistics know
 * better if the table is stored in the order of both columns, that of the
 * condition and that of the join.  Then the part of the table that the condition
 * selects is a range of the join's column as well.  The more this range
 * overlaps with the values that the other table has, compared with all rows of
 * its own table, the more partners its rows have.
 *
 * Columns are integers, dates or timestamps, compared as numbers.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "job/page_qual.h"
#include "plan/cost/cost.h"
#include "plan/state.h"

/* Least correlation of a column with the order in which the table is stored. */
#define ORDERED 0.99

/* The distribution of a column's values. */
typedef struct Spread
{
	AttrNumber	attnum;
	bool		known;
	double		correlation;
	int			nbounds;		/* 0 or at least 2 */
	double	   *bounds;			/* of a histogram, ascending */
	int			ncommon;
	double	   *common;			/* values that the histogram lacks */
	double	   *frequencies;	/* of these */
	double		rest;			/* fraction of the histogram's values */
	double		low;			/* range of all values */
	double		high;
} Spread;

/* The growth of a join with another table's column. */
typedef struct KnownGrowth
{
	AttrNumber	attnum;
	Index		other_relid;
	AttrNumber	other_attnum;
	double		growth;
} KnownGrowth;

/* What is known of a table. */
struct GjOrder
{
	List	   *spreads;		/* of Spread */
	List	   *growths;		/* of KnownGrowth, if limited */
	bool		limited;		/* its conditions select a range of its rows */
	double		first;			/* as fractions of the rows, in the order in
								 * which they are stored */
	double		last;
};

/* ---- statistics ---- */

static bool
to_number(Oid type, Datum value, double *number)
{
	switch (type)
	{
		case INT2OID:
			*number = DatumGetInt16(value);
			return true;
		case INT4OID:
			*number = DatumGetInt32(value);
			return true;
		case INT8OID:
			*number = (double) DatumGetInt64(value);
			return true;
		case DATEOID:
			*number = (double) DatumGetDateADT(value) * USECS_PER_DAY;
			return !DATE_NOT_FINITE(DatumGetDateADT(value));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*number = (double) DatumGetTimestamp(value);
			return !TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value));
	}
	return false;
}

/* The numbers of a slot, or NULL if one has none. */
static double *
to_numbers(Oid type, const Datum *values, int n)
{
	double	   *numbers = palloc(Max(1, n) * sizeof(double));

	for (int i = 0; i < n; i++)
		if (!to_number(type, values[i], &numbers[i]))
			return NULL;
	return numbers;
}

static void
read_histogram(Spread *spread, HeapTuple tuple, Oid type)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_HISTOGRAM, InvalidOid, ATTSTATSSLOT_VALUES))
		return;
	spread->bounds = to_numbers(type, slot.values, slot.nvalues);
	if (spread->bounds != NULL && slot.nvalues >= 2)
	{
		spread->nbounds = slot.nvalues;
		spread->low = Min(spread->low, spread->bounds[0]);
		spread->high = Max(spread->high, spread->bounds[spread->nbounds - 1]);
	}
	free_attstatsslot(&slot);
}

/* A column of few different values has no histogram. */
static void
read_common_values(Spread *spread, HeapTuple tuple, Oid type)
{
	AttStatsSlot slot;
	double		sum = 0;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_MCV, InvalidOid,
						  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return;
	spread->common = to_numbers(type, slot.values, slot.nvalues);
	spread->ncommon = spread->common != NULL ? slot.nvalues : 0;
	spread->frequencies = palloc(Max(1, spread->ncommon) * sizeof(double));
	for (int i = 0; i < spread->ncommon; i++)
	{
		spread->frequencies[i] = slot.numbers[i];
		sum += slot.numbers[i];
		spread->low = Min(spread->low, spread->common[i]);
		spread->high = Max(spread->high, spread->common[i]);
	}
	free_attstatsslot(&slot);

	/* of the values that are not NULL, and known */
	sum += spread->nbounds > 0 ?
		Max(1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac - sum, 0) : 0;
	spread->rest = 1;
	for (int i = 0; i < spread->ncommon && sum > 0; i++)
	{
		spread->frequencies[i] /= sum;
		spread->rest -= spread->frequencies[i];
	}
	spread->rest = Max(spread->rest, 0);
}

static void
read_correlation(Spread *spread, HeapTuple tuple)
{
	AttStatsSlot slot;

	if (!get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						  ATTSTATSSLOT_NUMBERS))
		return;
	if (slot.nnumbers == 1)
		spread->correlation = slot.numbers[0];
	free_attstatsslot(&slot);
}

static Spread *
read_spread(Oid relid, AttrNumber attnum, Oid type)
{
	Spread	   *spread = palloc0(sizeof(Spread));
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum), BoolGetDatum(false));

	spread->attnum = attnum;
	spread->low = INFINITY;
	spread->high = -INFINITY;
	spread->rest = 1;
	if (!HeapTupleIsValid(tuple))
		return spread;
	read_histogram(spread, tuple, type);
	read_common_values(spread, tuple, type);
	read_correlation(spread, tuple);
	spread->known = spread->low < spread->high;
	ReleaseSysCache(tuple);
	return spread;
}

/* ---- distributions ---- */

/* The fraction of values up to this one. */
static double
fraction_up_to(const Spread *spread, double value)
{
	const double *bounds = spread->bounds;
	int			last = spread->nbounds - 1;
	double		sum = 0;
	double		at = 0;

	for (int i = 0; i < spread->ncommon; i++)
		if (spread->common[i] <= value)
			sum += spread->frequencies[i];
	if (last < 1)
		return Min(1, sum);
	if (value >= bounds[last])
		at = last;
	else if (value > bounds[0])
	{
		int			i = 0;

		while (bounds[i + 1] <= value)
			i++;
		at = i + (value - bounds[i]) / (bounds[i + 1] - bounds[i]);
	}
	return Min(1, sum + spread->rest * at / last);
}

/* The value up to which there is this fraction. */
static double
value_at(const Spread *spread, double fraction)
{
	double		low = spread->low;
	double		high = spread->high;

	for (int i = 0; i < 40; i++)
	{
		double		middle = (low + high) / 2;

		if (fraction_up_to(spread, middle) < fraction)
			low = middle;
		else
			high = middle;
	}
	return high;
}

static bool
is_ordered(const Spread *spread)
{
	return spread->known && fabs(spread->correlation) >= ORDERED;
}

/* ---- tables ---- */

static const Spread *
spread_of(PlannerInfo *root, const RelOptInfo *rel, GjOrder *order, AttrNumber attnum, Oid type)
{
	ListCell   *lc;
	Spread	   *spread;

	foreach(lc, order->spreads)
		if (((Spread *) lfirst(lc))->attnum == attnum)
			return lfirst(lc);
	spread = read_spread(root->simple_rte_array[rel->relid]->relid, attnum, getBaseType(type));
	order->spreads = lappend(order->spreads, spread);
	return spread;
}

/* The least and the greatest element of an array; false if it has none. */
static bool
bounds_of_array(const GjPageQual *qual, Datum value, double *low, double *high)
{
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	bool		found = false;

	get_typlenbyvalalign(qual->value_type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(value), qual->value_type, length, by_value, align,
					  &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		double		number;

		if (nulls[i] || !to_number(qual->value_type, values[i], &number))
			continue;
		*low = found ? Min(*low, number) : number;
		*high = found ? Max(*high, number) : number;
		found = true;
	}
	return found;
}

/* The smallest difference of two values. */
static double
step_of(Oid type)
{
	return type == DATEOID ? USECS_PER_DAY : 1;
}

/*
 * The range of values that pass a condition: those above low and up to high.
 */
static bool
range_of(const GjPageQual *qual, const Const *value, double *low, double *high)
{
	double		step = step_of(qual->type);
	double		number;

	if (qual->array)
	{
		if (qual->test != GJ_TEST_IN || !bounds_of_array(qual, value->constvalue, low, high))
			return false;
		*low -= step;
		return true;
	}
	if (!to_number(qual->value_type, value->constvalue, &number))
		return false;
	*low = -INFINITY;
	*high = INFINITY;
	switch (qual->test)
	{
		case GJ_TEST_LT:
			*high = number - step;
			return true;
		case GJ_TEST_LE:
			*high = number;
			return true;
		case GJ_TEST_EQ:
			*low = number - step;
			*high = number;
			return true;
		case GJ_TEST_GE:
			*low = number - step;
			return true;
		case GJ_TEST_GT:
			*low = number;
			return true;
		default:
			return false;
	}
}

/* Takes account of one condition of the table. */
static void
limit_rows(PlannerInfo *root, const RelOptInfo *rel, GjOrder *order, Expr *clause)
{
	GjPageQual	qual;
	const Spread *spread;
	double		low;
	double		high;
	double		first;
	double		last;

	if (!gj_page_qual(clause, &qual) || qual.value == NULL || !IsA(qual.value, Const) ||
		((Const *) qual.value)->constisnull || qual.type == NUMERICOID ||
		!range_of(&qual, (Const *) qual.value, &low, &high))
		return;
	spread = spread_of(root, rel, order, qual.attnum, qual.type);
	if (!is_ordered(spread))
		return;
	first = fraction_up_to(spread, low);
	last = fraction_up_to(spread, high);
	if (spread->correlation < 0)
	{
		double		swap = first;

		first = 1 - last;
		last = 1 - swap;
	}
	order->limited = true;
	order->first = Max(order->first, first);
	order->last = Min(order->last, last);
}

/* NULL: nothing is known. */
static GjOrder *
order_of(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjBaserel  *base = gj_base_slot(rel);
	GjOrder    *order;
	ListCell   *lc;

	if (base == NULL || rte->rtekind != RTE_RELATION || rte->inh)
		return NULL;
	if (base->order != NULL)
		return base->order;
	base->order = order = palloc0(sizeof(GjOrder));
	order->last = 1;
	foreach(lc, rel->baserestrictinfo)
		limit_rows(root, rel, order, lfirst_node(RestrictInfo, lc)->clause);
	return order;
}

/* ---- joins ---- */

/* The part of a range that another one covers. */
static double
covered(double low, double high, double other_low, double other_high)
{
	if (high <= low)
		return low >= other_low && low <= other_high ? 1 : 0;
	return Max(0, Min(high, other_high) - Max(low, other_low)) / (high - low);
}

/* The conditions of the first column's table limit its rows. */
static double
estimate_growth(PlannerInfo *root, const Var *column, const Var *other)
{
	RelOptInfo *rel = gj_base_rel(root, column->varno);
	RelOptInfo *other_rel = gj_base_rel(root, other->varno);
	GjOrder    *order = order_of(root, rel);
	GjOrder    *other_order = other_rel == NULL ? NULL : order_of(root, other_rel);
	const Spread *own;
	const Spread *theirs;
	double		first;
	double		last;
	double		all;

	if (other_order == NULL || order->last < order->first)
		return 1;
	own = spread_of(root, rel, order, column->varattno, column->vartype);
	theirs = spread_of(root, other_rel, other_order, other->varattno, other->vartype);
	if (!is_ordered(own) || !theirs->known)
		return 1;
	first = own->correlation > 0 ? order->first : 1 - order->last;
	last = own->correlation > 0 ? order->last : 1 - order->first;
	all = covered(own->low, own->high, theirs->low, theirs->high);
	if (all <= 0)
		return 1;
	return Max(1, covered(value_at(own, first), value_at(own, last),
						  theirs->low, theirs->high) / all);
}

static bool
has_conditions(const RelOptInfo *rel)
{
	return rel != NULL && rel->baserestrictinfo != NIL;
}

/* Estimated once: paths of joins are many. */
static double
limited_growth(PlannerInfo *root, RelOptInfo *rel, const Var *column, const Var *other)
{
	GjOrder    *order;
	KnownGrowth *known;
	ListCell   *lc;

	if (!has_conditions(rel) || (order = order_of(root, rel)) == NULL || !order->limited)
		return 1;
	foreach(lc, order->growths)
	{
		known = lfirst(lc);
		if (known->attnum == column->varattno && known->other_relid == (Index) other->varno &&
			known->other_attnum == other->varattno)
			return known->growth;
	}
	known = palloc(sizeof(KnownGrowth));
	*known = (KnownGrowth)
	{
		.attnum = column->varattno,
			.other_relid = other->varno,
			.other_attnum = other->varattno,
			.growth = estimate_growth(root, column, other)
	};
	order->growths = lappend(order->growths, known);
	return known->growth;
}

double
gj_range_growth(PlannerInfo *root, const Var *a, const Var *b)
{
	RelOptInfo *rel = gj_base_rel(root, a->varno);
	RelOptInfo *other = gj_base_rel(root, b->varno);
	MemoryContext old;
	double		growth;

	if (rel == NULL || (!has_conditions(rel) && !has_conditions(other)))
		return 1;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
	growth = limited_growth(root, rel, a, b) * limited_growth(root, other, b, a);
	MemoryContextSwitchTo(old);
	return growth;
}
