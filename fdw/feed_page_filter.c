/*
 * feed_page_filter.c - the page feed's conditions on vectors of values.
 *
 * Every comparison is one of 64-bit integers.  Dates and timestamps are
 * integers already.  Numerics are converted, with NaN above all others as in
 * PostgreSQL's sort order.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "feed_page_filter.h"
#include "numeric.h"

#define NAN_ORDER PG_INT64_MAX

/* Adapts a test to a number strictly between bound and bound + 1. */
static GjPageTest
between(GjPageTest test, bool *never, bool *always)
{
	*never = test == GJ_TEST_EQ;
	*always = test == GJ_TEST_NE;
	if (test == GJ_TEST_LT || test == GJ_TEST_LE)
		return GJ_TEST_LE;
	return GJ_TEST_GT;
}

/*
 * Stores the day of a timestamp.  Returns true if the timestamp is its
 * midnight.
 */
static bool
day_of(Timestamp timestamp, int64 *day)
{
	int64		rest;

	/* both types use the extremes of their integers as infinities */
	if (TIMESTAMP_NOT_FINITE(timestamp))
	{
		*day = TIMESTAMP_IS_NOBEGIN(timestamp) ? DATEVAL_NOBEGIN : DATEVAL_NOEND;
		return true;
	}
	*day = timestamp / USECS_PER_DAY;
	rest = timestamp % USECS_PER_DAY;
	if (rest < 0)
		(*day)--;
	return rest == 0;
}

/* Converts a numeric parameter to a bound.  Any copy is freed with the row. */
static bool
numeric_bound(Datum value, int scale, ExprContext *econtext, int64 *bound)
{
	MemoryContext old = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);
	struct varlena *number = PG_DETOAST_DATUM_PACKED(value);

	MemoryContextSwitchTo(old);
	return gj_numeric_bound(VARDATA_ANY(number), VARSIZE_ANY_EXHDR(number), scale, bound);
}

bool
gj_page_check_bind(GjPageCheck *check, ExprContext *econtext)
{
	Datum		value;
	bool		isnull;
	bool		exact = true;

	check->test = check->qual.test;
	if (check->value == NULL)
		return true;
	value = ExecEvalExprSwitchContext(check->value, econtext, &isnull);
	if (isnull)
		return false;

	switch (check->qual.value_type)
	{
		case INT2OID:
			check->bound = DatumGetInt16(value);
			break;
		case INT4OID:
		case DATEOID:
			check->bound = DatumGetInt32(value);
			break;
		case TIMESTAMPOID:
			if (check->qual.type == DATEOID)
			{
				exact = day_of(DatumGetTimestamp(value), &check->bound);
				break;
			}
			/* FALLTHROUGH */
		case INT8OID:
		case TIMESTAMPTZOID:
			check->bound = DatumGetInt64(value);
			break;
		case NUMERICOID:
			exact = numeric_bound(value, check->qual.scale, econtext, &check->bound);
			break;
		default:
			elog(ERROR, "unexpected type %u in a condition of the page feed",
				 check->qual.value_type);
	}
	if (!exact)
	{
		bool		never;
		bool		always;

		check->test = between(check->test, &never, &always);
		if (never)
			return false;
		if (always)
			check->test = GJ_TEST_IS_NOT_NULL;
	}
	return true;
}

/* Loads the values as 64-bit integers.  Entries of NULLs are not set. */
static bool
load(const GjPageCheck *check, const GjVector *vector, int n, int64 *values)
{
	const char *const *pointers = vector->pointers;
	uint32		offset = vector->offset;

#define LOAD(type) \
	for (int i = 0; i < n; i++) \
		if (!vector->nullable || pointers[i] != NULL) \
			values[i] = *(const type *) (pointers[i] + offset)

	switch (check->qual.type)
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
			{
				const char *value = pointers[i];

				if (value == NULL)
					continue;
				value += offset;

				/*
				 * 18 digits are too short to be compressed or stored out of
				 * line
				 */
				if (VARATT_IS_EXTENDED(value) && !VARATT_IS_SHORT(value))
					return false;
				if (!gj_numeric_to_decimal(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value),
										   check->qual.scale, &values[i]))
					return false;
				if (values[i] == GJ_DECIMAL_NAN)
					values[i] = NAN_ORDER;
			}
			return true;
	}
	return false;
#undef LOAD
}

#define SELECT(condition) \
	if (!vector->nullable) \
		for (int i = 0; i < n; i++) \
		{ \
			kept[nkept] = i; \
			nkept += (condition); \
		} \
	else \
		for (int i = 0; i < n; i++) \
		{ \
			kept[nkept] = i; \
			nkept += pointers[i] != NULL && (condition); \
		}

int
gj_page_check_filter(const GjPageCheck *check, const GjVector *vector, int n,
					 uint16 *kept)
{
	const char *const *pointers = vector->pointers;
	int64		values[MaxHeapTuplesPerPage];
	int64		bound = check->bound;
	int			nkept = 0;

	if (check->test == GJ_TEST_IS_NULL || check->test == GJ_TEST_IS_NOT_NULL)
	{
		bool		wanted = check->test == GJ_TEST_IS_NULL;

		for (int i = 0; i < n; i++)
			if ((vector->nullable && pointers[i] == NULL) == wanted)
				kept[nkept++] = i;
		return nkept;
	}
	if (!load(check, vector, n, values))
		return -1;
	switch (check->test)
	{
		case GJ_TEST_LT:
			SELECT(values[i] < bound);
			break;
		case GJ_TEST_LE:
			SELECT(values[i] <= bound);
			break;
		case GJ_TEST_EQ:
			SELECT(values[i] == bound);
			break;
		case GJ_TEST_GE:
			SELECT(values[i] >= bound);
			break;
		case GJ_TEST_GT:
			SELECT(values[i] > bound);
			break;
		case GJ_TEST_NE:
			SELECT(values[i] != bound);
			break;
		case GJ_TEST_IS_NULL:
		case GJ_TEST_IS_NOT_NULL:
			break;
	}
	return nkept;
}
