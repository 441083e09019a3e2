/*
 * plan/cost/rows.h - rows that core underestimates, and the different values of columns.
 */
#ifndef PLAN_COST_ROWS_H
#define PLAN_COST_ROWS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "plan/state.h"

/*
 * The factor by which a join's result is expected to exceed core's estimate,
 * given the RestrictInfos by which the two sides are joined.
 */
extern double gj_key_growth(PlannerInfo *root, const List *clauses);

/*
 * The expected rows of a join, given core's estimate and the factor by which
 * they exceed it.  core's estimate is never less than one row, so that the
 * factor would be applied to a rounded number.  Then the rows of both sides
 * limit the result, of which pairs pass the clauses.
 */
extern double gj_growth_rows(PlannerInfo *root, double rows, double growth,
							  double pairs, const List *clauses);

/*
 * The expected number of groups of the given rows by at least one key, if core
 * expects groups for core_rows rows.
 */
extern double gj_grown_groups(double groups, double core_rows, double rows);

/* ---- rows of subqueries and CTEs that core underestimates ---- */

/*
 * The factor, at least 1, by which the rows of a base relation are expected to
 * exceed core's estimate.
 */
extern double gj_rel_growth(PlannerInfo *root, RelOptInfo *rel);

/* ---- rows scan ---- */

/*
 * Does a relation deliver columns of which no statistics exist?  Those of a
 * CTE or of groups have none.
 */
extern bool gj_lacks_statistics(PlannerInfo *root, const RelOptInfo *rel);

/*
 * The factor, at least 1, by which the rows that pass a relation's conditions
 * are expected to exceed core's estimate.
 */
extern double gj_scan_growth(PlannerInfo *root, const RelOptInfo *rel);

/* The rows of a relation that are read, whether they pass its conditions or not. */
extern double gj_rows_read(PlannerInfo *root, const RelOptInfo *rel);

/* ---- rows range ---- */

/*
 * The factor, at least 1, by which the rows that pass a = b are expected to
 * exceed core's estimate, because conditions of the tables of a and b select
 * those values that the other table has.
 */
extern double gj_range_growth(PlannerInfo *root, const Var *a, const Var *b);

/* ---- how many different values the columns of inputs have ---- */

/* What is known about a column's values. */
typedef struct GjValues
{
	AttrNumber	attnum;
	bool		known;			/* is distinct more than a guess? */
	double		distinct;		/* in the whole table */
	double		null_fraction;
	struct GjValues *next;		/* of the same relation */
} GjValues;

/* Returns what the statistics say of a column, which is examined once a query. */
extern const GjValues *gj_values(PlannerInfo *root, const Var *var);

#endif							/* PLAN_COST_ROWS_H */
