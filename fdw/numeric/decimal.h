/*
 * numeric/decimal.h - numerics as 64-bit decimals, as canonical bytes and as integers.
 */
#ifndef NUMERIC_DECIMAL_H
#define NUMERIC_DECIMAL_H

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

/*
 * Computes value * 10^scale of a numeric.  data points to its bytes after the
 * varlena header.  Returns false unless it is a decimal of exactly this scale
 * with at most 18 digits; infinity, more digits or another display scale are
 * refused.
 */
extern bool gj_numeric_to_decimal(const char *data, uint32 length, int scale, int64 *decimal);

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

/* ---- short numerics, without a call ---- */

/*
 * Nearly all numerics on a page have a varlena header of one byte, the short
 * form, and up to three digits of base 10000, of which the last may hold
 * decimals only.  How many digits there are, and what they stand for, varies
 * from row to row.  A branch would often be mispredicted, so tables that are
 * made once for each column take the place of branches.
 */

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

/* ---- integers of the daemon's result as numerics ---- */

/* number / 10^scale */
extern Datum gj_integer_numeric(__int128 number, int scale);

/*
 * number / 10^scale, of an unsigned integer of 256 bits, the lowest 64 first.
 * Decimals beyond shown, all of them zeros, are dropped.
 */
extern Datum gj_wide_numeric(const void *number, int scale, int shown);

#endif							/* NUMERIC_DECIMAL_H */
