/*
 * numeric/decimal_quick.c - tables for converting numerics to 64-bit decimals.
 */
#include "postgres.h"

#include "numeric/decimal_quick.h"

/* A header of one byte is 2 * size + 1, and size includes that byte. */
#define HEADER(length) ((1 + (length)) << 1 | 1)

/* a numeric's own header and up to three digits */
const uint64 gj_quick_numeric_bytes[256] = {
	[HEADER(2)] = UINT64CONST(0xFFFF),
	[HEADER(4)] = UINT64CONST(0xFFFFFFFF),
	[HEADER(6)] = UINT64CONST(0xFFFFFFFFFFFF),
	[HEADER(8)] = UINT64CONST(0xFFFFFFFFFFFFFFFF)
};

void
gj_quick_numeric_init(GjQuickNumeric *quick, int scale, bool wider)
{
	static const uint64 powers[] = {1, 10, 100, 1000, 10000, 100000000};
	int			digits = (scale + 3) / 4;	/* of base 10000 after the point */
	uint64		part = powers[4 * digits - scale];	/* units of 10^-scale */

	/* the third digit stands for 10000^(first - 2) units */
	*quick = (GjQuickNumeric)
	{
		.scale = scale,
			.form = GJ_NUMERIC_SHORT | (wider ? 0 : scale << GJ_NUMERIC_SCALE_SHIFT),
			.mask = GJ_NUMERIC_FORM_MASK | (wider ? 0 : GJ_NUMERIC_SCALE_MASK) | 0x7C,
			.bias = digits,
			.divisor = {powers[5] * part, powers[4] * part, part, 1},
			.factor = {1, 1, 1, powers[4] / part}
	};
	for (int i = 0; i < 4; i++)
		quick->reciprocal[i] = ((UINT64CONST(1) << 63) - 1) / quick->divisor[i] + 1;
}
