/*
 * feed/page/conditions.c - the page feed's conditions on vectors of values.
 *
 * Every comparison is one of 64-bit integers.  Dates and timestamps are
 * integers already.  Numerics are converted, with NaN above all others as in
 * PostgreSQL's sort order.  All comparisons but <> select a range of integers,
 * so those of one column become a single range.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "feed/page/page.h"
#include "numeric/decimal.h"

#define NAN_ORDER PG_INT64_MAX

/* Converts a numeric parameter to a bound.  Any copy is freed with the row. */
static bool
numeric_bound(Datum value, int scale, ExprContext *econtext, int64 *bound)
{
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	struct varlena *number = PG_DETOAST_DATUM_PACKED(value);

	MemoryContextSwitchTo(old);
	return gj_numeric_bound(VARDATA_ANY(number), VARSIZE_ANY_EXHDR(number), scale, bound);
}

/* Sets the range of the values that pass.  Returns false if none does. */
static bool
set_range(GjPageCheck *check, int64 bound)
{
	check->low = PG_INT64_MIN;
	check->high = PG_INT64_MAX;
	switch (check->test)
	{
		case GJ_TEST_LT:
			check->high = bound - (bound > PG_INT64_MIN);
			return bound > PG_INT64_MIN;
		case GJ_TEST_LE:
			check->high = bound;
			return true;
		case GJ_TEST_EQ:
		case GJ_TEST_NE:
			check->low = check->high = bound;
			return true;
		case GJ_TEST_GE:
			check->low = bound;
			return true;
		case GJ_TEST_GT:
			check->low = bound + (bound < PG_INT64_MAX);
			return bound < PG_INT64_MAX;
		case GJ_TEST_IN:
		case GJ_TEST_NOT_IN:
		case GJ_TEST_IS_NULL:
		case GJ_TEST_IS_NOT_NULL:
			break;
	}
	return true;
}

/* Is it one value, compared by order? */
static bool
is_comparison(const GjPageCheck *check)
{
	return check->value != NULL && check->test != GJ_TEST_IN && check->test != GJ_TEST_NOT_IN;
}

static bool
is_range(const GjPageCheck *check)
{
	return is_comparison(check) && check->test != GJ_TEST_NE &&
		check->test != GJ_TEST_IS_NOT_NULL;
}

bool
gj_page_checks_merge(GjPageCheck *checks, int n)
{
	for (int i = 1; i < n; i++)
		for (int j = 0; j < i && !checks[i].merged; j++)
		{
			if (checks[j].merged || checks[j].attribute != checks[i].attribute ||
				!is_range(&checks[i]) || !is_range(&checks[j]))
				continue;
			checks[j].low = Max(checks[j].low, checks[i].low);
			checks[j].high = Min(checks[j].high, checks[i].high);
			checks[i].merged = true;
			if (checks[j].low > checks[j].high)
				return false;
		}
	return true;
}

bool
gj_page_check_bind(GjPageCheck *check, ExprContext *econtext, MemoryContext lists)
{
	Datum		value;
	int64		bound = 0;
	bool		isnull;
	bool		exact = true;

	check->test = check->qual.test;
	check->merged = false;
	if (check->value == NULL)
		return true;
	value = ExecEvalExprSwitchContext(check->value, econtext, &isnull);
	if (isnull)
		return false;
	if (!is_comparison(check))
	{
		MemoryContext old = MemoryContextSwitchTo(lists);

		gj_page_list_read(check, value);
		MemoryContextSwitchTo(old);
		return true;
	}

	switch (check->qual.value_type)
	{
		case INT2OID:
			bound = DatumGetInt16(value);
			break;
		case INT4OID:
		case DATEOID:
			bound = DatumGetInt32(value);
			break;
		case NUMERICOID:
			exact = numeric_bound(value, check->qual.scale, econtext, &bound);
			break;
		case TIMESTAMPOID:
			if (check->qual.type == DATEOID)
			{
				exact = gj_day_of_timestamp(DatumGetTimestamp(value), &bound);
				break;
			}
			gj_fallthrough;
		default:				/* int8 and timestamptz: gj_page_qual() accepts no others */
			bound = DatumGetInt64(value);
			break;
	}
	if (!exact)
	{
		bool		never;
		bool		always;

		check->test = gj_test_between(check->test, &never, &always);
		if (never)
			return false;
		if (always)
			check->test = GJ_TEST_IS_NOT_NULL;
	}
	return set_range(check, bound);
}

/* load_numeric() for any numeric. */
static pg_noinline bool
load_any_numeric(const char *value, int scale, int64 *number)
{
	/* 18 digits are too short to be compressed or stored out of line */
	if (VARATT_IS_COMPRESSED(value) || VARATT_IS_EXTERNAL(value))
		return false;
	if (!gj_numeric_to_decimal(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), scale, number))
		return false;
	if (*number == GJ_DECIMAL_NAN)
		*number = NAN_ORDER;
	return true;
}

/*
 * Stores the value of a numeric column as an integer.  Returns false if it does
 * not fit the column's type.
 */
static pg_attribute_always_inline bool
load_numeric(const GjQuickNumeric *quick, const char *value, int64 *number)
{
	return likely(gj_quick_numeric(quick, false, value, number)) ||
		load_any_numeric(value, quick->scale, number);
}

/*
 * The rows whose integers are within the range, or outside of it.  One unsigned
 * comparison tells whether a value is within.
 */
#define SELECT(type) \
	for (int i = 0; i < n; i++) \
		if (!nullable || pointers[i] != NULL) \
		{ \
			int64		v = *(const type *) (pointers[i] + offset); \
			\
			kept[nkept] = i; \
			nkept += ((uint64) v - low <= span) == within; \
		}

static inline int
select_integers(const GjPageCheck *check, const GjVector *vector, int n, bool nullable,
				uint16 *kept)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	uint64		low = check->low;
	uint64		span = (uint64) check->high - low;
	bool		within = check->test != GJ_TEST_NE;
	int			nkept = 0;

	switch (check->qual.type)
	{
		case INT2OID:
			SELECT(int16);
			return nkept;
		case INT4OID:
		case DATEOID:
			SELECT(int32);
			return nkept;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			SELECT(int64);
			return nkept;
	}
	return -1;
}
#undef SELECT

static pg_attribute_always_inline int
select_numerics(const GjPageCheck *check, const GjVector *vector, int n, bool nullable,
				uint16 *kept)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;
	uint64		low = check->low;
	uint64		span = (uint64) check->high - low;
	bool		within = check->test != GJ_TEST_NE;
	int			nkept = 0;

	for (int i = 0; i < n; i++)
	{
		int64		v;

		if (nullable && pointers[i] == NULL)
			continue;
		if (!load_numeric(&check->numeric, pointers[i] + offset, &v))
			return -1;
		kept[nkept] = i;
		nkept += ((uint64) v - low <= span) == within;
	}
	return nkept;
}

int
gj_page_check_filter(const GjPageCheck *check, const GjVector *vector, int n,
					 uint16 *kept)
{
	int			nkept = 0;

	if (check->test == GJ_TEST_IS_NULL || check->test == GJ_TEST_IS_NOT_NULL)
	{
		bool		wanted = check->test == GJ_TEST_IS_NULL;

		for (int i = 0; i < n; i++)
			if ((vector->nullable && vector->pointers[i] == NULL) == wanted)
				kept[nkept++] = i;
		return nkept;
	}
	if (check->test == GJ_TEST_IN || check->test == GJ_TEST_NOT_IN)
		return gj_page_list_filter(check, vector, n, kept);
	if (check->qual.type == NUMERICOID)
		return vector->nullable ? select_numerics(check, vector, n, true, kept) :
			select_numerics(check, vector, n, false, kept);
	return vector->nullable ? select_integers(check, vector, n, true, kept) :
		select_integers(check, vector, n, false, kept);
}

/* ---- two columns ---- */

#define LOAD(type) \
	for (int i = 0; i < n; i++) \
		if (pointers[i] != NULL) \
			values[i] = *(const type *) (pointers[i] + offset)

/* Loads the values that are not NULL. */
static bool
load_values(Oid type, const GjQuickNumeric *quick, const GjVector *vector, int n,
			int64 *values)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;

	switch (type)
	{
		case INT2OID:
			LOAD(int16);
			return true;
		case INT4OID:
		case DATEOID:
			LOAD(int32);
			return true;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			LOAD(int64);
			return true;
		case NUMERICOID:
			for (int i = 0; i < n; i++)
				if (pointers[i] != NULL &&
					!load_numeric(quick, pointers[i] + offset, &values[i]))
					return false;
			return true;
	}
	return false;
}
#undef LOAD

/* Which results of a comparison pass: bit 0 less, bit 1 equal, bit 2 greater. */
static unsigned
passing_results(GjPageTest test)
{
	switch (test)
	{
		case GJ_TEST_LT:
			return 1;
		case GJ_TEST_LE:
			return 3;
		case GJ_TEST_EQ:
			return 2;
		case GJ_TEST_GE:
			return 6;
		case GJ_TEST_GT:
			return 4;
		case GJ_TEST_NE:
			return 5;
		default:
			return 0;
	}
}

int
gj_page_check_compare(const GjPageCheck *check, const GjVector *left,
					  const GjVector *right, int n, uint16 *kept)
{
	unsigned	passing = passing_results(check->test);
	int64		a[MaxHeapTuplesPerPage];
	int64		b[MaxHeapTuplesPerPage];
	int			nkept = 0;

	if (!load_values(check->qual.type, &check->numeric, left, n, a) ||
		!load_values(check->qual.value_type, &check->numeric, right, n, b))
		return -1;
	for (int i = 0; i < n; i++)
		if (left->pointers[i] != NULL && right->pointers[i] != NULL)
		{
			kept[nkept] = i;
			nkept += (passing >> (1 + (a[i] > b[i]) - (a[i] < b[i]))) & 1;
		}
	return nkept;
}
