/*
 * plan/expr/parameters.h - values that are known when an execution starts.
 */
#ifndef PLAN_EXPR_PARAMETERS_H
#define PLAN_EXPR_PARAMETERS_H

#include "plan/expr/translate.h"

/* Parameters of a job, docs/job.md. */
#define GJ_MAX_PARAMETERS 1024

/*
 * Translates a parameter whose values are integers for the daemon, or texts.
 * Returns false for other types and for correlated parameters.  The job is not
 * offloaded in executions in which texts are too long.
 */
extern bool gj_translate_parameter(GjTranslator *t, const Param *param, GjValueJson *value);

/*
 * Is the expression the current date or time, or a function of it and of
 * constants?  Its value then is the same for all rows.
 */
extern bool gj_is_known_at_start(Expr *expr);

/* Translates it to a parameter.  Returns false if its type is not an integer's. */
extern bool gj_translate_known(GjTranslator *t, Expr *expr, GjValueJson *value);

/*
 * Returns a numeric parameter, multiplied by 10^scale and rounded, as a value
 * of the daemon; NULL if the parameter is correlated.  The job is not offloaded
 * in executions in which it is too large, or not a number.
 */
extern char *gj_numeric_parameter(GjTranslator *t, const Param *param, int scale,
								  GjRounding rounding);

/*
 * Adds to a node's children, which are complete, a Result whose targets are the
 * job's parameters.  It is never run.  They are not in custom_exprs, because core
 * replaces an expression there that equals a column of the node by a Var, and
 * there is no row when they are evaluated.
 */
extern List *gj_with_parameters(const GjInputs *inputs, List *children);

#endif							/* PLAN_EXPR_PARAMETERS_H */
