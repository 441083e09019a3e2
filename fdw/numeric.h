/*
 * numeric.h - converts numerics to 64-bit decimals and to canonical bytes.
 */
#ifndef GPUJOIN_NUMERIC_H
#define GPUJOIN_NUMERIC_H

#include "postgres.h"

#define GJ_DECIMAL_NAN PG_INT64_MIN
#define GJ_DECIMAL_MAX_SCALE 18

/*
 * A decimal and its own scale as one integer: decimal * factor + scale.  A scale
 * is less than the factor.
 */
#define GJ_PACKED_BITS 6
#define GJ_PACKED_FACTOR (1 << GJ_PACKED_BITS)

/* the 16-bit header of a numeric's short form */
#define GJ_NUMERIC_FORM_MASK		0xC000
#define GJ_NUMERIC_SHORT			0x8000
#define GJ_NUMERIC_SHORT_NEGATIVE	0x2000
#define GJ_NUMERIC_SCALE_MASK		0x1F80
#define GJ_NUMERIC_SCALE_SHIFT		7

/* Magnitude at which gj_numeric_bound() saturates. */
#define GJ_NUMERIC_BOUND_LIMIT (PG_INT64_MAX - 2)

/* Maximum size of a numeric datum made by gj_decimal_to_numeric(). */
#define GJ_DECIMAL_DATUM_SIZE 24

/* gj_numeric_to_decimal() for numerics of any form. */
extern bool gj_any_numeric_to_decimal(const char *data, uint32 length, int scale,
									  int64 *decimal);

/*
 * The same for a numeric of at most this scale, to which zeros are added.
 */
extern bool gj_numeric_to_wider(const char *data, uint32 length, int scale, int64 *decimal);

/* The display scale of a numeric; 0 of NaN and infinity. */
extern int	gj_numeric_scale(const char *data, uint32 length);

/*
 * Writes the numeric datum of decimal / 10^scale to buffer, which is aligned
 * to 4 and has GJ_DECIMAL_DATUM_SIZE bytes.  The bytes are the same as those
 * made by the server's own arithmetic.
 */
extern void gj_decimal_to_numeric(int64 decimal, int scale, char *buffer);

/*
 * Writes bytes that are identical for equal numerics.  Returns their number,
 * at most length + 4.
 */
extern uint32 gj_numeric_canonical(const char *data, uint32 length, char *to);

/*
 * Finds how a numeric compares with decimals of this scale.  data points to
 * its bytes after the varlena header.  Sets *bound and returns whether the
 * numeric equals *bound. If not, the numeric is between *bound and *bound + 1.
 * Values beyond all decimals saturate at PG_INT64_MIN and
 * GJ_NUMERIC_BOUND_LIMIT.  NaN sorts above everything, as PG_INT64_MAX.
 */
extern bool gj_numeric_bound(const char *data, uint32 length, int scale,
							 int64 *bound);

/*
 * Computes value * 10^scale of a numeric.  data points to its bytes after the
 * varlena header.  Returns false unless it is a decimal of exactly this scale
 * with at most 18 digits; infinity, more digits or another display scale are
 * refused.
 *
 * Nearly all numerics have the short form and one to three digits of base
 * 10000, of which the last may hold decimals only.  They are converted inline.
 */
static inline bool
gj_numeric_to_decimal(const char *data, uint32 length, int scale, int64 *decimal)
{
	static const int64 power10[] = {
		1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000
	};
	uint16		word[4];
	int64		sum;
	int			shift;			/* power of ten of the last digit */

	if (unlikely(length < 4 || length > 8))
		return gj_any_numeric_to_decimal(data, length, scale, decimal);
	memcpy(word, data, 4);
	if (unlikely((word[0] & (GJ_NUMERIC_FORM_MASK | GJ_NUMERIC_SCALE_MASK)) !=
				 (GJ_NUMERIC_SHORT | scale << GJ_NUMERIC_SCALE_SHIFT)))
		return gj_any_numeric_to_decimal(data, length, scale, decimal);
	sum = word[1];
	if (length >= 6)
	{
		memcpy(&word[2], data + 4, 2);
		sum = sum * 10000 + word[2];
	}
	if (length == 8)
	{
		memcpy(&word[3], data + 6, 2);
		sum = sum * 10000 + word[3];
	}

	/* the weight of the first digit is a signed number of seven bits */
	shift = 4 * (((word[0] & 0x7F) ^ 0x40) - 0x40 - (int) (length - 4) / 2) + scale;
	if (shift >= 0)
	{
		/* at most 10^12, so no decimal has more than 18 digits */
		if (unlikely(shift > 6))
			return gj_any_numeric_to_decimal(data, length, scale, decimal);
		sum *= power10[shift];
	}
	else
	{
		int64		quotient;

		switch (shift)
		{
			case -1:
				quotient = sum / 10;
				sum -= quotient * 10;
				break;
			case -2:
				quotient = sum / 100;
				sum -= quotient * 100;
				break;
			case -3:
				quotient = sum / 1000;
				sum -= quotient * 1000;
				break;
			default:
				return gj_any_numeric_to_decimal(data, length, scale, decimal);
		}
		if (unlikely(sum != 0))
			return false;
		sum = quotient;
	}
	*decimal = (word[0] & GJ_NUMERIC_SHORT_NEGATIVE) != 0 ? -sum : sum;
	return true;
}

#endif							/* GPUJOIN_NUMERIC_H */
