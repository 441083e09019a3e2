/*
 * plan_value_condition.h - conditions in the form in which the daemon evaluates
 * them.
 */
#ifndef GPUJOIN_PLAN_VALUE_CONDITION_H
#define GPUJOIN_PLAN_VALUE_CONDITION_H

#include "plan_value.h"

/* Translates an expression of any kind that is a condition, else NULL. */
extern char *gj_translate_test(GjTranslator *t, Expr *expr);

/* The comparison of two expressions by an operator. */
extern char *gj_translate_comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left,
									 Expr *right);

#endif							/* GPUJOIN_PLAN_VALUE_CONDITION_H */
