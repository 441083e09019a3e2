/*
 * result_finish.c - makes PostgreSQL's results of aggregates from the daemon's
 * sums and counts.
 *
 * The server's own functions divide, so that the number of decimals is
 * PostgreSQL's by construction.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "numeric.h"
#include "result_finish.h"

/* A 128-bit integer has at most 39 digits, here with leading zeros. */
#define MAX_DIGITS 80

static __int128
integer(const GjColumn *column, Datum datum)
{
	__int128	wide;

	switch (column->width)
	{
		case 1:
			return DatumGetChar(datum);
		case 2:
			return DatumGetInt16(datum);
		case 4:
			return DatumGetInt32(datum);
		case 8:
			return DatumGetInt64(datum);
		default:
			memcpy(&wide, DatumGetPointer(datum), sizeof(wide));
			return wide;
	}
}

/* number / 10^scale, by way of its text */
static Datum
long_numeric(__int128 number, int scale)
{
	char		text[MAX_DIGITS + 3];
	char	   *at = text + sizeof(text);
	unsigned __int128 rest = number < 0 ? -(unsigned __int128) number : (unsigned __int128) number;

	*--at = '\0';
	for (int digit = 0; rest != 0 || digit <= scale; digit++)
	{
		if (digit == scale && scale > 0)
			*--at = '.';
		*--at = '0' + (int) (rest % 10);
		rest /= 10;
	}
	if (number < 0)
		*--at = '-';
	return DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

static Datum
numeric_of(__int128 number, int scale)
{
	char	   *datum;

	if (number >= PG_INT64_MAX || number <= PG_INT64_MIN)
		return long_numeric(number, scale);
	datum = palloc(GJ_DECIMAL_DATUM_SIZE);
	gj_decimal_to_numeric((int64) number, scale, datum);
	return PointerGetDatum(datum);
}

/*
 * The number of decimals to show: that of all values, or the largest one
 * among those added.  Digits beyond it are zeros.
 */
static Datum
shown_numeric(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	const GjColumn *column = &aggregate->columns[result->column];
	__int128	number = integer(column, raw[result->column]);
	int			scale = result->scale;

	if (result->display_scale >= 0)
	{
		int			shown = DatumGetInt32(raw[result->display_scale]);

		for (; scale > shown; scale--)
			number /= 10;
	}
	return numeric_of(number, scale);
}

static Datum
finish(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	Datum		value = raw[result->column];

	switch (result->finish)
	{
		case GJ_FINISH_VALUE:
			break;
		case GJ_FINISH_INT8:
			{
				__int128	number = integer(&aggregate->columns[result->column], value);

				if (number < PG_INT64_MIN || number > PG_INT64_MAX)
					ereport(ERROR,
							(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							 errmsg("bigint out of range")));
				return Int64GetDatum((int64) number);
			}
		case GJ_FINISH_NUMERIC:
			return shown_numeric(aggregate, result, raw);
		case GJ_FINISH_AVERAGE:
			return DirectFunctionCall2(numeric_div, shown_numeric(aggregate, result, raw),
									   NumericGetDatum(int64_to_numeric(DatumGetInt64(raw[result->count]))));
	}
	return value;
}

void
gj_finish_group(const GjAggregate *aggregate, const Datum *raw, const bool *raw_null,
				Datum *values, bool *isnull)
{
	for (int i = 0; i < aggregate->nresults; i++)
	{
		const GjResult *result = &aggregate->results[i];

		isnull[i] = raw_null[result->column];
		values[i] = isnull[i] ? (Datum) 0 : finish(aggregate, result, raw);
	}
}
