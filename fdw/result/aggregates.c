/*
 * result/aggregates.c - makes PostgreSQL's results of aggregates from the daemon's
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

#include "job/key_forms.h"
#include "numeric/decimal.h"
#include "numeric/integer.h"
#include "result/aggregates.h"
#include "result/variance.h"

/*
 * The number of decimals to show: that of all values, or the largest one
 * among those added.  Digits beyond it are zeros.
 */
static int
shown_scale(const GjResult *result, const Datum *raw)
{
	return result->display_scale < 0 ? result->scale :
		Min(result->scale, DatumGetInt32(raw[result->display_scale]));
}

static Datum
numeric_at(__int128 number, int scale, int shown)
{
	for (; scale > shown; scale--)
		number /= 10;
	return gj_integer_numeric(number, shown);
}

static Datum
shown_numeric(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return numeric_at(gj_integer(&aggregate->columns[result->column], raw[result->column]),
					  result->scale, shown_scale(result, raw));
}

/* The right shift rounds down, as packing needs it. */
static Datum
packed_numeric(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	int64		packed = (int64) gj_integer(&aggregate->columns[result->column], raw[result->column]);

	return numeric_at(packed >> GJ_PACKED_BITS, result->scale,
					  Min(result->scale, (int) (packed & (GJ_PACKED_FACTOR - 1))));
}

/* The number of values, which is a sum of such numbers with grouping sets. */
static int64
count_of(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return (int64) gj_integer(&aggregate->columns[result->count], raw[result->count]);
}

static int64
integer_of(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return (int64) gj_integer(&aggregate->columns[result->column], raw[result->column]);
}

static Datum
finish_spread(const GjAggregate *aggregate, const GjResult *result, const Datum *raw, bool *isnull)
{
	GjSpread	spread = {
		.sample = result->finish == GJ_FINISH_VAR_SAMP || result->finish == GJ_FINISH_STDDEV_SAMP,
		.root = result->finish == GJ_FINISH_STDDEV_POP || result->finish == GJ_FINISH_STDDEV_SAMP,
	};
	Datum		squares = gj_wide_numeric(DatumGetPointer(raw[result->squares]),
										2 * result->scale, 2 * shown_scale(result, raw));

	return gj_spread(spread, count_of(aggregate, result, raw),
					 shown_numeric(aggregate, result, raw), squares, isnull);
}

static Datum
finish(const GjAggregate *aggregate, const GjResult *result, const Datum *raw, bool *isnull)
{
	Datum		value = raw[result->column];

	switch (result->finish)
	{
		case GJ_FINISH_VALUE:
			break;
		case GJ_FINISH_INT8:
			{
				__int128	number = gj_integer(&aggregate->columns[result->column], value);

				if (number < PG_INT64_MIN || number > PG_INT64_MAX)
					ereport(ERROR,
							(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
							 errmsg("bigint out of range")));
				return Int64GetDatum((int64) number);
			}
		case GJ_FINISH_NUMERIC:
			return shown_numeric(aggregate, result, raw);
		case GJ_FINISH_PACKED:
			return packed_numeric(aggregate, result, raw);
		case GJ_FINISH_AVERAGE:
			return DirectFunctionCall2(numeric_div, shown_numeric(aggregate, result, raw),
									   NumericGetDatum(int64_to_numeric(count_of(aggregate, result, raw))));
		case GJ_FINISH_VAR_POP:
		case GJ_FINISH_VAR_SAMP:
		case GJ_FINISH_STDDEV_POP:
		case GJ_FINISH_STDDEV_SAMP:
			return finish_spread(aggregate, result, raw, isnull);
		case GJ_FINISH_FLOAT4:
			return Float4GetDatum((float4) gj_ordered_float(integer_of(aggregate, result, raw)));
		case GJ_FINISH_FLOAT8:
			return Float8GetDatum(gj_ordered_float(integer_of(aggregate, result, raw)));
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
		values[i] = isnull[i] ? (Datum) 0 : finish(aggregate, result, raw, &isnull[i]);
	}
}
