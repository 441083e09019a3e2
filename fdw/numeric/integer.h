/*
 * numeric/integer.h - integers of the daemon's result as numerics.
 */
#ifndef NUMERIC_INTEGER_H
#define NUMERIC_INTEGER_H

#include "gpujoin.h"

/* Reads an integer of up to 128 bits from a column of the daemon's result. */
extern __int128 gj_integer(const GjColumn *column, Datum datum);

/* number / 10^scale */
extern Datum gj_integer_numeric(__int128 number, int scale);

/*
 * number / 10^scale, of an unsigned integer of 256 bits, the lowest 64 first.
 * Decimals beyond shown, all of them zeros, are dropped.
 */
extern Datum gj_wide_numeric(const void *number, int scale, int shown);

#endif							/* NUMERIC_INTEGER_H */
