/*
 * result/variance.c - variances and standard deviations from sums.
 *
 * The steps are those of the server's own final functions, by its own
 * functions, whose numbers of decimals are therefore the same:
 * (count * squares - sum^2) / (count * (count - 1)), and the square root of
 * that quotient with as many decimals.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "numeric/decimal.h"
#include "numeric/integer.h"
#include "result/variance.h"

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
