/*
 * plan/input/computed.h - columns that the plan of an input computes.
 */
#ifndef PLAN_INPUT_COMPUTED_H
#define PLAN_INPUT_COMPUTED_H

#include "plan/state.h"

/*
 * Returns the column that carries a Var or PlaceHolderVar.  NULL: no single
 * input does.
 */
extern Var *gj_column(PlannerInfo *root, Expr *expr);

/*
 * The same for an expression that is compared as a key: also a call of one of
 * a few functions, which the plan of its argument's input can compute.
 */
extern Var *gj_key_expression(PlannerInfo *root, Expr *expr);

/*
 * The same for an expression that the daemon cannot evaluate: calls of functions
 * that raise no error, over columns of one input and constants.  NULL: it has
 * others.
 */
extern Var *gj_total_expression(PlannerInfo *root, Expr *expr);

/* Returns the expression that var stands for.  NULL: var is a real column. */
extern Expr *gj_computed(PlannerInfo *root, const Var *var);

/*
 * Returns the column of rel for this expression, which reads only columns of
 * rel, and adds it if necessary.  base is that of rel.
 */
extern Var *gj_compute(RelOptInfo *rel, GjBaserel *base, Expr *expr);

/* The planner's estimate of bytes per value. */
extern int	gj_average_width(PlannerInfo *root, const Var *var);

/* The expression without PlaceHolderVars, as EXPLAIN can show it. */
extern Expr *gj_without_placeholders(Expr *expr);

#endif							/* PLAN_INPUT_COMPUTED_H */
