/*
 * numeric.h - numeric datums as 64-bit decimals, and as canonical bytes.
 */
#ifndef GPUJOIN_NUMERIC_H
#define GPUJOIN_NUMERIC_H

#include "postgres.h"

#define GJ_DECIMAL_NAN PG_INT64_MIN
#define GJ_DECIMAL_MAX_SCALE 18

/* Bytes of a numeric datum made by gj_decimal_to_numeric(), at most. */
#define GJ_DECIMAL_DATUM_SIZE 24

/*
 * Value * 10^scale of the numeric whose bytes behind the varlena header are
 * data.  False where it is not a decimal of exactly this scale and at most 18
 * digits: infinity, more digits, another display scale.
 */
extern bool gj_numeric_to_decimal(const char *data, uint32 length, int scale,
								  int64 *decimal);

/*
 * Writes the numeric datum of decimal / 10^scale to buffer, which is aligned
 * to 4 and has GJ_DECIMAL_DATUM_SIZE bytes; the same bytes as the server's
 * own arithmetic makes.
 */
extern void gj_decimal_to_numeric(int64 decimal, int scale, char *buffer);

/* Bytes that equal numerics share; returns their number, at most length + 4. */
extern uint32 gj_numeric_canonical(const char *data, uint32 length, char *to);

/*
 * How any numeric, whose bytes behind the varlena header are data, compares
 * with decimals of this scale.  Sets *bound and returns whether the numeric is
 * exactly *bound; else it lies between *bound and *bound + 1.  Values beyond
 * all decimals saturate; NaN sorts above everything, as PG_INT64_MAX.
 */
extern bool gj_numeric_bound(const char *data, uint32 length, int scale,
							 int64 *bound);

#endif							/* GPUJOIN_NUMERIC_H */
