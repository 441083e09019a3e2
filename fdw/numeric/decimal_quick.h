/*
 * numeric/decimal_quick.h - converts the numerics of a column to 64-bit decimals, many
 * at a time.
 *
 * Nearly all numerics on a page have a varlena header of one byte, the short
 * form, and up to three digits of base 10000, of which the last may hold
 * decimals only.  How many digits there are, and what they stand for, varies
 * from row to row.  A branch would often be mispredicted, so tables that are
 * made once for each column take the place of branches.
 */
#ifndef NUMERIC_DECIMAL_QUICK_H
#define NUMERIC_DECIMAL_QUICK_H

#include "numeric/decimal.h"

/*
 * The unit is 10000^-n, with the smallest n such that it is not more than
 * 10^-scale.  Three digits are an integer sum, of which the first digit stands
 * for 10000^first units, first = 0 to 3.
 */
typedef struct GjQuickNumeric
{
	int			scale;			/* of the decimals */
	uint64		form;			/* the header's bits that do not depend on the value */
	uint64		mask;			/* which bits these are, and those of first > 3 */
	uint64		bias;			/* weight + bias = first */
	uint64		divisor[4];		/* of the sum, for each first */
	uint64		reciprocal[4];	/* 2^63 / divisor, rounded up */
	uint64		factor[4];		/* of the quotient */
} GjQuickNumeric;

/*
 * Prepares the conversion to decimals of a scale of at most GJ_DECIMAL_MAX_SCALE.
 * wider: of numerics with this scale or a smaller one.
 */
extern void gj_quick_numeric_init(GjQuickNumeric *quick, int scale, bool wider);

/* For each byte that can begin a varlena: which bytes after it are a numeric's. */
extern const uint64 gj_quick_numeric_bytes[256];

/*
 * Computes what gj_numeric_to_decimal() or gj_numeric_to_wider() does, given
 * the address of the varlena's header.  Returns false if that needs more, also
 * if the numeric is no such decimal.  The caller passes wider as a constant.
 */
static pg_attribute_always_inline bool
gj_quick_numeric(const GjQuickNumeric *quick, bool wider, const char *value, int64 *decimal)
{
	uint64		word;
	uint64		header;
	uint64		sum;
	uint64		quotient;
	int64		sign;
	int			first;

	/* eight bytes are read even if the value has fewer, but not on another page of memory */
	if (unlikely(((uintptr_t) value & 4095) > 4096 - 1 - sizeof(word)))
		return false;
	memcpy(&word, value + 1, sizeof(word));
	word &= gj_quick_numeric_bytes[(uint8) *value];

	/*
	 * The weight is a signed number of seven bits, here plus 64.  If first is
	 * less than 0, the bits of first > 3 are set too.
	 */
	header = (word ^ 0x40) + quick->bias - 0x40;
	if (unlikely((header & quick->mask) != quick->form))
		return false;
	if (wider && unlikely((int) (word & GJ_NUMERIC_SCALE_MASK) >
						  quick->scale << GJ_NUMERIC_SCALE_SHIFT))
		return false;
	first = header & 3;

	/*
	 * The quotient of a multiple of the divisor is exact.  The sum is none if
	 * the numeric has more decimals, or digits that are no digits.
	 */
	sum = (uint64) (uint16) (word >> 16) * 100000000 +
		(uint64) (uint16) (word >> 32) * 10000 + (word >> 48);
	quotient = (unsigned __int128) (2 * sum) * quick->reciprocal[first] >> 64;
	if (unlikely(quotient * quick->divisor[first] != sum))
		return false;
	sign = -(int64) ((word & GJ_NUMERIC_SHORT_NEGATIVE) != 0);
	*decimal = (int64) (quotient * quick->factor[first] ^ sign) - sign;
	return true;
}

#endif							/* NUMERIC_DECIMAL_QUICK_H */
