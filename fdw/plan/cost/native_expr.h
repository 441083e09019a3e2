/*
 * plan/cost/native_expr.h - how long the executor takes for expressions.
 */
#ifndef PLAN_COST_NATIVE_EXPR_H
#define PLAN_COST_NATIVE_EXPR_H

#include "nodes/pathnodes.h"

/* ns to evaluate an expression or a list of them, without their Aggrefs. */
extern double gj_expression_ns(Node *node);

/*
 * ns to evaluate the conditions, RestrictInfos, on one row.  A condition is
 * evaluated on the rows that pass those before it.
 */
extern double gj_conditions_ns(const List *conditions);

/*
 * The same on the pages of a page feed.  *by_row is that part of it in which
 * PostgreSQL's expressions are evaluated row by row.
 */
extern double gj_page_conditions_ns(const List *conditions, double *by_row);

/* ns per row that is aggregated by the Aggrefs of these expressions. */
extern double gj_transitions_ns(const List *exprs);

#endif							/* PLAN_COST_NATIVE_EXPR_H */
