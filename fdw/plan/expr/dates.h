/*
 * plan/expr/dates.h - dates and timestamps without time zone.
 */
#ifndef PLAN_EXPR_DATES_H
#define PLAN_EXPR_DATES_H

#include "plan/expr/translate.h"

/*
 * Translates a call of a function of dates or timestamps.  Returns false if the
 * daemon has no such function.
 */
extern bool gj_translate_time_call(GjTranslator *t, Oid function, List *args, GjValueJson *value);

/*
 * The comparison of a date with a timestamp, in either order, by this
 * function.  NULL if it is none, or an operand cannot be translated.
 */
extern char *gj_compare_date_with_timestamp(GjTranslator *t, Oid function, Expr *left, Expr *right);

#endif							/* PLAN_EXPR_DATES_H */
