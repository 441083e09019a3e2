/*
 * feed/page/rows.c - the visible tuples of one heap page as vectors of values.
 *
 * The vector of an attribute with the same offset in every tuple is just the
 * tuples and that offset.  For others it is the position of an attribute before
 * it, and the distance from there, or an array of its own.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/sysattr.h"
#include "access/tupmacs.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "feed/page/page.h"

/* One page of so many is measured. */
#define MEASURED_PAGES 16

/* Index of attnum among the attributes that are read. */
static int
attribute_of(GjPageRows *rows, TupleDesc desc, AttrNumber attnum)
{
	GjPageAttribute *a;

	for (int i = 0; i < rows->nattributes; i++)
		if (rows->attributes[i].step == attnum - 1)
			return i;
	a = &rows->attributes[rows->nattributes];
	a->step = attnum - 1;
	a->fixed_offset = -1;
	a->pointers = palloc(MaxHeapTuplesPerPage * sizeof(char *));
	if (TupleDescAttr(desc, attnum - 1)->atthasmissing)
	{
		bool		isnull;

		a->missing_value = getmissingattr(desc, attnum, &isnull);
		if (!isnull)
			a->missing = TupleDescAttr(desc, attnum - 1)->attbyval ?
				(const char *) &a->missing_value : DatumGetPointer(a->missing_value);
	}
	return rows->nattributes++;
}

/* Prepares the conditions for which there is no check of their own. */
static void
create_expression(GjPageRows *rows, ScanState *scan, List *quals)
{
	GjPageExpression *e = &rows->expression;
	TupleDesc	desc = RelationGetDescr(scan->ss_currentRelation);
	Bitmapset  *attnums = NULL;
	int			member = -1;

	pull_varattnos((Node *) quals, ((Scan *) scan->ps.plan)->scanrelid, &attnums);
	e->attributes = palloc(desc->natts * sizeof(int));
	while ((member = bms_next_member(attnums, member)) >= 0)
		e->attributes[e->nattributes++] =
			attribute_of(rows, desc, member + FirstLowInvalidHeapAttributeNumber);

	/* without a parent, the expression accepts a slot of any kind */
	e->qual = ExecInitQual(quals, NULL);
	e->econtext = scan->ps.ps_ExprContext;

	/* a copy of the descriptor needs no release: this may end before the query */
	e->slot = MakeSingleTupleTableSlot(CreateTupleDescCopy(desc), &TTSOpsVirtual);
}

/* The one of two attributes that comes later in a tuple; -1 is none. */
static int
later_of(const GjPageRows *rows, int a, int b)
{
	return a < 0 || rows->attributes[b].step > rows->attributes[a].step ? b : a;
}

/* The last step that a check needs. */
static int
last_step(const GjPageRows *rows, const GjPageCheck *check)
{
	int			step = rows->attributes[check->attribute].step;

	return check->other < 0 ? step : Max(step, rows->attributes[check->other].step);
}

/*
 * The checks of earlier attributes come first, so that most tuples need not be
 * walked to the end.
 */
static void
sort_checks(GjPageRows *rows)
{
	for (int i = 1; i < rows->nchecks; i++)
	{
		GjPageCheck check = rows->checks[i];
		int			step = last_step(rows, &check);
		int			j = i;

		for (; j > 0 && last_step(rows, &rows->checks[j - 1]) > step; j--)
			rows->checks[j] = rows->checks[j - 1];
		rows->checks[j] = check;
	}
}

static void
use(GjPageRows *rows, int attribute, int check)
{
	GjPageAttribute *a = &rows->attributes[attribute];

	a->last_use = Max(a->last_use, check);
	if (a->fixed_offset >= 0)
		rows->data_last_use = Max(rows->data_last_use, check);
	for (int i = 0; i < rows->nruns; i++)
		if (rows->runs[i].starts == a->starts)
			rows->runs[i].last_use = Max(rows->runs[i].last_use, check);
}

/* Finds which positions are no longer needed after a check. */
static void
find_last_uses(GjPageRows *rows)
{
	rows->data_last_use = -1;
	for (int i = 0; i < rows->nattributes; i++)
		rows->attributes[i].last_use = -1;
	for (int i = 0; i < rows->nruns; i++)
		rows->runs[i].last_use = -1;
	for (int i = 0; i < rows->nchecks; i++)
	{
		use(rows, rows->checks[i].attribute, i);
		if (rows->checks[i].other >= 0)
			use(rows, rows->checks[i].other, i);
	}
	for (int i = 0; i < rows->expression.nattributes; i++)
		use(rows, rows->expression.attributes[i], INT_MAX);
	for (int i = 0; i < rows->ncolumns; i++)
		use(rows, rows->columns[i], INT_MAX);
}

GjPageRows *
gj_page_rows_create(ScanState *scan, const GjColumn *columns, int ncolumns,
					const List *conditions)
{
	TupleDesc	desc = RelationGetDescr(scan->ss_currentRelation);
	GjPageRows *rows = palloc0(sizeof(GjPageRows));
	List	   *others = NIL;
	ListCell   *lc;

	rows->attributes = palloc0((desc->natts + 1) * sizeof(GjPageAttribute));
	rows->checks = palloc0((list_length(conditions) + 1) * sizeof(GjPageCheck));
	rows->lists = AllocSetContextCreate(CurrentMemoryContext, "OffloadJoin lists of values",
										ALLOCSET_SMALL_SIZES);
	foreach(lc, conditions)
	{
		GjPageCheck *check = &rows->checks[rows->nchecks];

		if (!gj_page_qual(lfirst(lc), &check->qual))
		{
			if (!gj_page_expression(lfirst(lc)))
				return NULL;
			others = lappend(others, lfirst(lc));
			continue;
		}
		rows->nchecks++;
		check->attribute = attribute_of(rows, desc, check->qual.attnum);
		check->other = check->qual.other == 0 ? -1 :
			attribute_of(rows, desc, check->qual.other);
		gj_quick_numeric_init(&check->numeric, check->qual.scale, false);
		if (check->qual.value != NULL)
			check->value = ExecInitExpr(check->qual.value, &scan->ps);
	}
	if (others != NIL)
		create_expression(rows, scan, others);
	sort_checks(rows);
	rows->ncolumns = ncolumns;
	rows->last_column = -1;
	rows->columns = palloc((ncolumns + 1) * sizeof(int));
	for (int i = 0; i < ncolumns; i++)
	{
		AttrNumber	attnum = columns[i].attnum;

		if (attnum <= 0 || attnum > desc->natts)
			return NULL;
		rows->columns[i] = attribute_of(rows, desc, attnum);
		rows->last_column = later_of(rows, rows->last_column, rows->columns[i]);
	}
	gj_page_walk_plan(rows, desc);
	find_last_uses(rows);
	return rows;
}

void
gj_page_rows_bind(GjPageRows *rows, ScanState *scan)
{
	rows->none = false;
	rows->nkeys = 0;
	MemoryContextReset(rows->lists);
	for (int i = 0; i < rows->nchecks; i++)
		if (!gj_page_check_bind(&rows->checks[i], scan->ps.ps_ExprContext, rows->lists))
			rows->none = true;
	if (!rows->none && !gj_page_checks_merge(rows->checks, rows->nchecks))
		rows->none = true;
}

void
gj_page_rows_add_key(GjPageRows *rows, int column, GjKeyFilter *filter)
{
	rows->keys[rows->nkeys++] = (GjPageKey)
	{
		.attribute = rows->columns[column], .filter = filter
	};
}

static GjVector
vector_of(const GjPageRows *rows, int attribute)
{
	const GjPageAttribute *a = &rows->attributes[attribute];

	if (rows->uniform)
		return (GjVector)
	{
		.pointers = a->starts, .offset = a->start
	};
	return (GjVector)
	{
		.pointers = a->pointers, .nullable = true
	};
}

/* Is the attribute found without walking the tuples of this page? */
static inline bool
has_fixed_offset(const GjPageRows *rows, int attribute)
{
	return rows->uniform && rows->attributes[attribute].fixed_offset >= 0;
}

static inline void
compact(const char **pointers, const uint16 *kept, int nkept)
{
	for (int j = 0; j < nkept; j++)
		pointers[j] = pointers[kept[j]];
}

static void
compact_uniform(GjPageRows *rows, const uint16 *kept, int nkept, int check)
{
	if (rows->walked_runs == 0 || rows->data_last_use > check)
		compact(rows->data, kept, nkept);
	for (int i = 0; i < rows->walked_runs; i++)
		if (rows->runs[i].last_use > check)
			compact(rows->runs[i].starts, kept, nkept);
	if (rows->walked_runs > 0 && rows->walked_runs < rows->nruns)
		compact(rows->ends, kept, nkept);
}

static void
compact_any(GjPageRows *rows, const uint16 *kept, int nkept, int check)
{
	compact(rows->data, kept, nkept);
	for (int i = 0; i < rows->nattributes; i++)
		if (rows->attributes[i].step < rows->walked && rows->attributes[i].last_use > check)
			compact(rows->attributes[i].pointers, kept, nkept);
	if (rows->walked == rows->nsteps)
		return;
	for (int j = 0; j < nkept; j++)
	{
		rows->offsets[j] = rows->offsets[kept[j]];
		rows->tuples[j] = rows->tuples[kept[j]];
	}
}

/*
 * Keeps only the listed tuples.  Attributes that no check after this one reads
 * are forgotten.
 */
static void
keep_only(GjPageRows *rows, const uint16 *kept, int nkept, int check)
{
	rows->n = nkept;
	if (rows->uniform)
		compact_uniform(rows, kept, nkept, check);
	else
		compact_any(rows, kept, nkept, check);
}

/* Finds an attribute in the kept tuples, and returns it. */
static GjVector
reach(GjPageRows *rows, int attribute)
{
	if (!has_fixed_offset(rows, attribute))
		gj_page_walk(rows, attribute);
	return vector_of(rows, attribute);
}

/* Which of the kept tuples pass a check, as gj_page_check_filter() returns it. */
static int
apply(GjPageRows *rows, const GjPageCheck *check, uint16 *kept)
{
	GjVector	vector = reach(rows, check->attribute);
	GjVector	other;

	if (check->other < 0)
		return gj_page_check_filter(check, &vector, rows->n, kept);
	other = reach(rows, check->other);
	return gj_page_check_compare(check, &vector, &other, rows->n, kept);
}

static bool
needs_walk(const GjPageRows *rows, const GjPageCheck *check)
{
	return !has_fixed_offset(rows, check->attribute) ||
		(check->other >= 0 && !has_fixed_offset(rows, check->other));
}

/*
 * Applies the checks on attributes with a fixed offset, or the others.  Each
 * walks the tuples that are left as far as it needs.
 */
static bool
filter(GjPageRows *rows, bool fixed)
{
	uint16		kept[MaxHeapTuplesPerPage];

	for (int i = 0; i < rows->nchecks && rows->n > 0; i++)
	{
		const GjPageCheck *check = &rows->checks[i];
		int			nkept;

		if (needs_walk(rows, check) == fixed || check->merged)
			continue;
		nkept = apply(rows, check, kept);
		if (nkept < 0)
			return false;
		if (nkept < rows->n)
			keep_only(rows, kept, nkept, fixed ? -1 : i);
	}
	return true;
}

/* The same for the filters of keys. */
static bool
filter_by_keys(GjPageRows *rows, bool fixed)
{
	uint16		kept[MaxHeapTuplesPerPage];

	for (int i = 0; i < rows->nkeys && rows->n > 0; i++)
	{
		const GjPageKey *key = &rows->keys[i];
		GjVector	vector;
		int			nkept;

		if (has_fixed_offset(rows, key->attribute) != fixed)
			continue;
		vector = reach(rows, key->attribute);
		nkept = gj_key_filter_select(key->filter, &vector, rows->n, kept);
		if (nkept < 0)
			return false;
		rows->without_partner += rows->n - nkept;
		if (nkept < rows->n)
			keep_only(rows, kept, nkept, -1);
	}
	return true;
}

/* Evaluates the other conditions on the tuples that are left. */
static void
filter_by_expression(GjPageRows *rows)
{
	GjPageExpression *e = &rows->expression;
	TupleTableSlot *slot = e->slot;
	TupleDesc	desc = slot->tts_tupleDescriptor;
	GjVector   *vectors = palloc(Max(1, e->nattributes) * sizeof(GjVector));
	uint16		kept[MaxHeapTuplesPerPage];
	int			nkept = 0;

	/* in ascending order, so that one walk finds them all */
	for (int i = e->nattributes - 1; i >= 0; i--)
		vectors[i] = reach(rows, e->attributes[i]);
	ExecStoreAllNullTuple(slot);
	e->econtext->ecxt_scantuple = slot;
	for (int j = 0; j < rows->n; j++)
	{
		for (int i = 0; i < e->nattributes; i++)
		{
			int			at = rows->attributes[e->attributes[i]].step;
			Form_pg_attribute att = TupleDescAttr(desc, at);
			const char *value = vectors[i].pointers[j];

			slot->tts_isnull[at] = value == NULL;
			if (value != NULL)
				slot->tts_values[at] = fetch_att(value + vectors[i].offset, att->attbyval,
												 att->attlen);
		}
		if (ExecQual(e->qual, e->econtext))
			kept[nkept++] = j;
		ResetExprContext(e->econtext);
	}
	ExecClearTuple(slot);
	pfree(vectors);
	if (nkept < rows->n)
		keep_only(rows, kept, nkept, rows->nchecks);
}

/* Measures how far tuples are read, in one of a page in some. */
static inline void
measure_reach(GjPageRows *rows)
{
	if (rows->n == 0 || --rows->unmeasured > 0)
		return;
	rows->reach = gj_page_reach(rows, rows->tuples[0]);
	rows->unmeasured = MEASURED_PAGES;
}

bool
gj_page_rows_load(GjPageRows *rows, Page page, const OffsetNumber *offsets, int n)
{
	uint16		mask = 0;
	int			natts = MaxTupleAttributeNumber;

	rows->n = n;
	rows->without_partner = 0;
	for (int j = 0; j < n; j++)
	{
		HeapTupleHeader tuple = (HeapTupleHeader)
		PageGetItem(page, PageGetItemId(page, offsets[j]));

		mask |= tuple->t_infomask;
		natts = Min(natts, HeapTupleHeaderGetNatts(tuple));
		rows->tuples[j] = tuple;
		rows->data[j] = (const char *) tuple + tuple->t_hoff;
	}
	rows->uniform = (mask & HEAP_HASNULL) == 0 && natts >= rows->nsteps;
	measure_reach(rows);

	gj_page_walk_start(rows);
	if (!filter(rows, true) || !filter_by_keys(rows, true) ||
		!filter(rows, false) || !filter_by_keys(rows, false))
		return false;
	if (rows->expression.qual != NULL && rows->n > 0)
		filter_by_expression(rows);
	if (rows->last_column >= 0 && rows->n > 0)
		(void) reach(rows, rows->last_column);
	return true;
}

void
gj_page_rows_vectors(const GjPageRows *rows, GjVector *vectors)
{
	for (int i = 0; i < rows->ncolumns; i++)
		vectors[i] = vector_of(rows, rows->columns[i]);
}

/* Values that tuples lack are not on the page. */
static void
move(const char **pointers, int n, const char *from, const char *to)
{
	for (int j = 0; j < n; j++)
		if (pointers[j] >= from && pointers[j] < from + BLCKSZ)
			pointers[j] = to + (pointers[j] - from);
}

void
gj_page_rows_move(GjPageRows *rows, const char *from, const char *to)
{
	if (rows->uniform)
	{
		move(rows->data, rows->n, from, to);
		for (int i = 0; i < rows->walked_runs; i++)
			if (rows->runs[i].last_use == INT_MAX)
				move(rows->runs[i].starts, rows->n, from, to);
		return;
	}
	for (int i = 0; i < rows->nattributes; i++)
		if (rows->attributes[i].last_use == INT_MAX)
			move(rows->attributes[i].pointers, rows->n, from, to);
}
