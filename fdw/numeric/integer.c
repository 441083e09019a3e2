/*
 * numeric/integer.c - integers of the daemon's result as numerics.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "numeric/decimal.h"

/* 64-bit parts of a wide integer. */
#define PARTS 4

/* An integer of 256 bits has at most 78 digits; zeros may precede them. */
#define MAX_DIGITS 160

/* Divides the number by ten and returns the remainder. */
static int
next_digit(uint64 *number)
{
	unsigned __int128 rest = 0;

	for (int i = PARTS - 1; i >= 0; i--)
	{
		rest = rest << 64 | number[i];
		number[i] = (uint64) (rest / 10);
		rest %= 10;
	}
	return (int) rest;
}

static bool
is_zero(const uint64 *number)
{
	return (number[0] | number[1] | number[2] | number[3]) == 0;
}

/* By way of its text. */
static Datum
numeric_of_parts(bool negative, uint64 *number, int scale)
{
	char		text[MAX_DIGITS + 3];
	char	   *at = text + sizeof(text);

	*--at = '\0';
	for (int digit = 0; !is_zero(number) || digit <= scale; digit++)
	{
		if (digit == scale && scale > 0)
			*--at = '.';
		*--at = '0' + next_digit(number);
	}
	if (negative)
		*--at = '-';
	return DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid),
							   Int32GetDatum(-1));
}

Datum
gj_integer_numeric(__int128 number, int scale)
{
	unsigned __int128 rest = number < 0 ? -(unsigned __int128) number : (unsigned __int128) number;
	uint64		parts[PARTS] = {(uint64) rest, (uint64) (rest >> 64)};
	char	   *datum;

	if (number >= PG_INT64_MAX || number <= PG_INT64_MIN)
		return numeric_of_parts(number < 0, parts, scale);
	datum = palloc(GJ_DECIMAL_DATUM_SIZE);
	gj_decimal_to_numeric((int64) number, scale, datum);
	return PointerGetDatum(datum);
}

Datum
gj_wide_numeric(const void *number, int scale, int shown)
{
	uint64		parts[PARTS];

	memcpy(parts, number, sizeof(parts));
	for (; scale > shown; scale--)
		(void) next_digit(parts);
	return numeric_of_parts(false, parts, scale);
}
