/*
 * job/page_qual.h - conditions that the page feed evaluates itself.
 *
 * Planning and execution use the same function, the one to test a condition
 * and the other to take it apart, so they cannot disagree.
 */
#ifndef JOB_PAGE_QUAL_H
#define JOB_PAGE_QUAL_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "nodes/primnodes.h"

/* "column TEST value", or "column TEST column" */
typedef enum GjPageTest
{
	GJ_TEST_LT,
	GJ_TEST_LE,
	GJ_TEST_EQ,
	GJ_TEST_GE,
	GJ_TEST_GT,
	GJ_TEST_NE,
	GJ_TEST_IN,					/* equals one of several values */
	GJ_TEST_NOT_IN,
	GJ_TEST_IS_NULL,
	GJ_TEST_IS_NOT_NULL
} GjPageTest;

typedef struct GjPageQual
{
	GjPageTest	test;
	AttrNumber	attnum;			/* of the scanned relation */
	Oid			type;			/* of the column, below any domain */
	int			scale;			/* numeric(p <= 18, s): s */
	AttrNumber	other;			/* the column it is compared with; 0: a value */
	Expr	   *value;			/* Const or Param; NULL for the other kinds */
	Oid			value_type;		/* of the value, the array's elements, or the
								 * other column, below any domain; may be
								 * another integer width, or timestamp for a
								 * date */
	bool		array;			/* the value is an array */
} GjPageQual;

/*
 * Can the page feed evaluate this condition?  If so, *qual describes it.
 * Types: int2, int4 and int8 in any combination; date, timestamp and
 * timestamptz with their own type; date with timestamp; numeric(p <= 18, s)
 * with numeric of any precision.  Two columns of these types are compared too,
 * except date with timestamp, and numerics of different scales.  Integers,
 * dates and timestamps are searched in an array of the same types; texts, also
 * char(n), are compared for equality with one text or an array.  NULL tests
 * accept a column of any type.
 */
extern bool gj_page_qual(Expr *clause, GjPageQual *qual);

/*
 * Can the page feed have the executor's expressions evaluate this condition,
 * given the columns on the page?
 */
extern bool gj_page_expression(Expr *clause);

/*
 * Is the operator a comparison of two integers, or of two values of the type
 * date, timestamp, timestamptz or numeric?  Sets *test to LT, LE, EQ, GE, GT
 * or NE.
 */
extern bool gj_comparison_test(Oid opno, Oid left, Oid right, GjPageTest *test);

/* The same of floats of any width. */
extern bool gj_float_test(Oid opno, GjPageTest *test);

/* The test with its operands swapped. */
extern GjPageTest gj_commuted_test(GjPageTest test);

/*
 * Adapts a test of integers with a number strictly between bound and bound + 1 to one
 * with bound.  *never, *always: it is the same for all integers.
 */
extern GjPageTest gj_test_between(GjPageTest test, bool *never, bool *always);

/*
 * Stores the day of a timestamp; infinity is that of dates.  Returns true if the
 * timestamp is its midnight.
 */
extern bool gj_day_of_timestamp(Timestamp timestamp, int64 *day);

#endif							/* JOB_PAGE_QUAL_H */
