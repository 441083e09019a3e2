/*
 * plan/cost/distinct.h - how many different values the columns of inputs have.
 */
#ifndef PLAN_COST_DISTINCT_H
#define PLAN_COST_DISTINCT_H

#include "plan/state.h"

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

#endif							/* PLAN_COST_DISTINCT_H */
