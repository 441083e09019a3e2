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

#include "plan/expr/expr.h"

/* Added to a timestamp, overflows beyond the last finite one. */
#define ABOVE_TIMESTAMPS (PG_INT64_MAX - (END_TIMESTAMP - 1))

/* Zero for a finite date of PostgreSQL, else an arithmetic error. */
static GjExpr *
date_check(GjExpr *date)
{
	return gj_call("*", 4, gj_int(0), gj_date_part("year", date));
}

/* The timestamp if it is not infinite or later than all, else an error. */
static GjExpr *
not_above(GjExpr *timestamp)
{
	return gj_call("-", 8, gj_call("+", 8, timestamp, gj_int(ABOVE_TIMESTAMPS)),
				   gj_int(ABOVE_TIMESTAMPS));
}

/* value / unit, rounded down; unit is positive */
static GjExpr *
floor_divide(GjExpr *value, int64 unit)
{
	/* (value + 1) / unit - 1 of negative values */
	return gj_choice(gj_compare(GJ_TEST_LT, value, gj_int(0)),
					 gj_call("-", 8,
							 gj_call("/", 8, gj_call("+", 8, value, gj_int(1)), gj_int(unit)),
							 gj_int(1)),
					 gj_call("/", 8, value, gj_int(unit)));
}

/* The day of a timestamp.  Infinity is beyond the range of dates' fields. */
static GjExpr *
day_of(GjExpr *timestamp)
{
	return floor_divide(timestamp, USECS_PER_DAY);
}

/* The same as a date. */
static GjExpr *
date_of(GjExpr *timestamp)
{
	return gj_call("+", 4, day_of(timestamp), gj_int(0));
}

/* The largest multiple of unit that is not above the value. */
static GjExpr *
multiple_below(GjExpr *value, int64 unit)
{
	return gj_call("*", 8, floor_divide(value, unit), gj_int(unit));
}

static GjExpr *
midnight(GjExpr *date)
{
	return gj_call("*", 8, date, gj_int(USECS_PER_DAY));
}

/* A timestamp that was computed, if it is in the range, else an error. */
static GjExpr *
timestamp_check(GjExpr *timestamp)
{
	return gj_call("+", 8, not_above(timestamp), date_check(day_of(timestamp)));
}

/* ---- arithmetic ---- */

/* date + days, date - days: finite dates only */
static GjExpr *
shifted_date(GjTranslator *t, const char *operator, List *args)
{
	GjExpr	   *date = gj_translate_value(t, linitial(args));

	/* an infinite date is an extreme integer, and stays beyond all dates */
	GjExpr	   *shifted = gj_call(operator, 4, date, gj_translate_value(t, lsecond(args)));

	return gj_call("+", 4, shifted, gj_call("+", 4, date_check(date), date_check(shifted)));
}

/* date - date: finite dates only */
static GjExpr *
days_between(GjTranslator *t, List *args)
{
	GjExpr	   *a = gj_translate_value(t, linitial(args));
	GjExpr	   *b = gj_translate_value(t, lsecond(args));

	return gj_call("+", 4, gj_call("-", 4, a, b), gj_call("+", 4, date_check(a), date_check(b)));
}

/* A date or timestamp + or - a constant interval without months. */
static GjExpr *
shifted_timestamp(GjTranslator *t, const char *operator, bool from_date, List *args)
{
	const Const *constant = lsecond(args);
	const Interval *interval;
	GjExpr	   *from;
	int64		shift;

	if (!IsA(constant, Const) || constant->constisnull)
		return NULL;
	interval = DatumGetIntervalP(constant->constvalue);
	if (interval->month != 0 ||
		__builtin_mul_overflow((int64) interval->day, USECS_PER_DAY, &shift) ||
		__builtin_add_overflow(shift, interval->time, &shift))
		return NULL;
	from = gj_translate_value(t, linitial(args));
	return timestamp_check(gj_call(operator, 8, timestamp_check(from_date ? midnight(from) : from),
								   gj_int(shift)));
}

/* ---- fields ---- */

/* The day of the week: of Sunday 0. */
static GjExpr *
day_of_week(GjExpr *date)
{
	/* from a Monday before all dates */
	return gj_call("%", 4, gj_call("+", 4, date, gj_int(POSTGRES_EPOCH_JDATE + 1)), gj_int(7));
}

/* The day of the week: of Monday 1, of Sunday 7. */
static GjExpr *
iso_day_of_week(GjExpr *date)
{
	return gj_call("+", 4,
				   gj_call("%", 4, gj_call("+", 4, date, gj_int(POSTGRES_EPOCH_JDATE)), gj_int(7)),
				   gj_int(1));
}

/* A field of a date whose range is checked, as an integer; NULL: another one. */
static GjExpr *
date_field(const char *field, GjExpr *date)
{
	GjExpr	   *checked = gj_call("+", 4, date, date_check(date));

	if (strcmp(field, "year") == 0 || strcmp(field, "month") == 0 || strcmp(field, "day") == 0)
		return gj_date_part(field, date);
	if (strcmp(field, "quarter") == 0)
		return gj_call("/", 4, gj_call("+", 4, gj_date_part("month", date), gj_int(2)), gj_int(3));
	if (strcmp(field, "dow") == 0)
		return day_of_week(checked);
	if (strcmp(field, "isodow") == 0)
		return iso_day_of_week(checked);
	return NULL;
}

static const int64 seconds_before_2000 = (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;

/* A field of the time of day, with the scale of PostgreSQL's numeric. */
static GjExpr *
time_field(const char *field, GjExpr *timestamp, int *scale)
{
	GjExpr	   *time = gj_call("-", 8, timestamp, multiple_below(timestamp, USECS_PER_DAY));
	GjExpr	   *of_minute = gj_call("%", 8, time, gj_int(USECS_PER_MINUTE));

	*scale = 0;
	if (strcmp(field, "hour") == 0)
		return gj_call("/", 8, time, gj_int(USECS_PER_HOUR));
	if (strcmp(field, "minute") == 0)
		return gj_call("%", 8, gj_call("/", 8, time, gj_int(USECS_PER_MINUTE)), gj_int(60));
	if (strcmp(field, "microseconds") == 0)
		return of_minute;
	*scale = 3;
	if (strcmp(field, "milliseconds") == 0)
		return of_minute;
	*scale = 6;
	if (strcmp(field, "second") == 0)
		return of_minute;
	if (strcmp(field, "epoch") == 0)
		/* PostgreSQL divides with fewer digits from the largest 64-bit integer on */
		return gj_call("-", 8,
					   gj_call("+", 8, timestamp, gj_int(seconds_before_2000 * USECS_PER_SEC + 1)),
					   gj_int(1));
	return NULL;
}

static const char *
field_name(const Const *field)
{
	return !IsA(field, Const) || field->constisnull ? NULL : TextDatumGetCString(field->constvalue);
}

/* extract(field from a date or timestamp), a numeric */
static GjExpr *
extract_field(GjTranslator *t, bool from_date, List *args)
{
	const char *field = field_name(linitial(args));
	GjExpr	   *from = field != NULL ? gj_translate_value(t, lsecond(args)) : NULL;
	GjExpr	   *value;
	int			scale = 0;

	if (from == NULL)
		return NULL;
	if (from_date)
		value = date_field(field, from);
	else
	{
		GjExpr	   *checked = timestamp_check(from);

		value = date_field(field, date_of(checked));
		if (value == NULL)
			value = time_field(field, checked, &scale);
	}
	if (value == NULL)
		return NULL;
	value->kind = GJ_KIND_DECIMAL;
	value->scale = scale;
	return value;
}

/* date_trunc(field, timestamp), up to months */
static GjExpr *
truncated(GjTranslator *t, List *args)
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
	GjExpr	   *from = field != NULL ? gj_translate_value(t, lsecond(args)) : NULL;
	GjExpr	   *checked;
	GjExpr	   *day;
	GjExpr	   *before;			/* days of the week or month before it */

	if (from == NULL)
		return NULL;
	checked = timestamp_check(from);
	for (int i = 0; i < (int) lengthof(units); i++)
		if (strcmp(field, units[i].name) == 0)
			return multiple_below(checked, units[i].unit);
	day = date_of(checked);
	if (strcmp(field, "week") == 0)
		before = iso_day_of_week(day);
	else if (strcmp(field, "month") == 0)
		before = gj_date_part("day", day);
	else
		return NULL;
	return timestamp_check(midnight(gj_call("-", 8, day, gj_call("-", 4, before, gj_int(1)))));
}

GjExpr *
gj_translate_time_call(GjTranslator *t, Oid function, List *args)
{
	switch (function)
	{
		case F_DATE_PLI:
			return shifted_date(t, "+", args);
		case F_DATE_MII:
			return shifted_date(t, "-", args);
		case F_DATE_MI:
			return days_between(t, args);
		case F_DATE_PL_INTERVAL:
			return shifted_timestamp(t, "+", true, args);
		case F_DATE_MI_INTERVAL:
			return shifted_timestamp(t, "-", true, args);
		case F_TIMESTAMP_PL_INTERVAL:
			return shifted_timestamp(t, "+", false, args);
		case F_TIMESTAMP_MI_INTERVAL:
			return shifted_timestamp(t, "-", false, args);
		case F_DATE_TIMESTAMP:
			return date_of(timestamp_check(gj_translate_value(t, linitial(args))));
		case F_TIMESTAMP_DATE:
			return timestamp_check(midnight(gj_translate_value(t, linitial(args))));
		case F_EXTRACT_TEXT_DATE:
			return extract_field(t, true, args);
		case F_EXTRACT_TEXT_TIMESTAMP:
			return extract_field(t, false, args);
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return truncated(t, args);
		default:
			return NULL;
	}
}

/* ---- comparisons ---- */

bool
gj_find_date_test(Oid function, bool *date_first, GjPageTest *test)
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

	for (int i = 0; i < (int) lengthof(comparisons); i++)
	{
		*date_first = comparisons[i].date_first == function;
		*test = comparisons[i].test;
		if (*date_first || comparisons[i].timestamp_first == function)
			return true;
	}
	return false;
}

GjExpr *
gj_compare_date_with_timestamp(GjTranslator *t, Oid function, Expr *left, Expr *right)
{
	GjPageTest	test;
	bool		date_first;
	GjExpr	   *a;
	GjExpr	   *b;

	if (!gj_find_date_test(function, &date_first, &test))
		return NULL;
	a = gj_translate_value(t, left);
	b = gj_translate_value(t, right);

	/* infinite dates do not fit */
	if (date_first)
		a = midnight(a);
	else
		b = midnight(b);
	return gj_compare(test, a, b);
}
