/*
 * numeric/decimal.c - converts numerics to 64-bit decimals and to canonical bytes.
 *
 * A numeric on disk starts with a 16-bit header (sign, display scale, weight)
 * or, in the long form, a 16-bit sign and scale and a 16-bit weight.  Then
 * follow digits of base 10000, most significant first; the first of them
 * stands for 10000^weight.  The format cannot change as long as pg_upgrade has
 * to work, so it is read directly. Calling the server's functions would cost
 * more than the budget of a whole row.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "compat.h"				/* headers of varlena, from 16 on */
#include "numeric/decimal.h"

#define SIGN_MASK			GJ_NUMERIC_FORM_MASK
#define NEGATIVE			0x4000
#define SHORT_FORM			GJ_NUMERIC_SHORT
#define SPECIAL				0xC000
#define SPECIAL_MASK		0xF000
#define NOT_A_NUMBER		0xC000
#define PLUS_INFINITY		0xD000
#define SHORT_NEGATIVE		GJ_NUMERIC_SHORT_NEGATIVE
#define SHORT_SCALE_MASK	GJ_NUMERIC_SCALE_MASK
#define SHORT_SCALE_SHIFT	GJ_NUMERIC_SCALE_SHIFT
#define SHORT_WEIGHT_SIGN	0x0040
#define SHORT_WEIGHT_MASK	0x003F
#define SCALE_MASK			0x3FFF

static const int64 power10[] = {
	INT64CONST(1), INT64CONST(10), INT64CONST(100), INT64CONST(1000),
	INT64CONST(10000), INT64CONST(100000), INT64CONST(1000000),
	INT64CONST(10000000), INT64CONST(100000000), INT64CONST(1000000000),
	INT64CONST(10000000000), INT64CONST(100000000000),
	INT64CONST(1000000000000), INT64CONST(10000000000000),
	INT64CONST(100000000000000), INT64CONST(1000000000000000),
	INT64CONST(10000000000000000), INT64CONST(100000000000000000),
	INT64CONST(1000000000000000000)
};

typedef struct Parsed
{
	uint16		special;		/* SPECIAL_MASK bits, or 0 */
	bool		negative;
	int			scale;
	int			weight;
	int			ndigits;
	const char *digits;			/* not aligned */
} Parsed;

static inline uint16
load16(const char *from)
{
	uint16		value;

	memcpy(&value, from, sizeof(value));
	return value;
}

static inline bool
parse(const char *data, uint32 length, Parsed *p)
{
	uint16		header;

	if (unlikely(length < 2))
		return false;
	header = load16(data);
	p->special = 0;
	if (likely((header & SIGN_MASK) == SHORT_FORM))
	{
		p->negative = (header & SHORT_NEGATIVE) != 0;
		p->scale = (header & SHORT_SCALE_MASK) >> SHORT_SCALE_SHIFT;
		p->weight = (header & SHORT_WEIGHT_MASK) -
			((header & SHORT_WEIGHT_SIGN) ? SHORT_WEIGHT_MASK + 1 : 0);
		p->digits = data + 2;
		p->ndigits = (length - 2) / 2;
		return true;
	}
	if ((header & SIGN_MASK) == SPECIAL)
	{
		p->special = header & SPECIAL_MASK;
		p->weight = p->ndigits = 0;
		return true;
	}
	if (unlikely(length < 4))
		return false;
	p->negative = (header & SIGN_MASK) == NEGATIVE;
	p->scale = header & SCALE_MASK;
	p->weight = (int16) load16(data + 2);
	p->digits = data + 4;
	p->ndigits = (length - 4) / 2;
	return true;
}

/* Returns false if the number has more decimals than scale or 18 digits. */
static bool
convert(const Parsed *p, int scale, int64 *decimal)
{
	int64		sum = 0;
	int			exponent = 4 * p->weight + scale;	/* power of ten of the current digit */

	if (p->ndigits > 0)
	{
		/* all digits after the first add up to less than one unit of it */
		if (unlikely(exponent > 14) &&
			(exponent > 18 || load16(p->digits) >= power10[18 - exponent]))
			return false;
		for (int i = 0; i < p->ndigits; i++, exponent -= 4)
		{
			int			digit = load16(p->digits + 2 * i);

			if (likely(exponent >= 0))
				sum += digit * power10[exponent];
			else
			{
				/* the last digit has fewer than four decimals */
				int			part = exponent == -2 ? 100 :
				exponent == -1 ? 10 : exponent == -3 ? 1000 : 0;

				if (unlikely(part == 0 || digit % part != 0))
					return false;
				sum += digit / part;
			}
		}
	}
	*decimal = p->negative ? -sum : sum;
	return true;
}

static bool
convert_any(const char *data, uint32 length, int scale, bool wider, int64 *decimal)
{
	Parsed		p;

	if (unlikely(!parse(data, length, &p)))
		return false;
	if (unlikely(p.special != 0))
	{
		*decimal = GJ_DECIMAL_NAN;
		return p.special == NOT_A_NUMBER;
	}
	if (unlikely(wider ? p.scale > scale : p.scale != scale))
		return false;
	return convert(&p, scale, decimal);
}

bool
gj_numeric_to_decimal(const char *data, uint32 length, int scale, int64 *decimal)
{
	return convert_any(data, length, scale, false, decimal);
}

bool
gj_numeric_to_wider(const char *data, uint32 length, int scale, int64 *decimal)
{
	return convert_any(data, length, scale, true, decimal);
}

int
gj_numeric_scale(const char *data, uint32 length)
{
	Parsed		p;

	if (!parse(data, length, &p))
		elog(ERROR, "malformed numeric of %u bytes", length);
	return p.special != 0 ? 0 : p.scale;
}

void
gj_decimal_to_numeric(int64 decimal, int scale, char *buffer)
{
	uint16	   *out = (uint16 *) (buffer + VARHDRSZ);
	uint16		reversed[8];
	int			n = 0;			/* digits so far, least significant first */
	int			fraction = (scale + 3) / 4; /* digits after the point */
	int			skipped = 0;	/* trailing zero digits */
	int			weight;
	uint64		rest;
	unsigned __int128 shifted;

	if (unlikely(decimal == GJ_DECIMAL_NAN))
	{
		out[0] = NOT_A_NUMBER;
		SET_VARSIZE(buffer, VARHDRSZ + sizeof(uint16));
		return;
	}
	rest = decimal < 0 ? -(uint64) decimal : (uint64) decimal;

	/* align the decimal point to a digit of base 10000 */
	shifted = (unsigned __int128) rest * power10[4 * fraction - scale];
	if (unlikely((uint64) (shifted >> 64) != 0))
	{
		reversed[n++] = (uint16) (shifted % 10000);
		shifted /= 10000;
		if (reversed[0] == 0)
		{
			n = 0;
			skipped = 1;
		}
	}
	rest = (uint64) shifted;
	while (rest != 0)
	{
		uint64		quotient = rest / 10000;
		uint16		digit = (uint16) (rest - quotient * 10000);

		if (n > 0 || digit != 0)
			reversed[n++] = digit;
		else
			skipped++;
		rest = quotient;
	}
	weight = n > 0 ? n + skipped - 1 - fraction : 0;
	out[0] = SHORT_FORM | (decimal < 0 ? SHORT_NEGATIVE : 0) |
		(scale << SHORT_SCALE_SHIFT) |
		(weight < 0 ? SHORT_WEIGHT_SIGN : 0) | (weight & SHORT_WEIGHT_MASK);
	for (int i = 0; i < n; i++)
		out[1 + i] = reversed[n - 1 - i];
	SET_VARSIZE(buffer, VARHDRSZ + sizeof(uint16) * (1 + n));
}

/*
 * Writes the sign or kind, the weight, and the digits without leading and
 * trailing zeros.  The server already strips those, but equality must not
 * depend on it.
 */
uint32
gj_numeric_canonical(const char *data, uint32 length, char *to)
{
	Parsed		p;
	uint16		head[2];

	if (!parse(data, length, &p))
		elog(ERROR, "malformed numeric of %u bytes", length);
	while (p.ndigits > 0 && load16(p.digits) == 0)
	{
		p.digits += 2;
		p.ndigits--;
		p.weight--;
	}
	while (p.ndigits > 0 && load16(p.digits + 2 * (p.ndigits - 1)) == 0)
		p.ndigits--;

	if (p.special != 0)
		head[0] = p.special;
	else
		head[0] = p.ndigits > 0 && p.negative;
	head[1] = p.ndigits > 0 ? (uint16) p.weight : 0;
	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), p.ndigits > 0 ? p.digits : "", p.ndigits * 2);
	return sizeof(head) + p.ndigits * 2;
}

bool
gj_numeric_bound(const char *data, uint32 length, int scale, int64 *bound)
{
	const int64 limit = power10[GJ_DECIMAL_MAX_SCALE];	/* above all decimals */
	Parsed		p;
	int64		sum = 0;
	bool		exact = true;
	int			exponent;		/* power of ten of the current digit */

	if (!parse(data, length, &p))
		elog(ERROR, "malformed numeric of %u bytes", length);
	if (p.special == NOT_A_NUMBER)
	{
		*bound = PG_INT64_MAX;
		return true;
	}
	while (p.ndigits > 0 && load16(p.digits) == 0)
	{
		p.digits += 2;
		p.ndigits--;
		p.weight--;
	}
	if (p.special != 0)
	{
		p.negative = p.special != PLUS_INFINITY;
		sum = limit;
	}
	exponent = 4 * p.weight + scale;
	for (int i = 0; i < p.ndigits && sum < limit; i++, exponent -= 4)
	{
		int			digit = load16(p.digits + 2 * i);

		if (exponent > GJ_DECIMAL_MAX_SCALE)
			sum = limit;		/* the first digit, which is nonzero */
		else if (exponent >= 0)
			sum = (int64) Min((__int128) limit,
							  sum + (__int128) digit * power10[exponent]);
		else if (exponent > -4)
		{
			sum += digit / power10[-exponent];
			exact = exact && digit % power10[-exponent] == 0;
		}
		else
			exact = exact && digit == 0;
	}
	if (sum >= limit)
	{
		/* stay below the value of NaN */
		*bound = p.negative ? PG_INT64_MIN : GJ_NUMERIC_BOUND_LIMIT;
		return false;
	}
	*bound = !p.negative ? sum : exact ? -sum : -sum - 1;
	return exact;
}

/* ---- tables for converting numerics to 64-bit decimals ---- */

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

/* ---- integers of the daemon's result as numerics ---- */

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
