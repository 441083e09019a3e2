/*
 * plan/expr/conditions.h - conditions in the form in which the daemon evaluates
 * them.
 */
#ifndef PLAN_EXPR_CONDITIONS_H
#define PLAN_EXPR_CONDITIONS_H

#include "plan/expr/translate.h"

/* Translates an expression of any kind that is a condition, else NULL. */
extern char *gj_translate_test(GjTranslator *t, Expr *expr);

/* The comparison of two expressions by an operator. */
extern char *gj_translate_comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left,
									 Expr *right);

#endif							/* PLAN_EXPR_CONDITIONS_H */
