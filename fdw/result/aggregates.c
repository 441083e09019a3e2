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
#include "result/result.h"

/* ---- variances and standard deviations from sums ---- */

/*
 * The steps are those of the server's own final functions, by its own
 * functions, whose numbers of decimals are therefore the same:
 * (count * squares - sum^2) / (count * (count - 1)), and the square root of
 * that quotient with as many decimals.
 */

static bool
is_less(Datum a, Datum b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, a, b));
}

static Datum
multiply(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

/* units / 10^scale for any scale */
static Datum
decimal(int units, int scale)
{
	Datum		number = gj_integer_numeric(units, Min(scale, GJ_DECIMAL_MAX_SCALE));

	for (; scale > GJ_DECIMAL_MAX_SCALE; scale--)
		number = multiply(number, gj_integer_numeric(1, 1));
	return number;
}

/*
 * The square root, rounded to the number's own scale.  numeric_sqrt may return
 * more decimals, and rounding these again would round twice.
 */
static Datum
square_root(Datum number)
{
	int			scale = DatumGetInt32(DirectFunctionCall1(numeric_scale, number));
	Datum		root = DirectFunctionCall1(numeric_sqrt, number);
	Datum		middle;

	if (DatumGetInt32(DirectFunctionCall1(numeric_scale, root)) <= scale)
		return root;
	root = DirectFunctionCall2(numeric_trunc, root, Int32GetDatum(scale));
	middle = DirectFunctionCall2(numeric_add, root, decimal(5, scale + 1));
	if (is_less(number, multiply(middle, middle)))
		return root;
	return DirectFunctionCall2(numeric_add, root, decimal(1, scale));
}

Datum
gj_spread(GjSpread spread, int64 count, Datum sum, Datum squares, bool *isnull)
{
	Datum		n = NumericGetDatum(int64_to_numeric(count));
	Datum		m = spread.sample ? NumericGetDatum(int64_to_numeric(count - 1)) : n;
	Datum		zero = gj_integer_numeric(0, 0);
	Datum		numerator;
	Datum		variance;

	*isnull = count < (spread.sample ? 2 : 1);
	if (*isnull)
		return (Datum) 0;
	numerator = DirectFunctionCall2(numeric_sub, multiply(n, squares), multiply(sum, sum));
	if (!is_less(zero, numerator))
		return zero;
	variance = DirectFunctionCall2(numeric_div, numerator, multiply(n, m));
	return spread.root ? square_root(variance) : variance;
}

/* ---- aggregates ---- */

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

/* Reads an integer of up to 128 bits from a column of the daemon's result. */
static __int128
read_integer(const GjColumn *column, Datum datum)
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

static Datum
shown_numeric(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return numeric_at(read_integer(&aggregate->columns[result->column], raw[result->column]),
					  result->scale, shown_scale(result, raw));
}

/* The right shift rounds down, as packing needs it. */
static Datum
packed_numeric(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	int64		packed = (int64) read_integer(&aggregate->columns[result->column], raw[result->column]);

	return numeric_at(packed >> GJ_PACKED_BITS, result->scale,
					  Min(result->scale, (int) (packed & (GJ_PACKED_FACTOR - 1))));
}

/* The number of values, which is a sum of such numbers with grouping sets. */
static int64
count_of(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return (int64) read_integer(&aggregate->columns[result->count], raw[result->count]);
}

static int64
integer_of(const GjAggregate *aggregate, const GjResult *result, const Datum *raw)
{
	return (int64) read_integer(&aggregate->columns[result->column], raw[result->column]);
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
				__int128	number = read_integer(&aggregate->columns[result->column], value);

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
