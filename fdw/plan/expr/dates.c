/*
 * plan/expr/dates.c - dates and timestamps without time zone.
 *
 * The daemon knows them as days and as microseconds since 2000-01-01.  It has
 * one function of its own for dates, the year, month and day, which fails for
 * infinity and beyond the range of dates.  All others consist of operations on
 * integers.  Infinity and results beyond the types' ranges become arithmetic
 * errors, after which the native plan decides.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "plan/expr/compare.h"
#include "plan/expr/dates.h"
#include "plan/expr/leaf.h"

/* Added to a timestamp, overflows beyond the last finite one. */
#define ABOVE_TIMESTAMPS (PG_INT64_MAX - (END_TIMESTAMP - 1))

static char *
int_json(int64 number)
{
	return psprintf("{\"int\":" INT64_FORMAT "}", number);
}

static char *
field_json(const char *field, const char *date)
{
	return psprintf("{\"fn\":\"%s\",\"args\":[%s]}", field, date);
}

/* Zero for a finite date of PostgreSQL, else an arithmetic error. */
static char *
date_check(const char *date)
{
	return gj_call_json('*', 4, "{\"int\":0}", field_json("year", date));
}

/* The timestamp if it is not infinite or later than all, else an error. */
static char *
not_above(const char *timestamp)
{
	return gj_call_json('-', 8, gj_call_json('+', 8, timestamp, int_json(ABOVE_TIMESTAMPS)),
						int_json(ABOVE_TIMESTAMPS));
}

/* value / unit, rounded down; unit is positive */
static char *
floor_divide(const char *value, int64 unit)
{
	char	   *negative = gj_compare_json(GJ_TEST_LT, value, "{\"int\":0}");

	/* (value + 1) / unit - 1 of negative values */
	return gj_choice_json(negative,
						  gj_call_json('-', 8,
									   gj_call_json('/', 8, gj_call_json('+', 8, value, "{\"int\":1}"), int_json(unit)),
									   "{\"int\":1}"),
						  gj_call_json('/', 8, value, int_json(unit)));
}

/* The day of a timestamp.  Infinity is beyond the range of dates' fields. */
static char *
day_of(const char *timestamp)
{
	return floor_divide(timestamp, USECS_PER_DAY);
}

/* The largest multiple of unit that is not above the value. */
static char *
multiple_below(const char *value, int64 unit)
{
	return gj_call_json('*', 8, floor_divide(value, unit), int_json(unit));
}

static char *
midnight(const char *date)
{
	return gj_call_json('*', 8, date, int_json(USECS_PER_DAY));
}

/* A timestamp that was computed, if it is in the range, else an error. */
static char *
timestamp_check(const char *timestamp)
{
	return gj_call_json('+', 8, not_above(timestamp), date_check(day_of(timestamp)));
}

/* ---- arithmetic ---- */

/* date + days, date - days: finite dates only */
static bool
shifted_date(GjTranslator *t, char operator, List *args, GjValueJson *value)
{
	GjValueJson date;
	GjValueJson days;
	char	   *shifted;

	if (!gj_translate_value(t, linitial(args), &date) || !gj_translate_value(t, lsecond(args), &days))
		return false;
	(void) gj_describe_value(DATEOID, value);

	/* an infinite date is an extreme integer, and stays beyond all dates */
	shifted = gj_call_json(operator, 4, date.json, days.json);
	value->json = gj_call_json('+', 4, shifted,
							   gj_call_json('+', 4, date_check(date.json), date_check(shifted)));
	return true;
}

/* date - date: finite dates only */
static bool
days_between(GjTranslator *t, List *args, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	if (!gj_translate_value(t, linitial(args), &a) || !gj_translate_value(t, lsecond(args), &b))
		return false;
	(void) gj_describe_value(INT4OID, value);
	value->json = gj_call_json('+', 4, gj_call_json('-', 4, a.json, b.json),
							   gj_call_json('+', 4, date_check(a.json), date_check(b.json)));
	return true;
}

/* A date or timestamp + or - a constant interval without months. */
static bool
shifted_timestamp(GjTranslator *t, char operator, bool from_date, List *args, GjValueJson *value)
{
	const Const *constant = lsecond(args);
	const Interval *interval;
	GjValueJson from;
	int64		shift;

	if (!IsA(constant, Const) || constant->constisnull || !gj_translate_value(t, linitial(args), &from))
		return false;
	interval = DatumGetIntervalP(constant->constvalue);
	if (interval->month != 0 ||
		__builtin_mul_overflow((int64) interval->day, USECS_PER_DAY, &shift) ||
		__builtin_add_overflow(shift, interval->time, &shift))
		return false;
	(void) gj_describe_value(TIMESTAMPOID, value);
	value->json = timestamp_check(from_date ? midnight(from.json) : from.json);
	value->json = timestamp_check(gj_call_json(operator, 8, value->json, int_json(shift)));
	return true;
}

/* ---- casts ---- */

static bool
timestamp_to_date(GjTranslator *t, List *args, GjValueJson *value)
{
	GjValueJson from;

	if (!gj_translate_value(t, linitial(args), &from))
		return false;
	(void) gj_describe_value(DATEOID, value);
	value->json = gj_call_json('+', 4, day_of(timestamp_check(from.json)), "{\"int\":0}");
	return true;
}

static bool
date_to_timestamp(GjTranslator *t, List *args, GjValueJson *value)
{
	GjValueJson from;

	if (!gj_translate_value(t, linitial(args), &from))
		return false;
	(void) gj_describe_value(TIMESTAMPOID, value);
	value->json = timestamp_check(midnight(from.json));
	return true;
}

/* ---- fields ---- */

/* The day of the week: of Sunday 0. */
static char *
day_of_week(const char *date)
{
	/* from a Monday before all dates */
	return gj_call_json('%', 4, gj_call_json('+', 4, date, int_json(POSTGRES_EPOCH_JDATE + 1)),
						"{\"int\":7}");
}

/* The day of the week: of Monday 1, of Sunday 7. */
static char *
iso_day_of_week(const char *date)
{
	return gj_call_json('+', 4, gj_call_json('%', 4,
											 gj_call_json('+', 4, date, int_json(POSTGRES_EPOCH_JDATE)),
											 "{\"int\":7}"), "{\"int\":1}");
}

/* A field of a date whose range is checked, as an integer; NULL: another one. */
static char *
date_field(const char *field, const char *date)
{
	char	   *checked = gj_call_json('+', 4, date, date_check(date));

	if (strcmp(field, "year") == 0 || strcmp(field, "month") == 0 || strcmp(field, "day") == 0)
		return field_json(field, date);
	if (strcmp(field, "quarter") == 0)
		return gj_call_json('/', 4, gj_call_json('+', 4, field_json("month", date), "{\"int\":2}"),
							"{\"int\":3}");
	if (strcmp(field, "dow") == 0)
		return day_of_week(checked);
	if (strcmp(field, "isodow") == 0)
		return iso_day_of_week(checked);
	return NULL;
}

static const int64 seconds_before_2000 = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

/* A field of the time of day, with the scale of PostgreSQL's numeric. */
static char *
time_field(const char *field, const char *timestamp, int *scale)
{
	char	   *time = gj_call_json('-', 8, timestamp, multiple_below(timestamp, USECS_PER_DAY));
	char	   *of_minute = gj_call_json('%', 8, time, int_json(USECS_PER_MINUTE));

	*scale = 0;
	if (strcmp(field, "hour") == 0)
		return gj_call_json('/', 8, time, int_json(USECS_PER_HOUR));
	if (strcmp(field, "minute") == 0)
		return gj_call_json('%', 8, gj_call_json('/', 8, time, int_json(USECS_PER_MINUTE)), "{\"int\":60}");
	if (strcmp(field, "microseconds") == 0)
		return of_minute;
	*scale = 3;
	if (strcmp(field, "milliseconds") == 0)
		return of_minute;
	*scale = 6;
	if (strcmp(field, "second") == 0)
		return of_minute;
	if (strcmp(field, "epoch") == 0)
	{
		/* PostgreSQL divides with fewer digits from the largest 64-bit integer on */
		char	   *after = gj_call_json('+', 8, timestamp, int_json(seconds_before_2000 * USECS_PER_SEC + 1));

		return gj_call_json('-', 8, after, "{\"int\":1}");
	}
	return NULL;
}

static const char *
field_name(const Const *field)
{
	return !IsA(field, Const) || field->constisnull ? NULL : TextDatumGetCString(field->constvalue);
}

/* extract(field from a date or timestamp), a numeric */
static bool
extract_field(GjTranslator *t, bool from_date, List *args, GjValueJson *value)
{
	const char *field = field_name(linitial(args));
	GjValueJson from;
	int			scale = 0;

	if (field == NULL || !gj_translate_value(t, lsecond(args), &from))
		return false;
	value->kind = GJ_KIND_DECIMAL;
	value->width = 8;
	value->display_scale = NULL;
	if (from_date)
	{
		value->width = 4;
		value->json = date_field(field, from.json);
	}
	else
	{
		char	   *checked = timestamp_check(from.json);

		value->json = date_field(field, gj_call_json('+', 4, day_of(checked), "{\"int\":0}"));
		if (value->json == NULL)
			value->json = time_field(field, checked, &scale);
		else
			value->width = 4;
	}
	value->scale = scale;
	return value->json != NULL;
}

/* date_trunc(field, timestamp), up to months */
static bool
truncated(GjTranslator *t, List *args, GjValueJson *value)
{
	static const struct
	{
		const char *name;
		int64		unit;
	}			units[] =
	{
		{"second", USECS_PER_SEC}, {"minute", USECS_PER_MINUTE}, {"hour", USECS_PER_HOUR}, {"day", USECS_PER_DAY},
	};
	const char *field = field_name(linitial(args));
	GjValueJson from;
	char	   *checked;
	char	   *day;

	if (field == NULL || !gj_translate_value(t, lsecond(args), &from))
		return false;
	(void) gj_describe_value(TIMESTAMPOID, value);
	checked = timestamp_check(from.json);
	for (int i = 0; i < (int) lengthof(units); i++)
		if (strcmp(field, units[i].name) == 0)
		{
			value->json = multiple_below(checked, units[i].unit);
			return true;
		}
	day = gj_call_json('+', 4, day_of(checked), "{\"int\":0}");
	if (strcmp(field, "week") == 0)
		day = gj_call_json('-', 8, day, gj_call_json('-', 4, iso_day_of_week(day), "{\"int\":1}"));
	else if (strcmp(field, "month") == 0)
		day = gj_call_json('-', 8, day, gj_call_json('-', 4, field_json("day", day), "{\"int\":1}"));
	else
		return false;
	value->json = timestamp_check(midnight(day));
	return true;
}

bool
gj_translate_time_call(GjTranslator *t, Oid function, List *args, GjValueJson *value)
{
	switch (function)
	{
		case F_DATE_PLI:
			return shifted_date(t, '+', args, value);
		case F_DATE_MII:
			return shifted_date(t, '-', args, value);
		case F_DATE_MI:
			return days_between(t, args, value);
		case F_DATE_PL_INTERVAL:
			return shifted_timestamp(t, '+', true, args, value);
		case F_DATE_MI_INTERVAL:
			return shifted_timestamp(t, '-', true, args, value);
		case F_TIMESTAMP_PL_INTERVAL:
			return shifted_timestamp(t, '+', false, args, value);
		case F_TIMESTAMP_MI_INTERVAL:
			return shifted_timestamp(t, '-', false, args, value);
		case F_DATE_TIMESTAMP:
			return timestamp_to_date(t, args, value);
		case F_TIMESTAMP_DATE:
			return date_to_timestamp(t, args, value);
		case F_EXTRACT_TEXT_DATE:
			return extract_field(t, true, args, value);
		case F_EXTRACT_TEXT_TIMESTAMP:
			return extract_field(t, false, args, value);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return truncated(t, args, value);
		default:
			return false;
	}
}

/* ---- comparisons ---- */

char *
gj_compare_date_with_timestamp(GjTranslator *t, Oid function, Expr *left, Expr *right)
{
	static const struct
	{
		Oid			date_first;
		Oid			timestamp_first;
		GjPageTest	test;
	}			comparisons[] =
	{
		{F_DATE_LT_TIMESTAMP, F_TIMESTAMP_LT_DATE, GJ_TEST_LT},
		{F_DATE_LE_TIMESTAMP, F_TIMESTAMP_LE_DATE, GJ_TEST_LE},
		{F_DATE_EQ_TIMESTAMP, F_TIMESTAMP_EQ_DATE, GJ_TEST_EQ},
		{F_DATE_GE_TIMESTAMP, F_TIMESTAMP_GE_DATE, GJ_TEST_GE},
		{F_DATE_GT_TIMESTAMP, F_TIMESTAMP_GT_DATE, GJ_TEST_GT},
		{F_DATE_NE_TIMESTAMP, F_TIMESTAMP_NE_DATE, GJ_TEST_NE},
	};
	GjValueJson a;
	GjValueJson b;

	for (int i = 0; i < (int) lengthof(comparisons); i++)
	{
		bool		date_first = comparisons[i].date_first == function;

		if (!date_first && comparisons[i].timestamp_first != function)
			continue;
		if (!gj_translate_value(t, left, &a) || !gj_translate_value(t, right, &b))
			return NULL;

		/* infinite dates do not fit */
		if (date_first)
			a.json = midnight(a.json);
		else
			b.json = midnight(b.json);
		return gj_compare_json(comparisons[i].test, a.json, b.json);
	}
	return NULL;
}
