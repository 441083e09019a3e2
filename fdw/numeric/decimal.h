/*
 * numeric/decimal.h - converts numerics to 64-bit decimals and to canonical bytes.
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

#endif							/* NUMERIC_DECIMAL_H */
