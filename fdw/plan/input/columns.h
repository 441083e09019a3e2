/*
 * plan/input/columns.h - the columns that the inputs of a job carry.
 */
#ifndef PLAN_INPUT_COLUMNS_H
#define PLAN_INPUT_COLUMNS_H

#include "plan/state.h"

/* The part of a GjPlan that is being made from a tree. */
typedef struct GjInputs
{
	PlannerInfo *root;
	GjPlan	   *plan;
	List	   *children;		/* Plans of the inputs */
	List	   *parameters;		/* expressions of plan->parameters, in order */
} GjInputs;

/*
 * Returns the column that carries var in this form, and adds it if necessary.
 * is_key: its bytes are compared, so that equal values need equal bytes.
 */
extern GjOutput gj_need_column(GjInputs *inputs, const Var *var, GjForm form,
							   bool is_key);

/* The column that returns var's value. */
extern GjOutput gj_place_var(GjInputs *inputs, const Var *var);

/*
 * The column of a table that is cheapest to feed where only the number of rows
 * matters; NULL if none can be fed.
 */
extern const Var *gj_cheapest_column(const RangeTblEntry *rte, Index rti);

/*
 * Gives that column to inputs without any: an input of a job has columns.
 * Their children are sequential scans.
 */
extern void gj_need_some_column(GjInputs *inputs);

/* The form in which a value of the column is returned. */
extern GjForm gj_payload_form(const Var *var);

/*
 * Position of a column, which is a Var or computed, in a target list, from 1.
 * 0 if it is not there.
 */
extern int	gj_find_column(const List *tlist, const Expr *column);

#endif							/* PLAN_INPUT_COLUMNS_H */
