/*
 * plan_widened.h - numeric columns without a declared scale.
 */
#ifndef GPUJOIN_PLAN_WIDENED_H
#define GPUJOIN_PLAN_WIDENED_H

#include "plan_candidate.h"

/*
 * The scale at which the column's values are expected to be 64-bit decimals, or
 * -1 if that is not expected.
 */
extern int	gj_widened_scale(PlannerInfo *root, const Var *var);

/*
 * Do equal values of the expression probably have the same number of decimals?
 * So it is if all sampled values of a column have one scale, or if none of them
 * ends in a zero that could be left out.
 */
extern bool gj_looks_alike(PlannerInfo *root, const Expr *expr);

#endif							/* GPUJOIN_PLAN_WIDENED_H */
