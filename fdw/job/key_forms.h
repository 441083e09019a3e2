/*
 * job/key_forms.h - canonical forms of keys, and their hashes.
 *
 * numeric/decimal.h has that of numerics.
 */
#ifndef JOB_KEY_FORMS_H
#define JOB_KEY_FORMS_H

#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"
#include "utils/date.h"

#include "job/job.h"

/* PostgreSQL equates all NaNs, and -0 with 0. */
static inline int64
gj_float_key(double value)
{
	int64		bits;

	if (isnan(value))
		return PG_INT64_MAX;	/* a NaN's bits too, but no infinity's */
	if (value == 0)
		value = 0;				/* not -0 */
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

/*
 * Integers in the order of floats: the bits of a negative one count downwards.
 * NaNs follow all others.  -0 equals 0, but looks different, and no order tells
 * which of them is the least or greatest value: it becomes the integer that the
 * daemon takes for a decimal's NaN, which it does not compare.
 */
static inline int64
gj_float_order(double value)
{
	int64		bits;

	if (isnan(value))
		return PG_INT64_MAX;
	memcpy(&bits, &value, sizeof(bits));
	if (bits >= 0)
		return bits;
	return value == 0 ? PG_INT64_MIN : bits ^ PG_INT64_MAX;
}

/* The float of such an integer. */
static inline double
gj_ordered_float(int64 order)
{
	int64		bits = order >= 0 ? order : order ^ PG_INT64_MAX;
	double		value;

	if (order == PG_INT64_MIN)
		return -0.0;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/*
 * The timestamp that equals the date.  A date beyond all timestamps equals
 * none, so it may become any value that is no timestamp.
 */
static inline int64
gj_date_key(DateADT date)
{
	if (DATE_IS_NOBEGIN(date))
		return DT_NOBEGIN;
	if (DATE_IS_NOEND(date))
		return DT_NOEND;
	if (date >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)
		return END_TIMESTAMP;
	return date * USECS_PER_DAY;
}

/* PostgreSQL compares intervals by their spans, with months of 30 days. */
static inline void
gj_interval_key(const Interval *interval, char *to)
{
	int64		days = interval->month * INT64CONST(30) + interval->day;
	__int128	span = interval->time + (__int128) days * USECS_PER_DAY;

	memcpy(to, &span, sizeof(span));
}

/* ---- the key of bytes in a filter (shm/filter.h) ---- */

static inline uint64
gj_hash_word(uint64 h, uint64 word)
{
	h = (h ^ word) * GJ_HASH_2;
	return h ^ h >> 32;
}

static inline uint64
gj_load_word(const char *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/*
 * Less than 8 bytes as one word, with zeros above them.  Loads may overlap: they
 * have the same byte at the same place.
 */
static inline uint64
gj_load_short(const char *bytes, uint32 n)
{
	const uint8 *b = (const uint8 *) bytes;
	uint32		first;
	uint32		last;

	if (n >= sizeof(uint32))
	{
		memcpy(&first, bytes, sizeof(first));
		memcpy(&last, bytes + n - sizeof(last), sizeof(last));
		return first | (uint64) last << 32 >> 8 * (sizeof(uint64) - n);
	}
	if (n == 0)
		return 0;
	return b[0] | (uint64) b[n / 2] << 8 * (n / 2) | (uint64) b[n - 1] << 8 * (n - 1);
}

static inline int64
gj_hash_bytes(const char *bytes, uint32 n)
{
	uint64		h = n * GJ_HASH_1;
	uint32		at = 0;

	if (n < sizeof(uint64))
		return gj_hash_word(h, gj_load_short(bytes, n));
	for (; n - at >= sizeof(uint64); at += sizeof(uint64))
		h = gj_hash_word(h, gj_load_word(bytes + at));
	if (at < n)
		h = gj_hash_word(h, gj_load_word(bytes + n - sizeof(uint64)));
	return h;
}

#endif							/* JOB_KEY_FORMS_H */
