/*
 * plan/expr/unscaled_numeric.h - numeric columns without a declared scale.
 */
#ifndef PLAN_EXPR_UNSCALED_NUMERIC_H
#define PLAN_EXPR_UNSCALED_NUMERIC_H

#include "plan/state.h"

/*
 * The scale at which the column's values are expected to be 64-bit decimals, or
 * -1 if that is not expected.
 */
extern int	gj_unscaled_scale(PlannerInfo *root, const Var *var);

/*
 * Do equal values of the expression probably have the same number of decimals?
 * So it is if all sampled values of a column have one scale, or if none of them
 * ends in a zero that could be left out.
 */
extern bool gj_looks_alike(PlannerInfo *root, const Expr *expr);

#endif							/* PLAN_EXPR_UNSCALED_NUMERIC_H */
