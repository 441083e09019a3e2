/*
 * plan/expr/compare.h - comparisons of columns and constants.
 */
#ifndef PLAN_EXPR_COMPARE_H
#define PLAN_EXPR_COMPARE_H

#include "job/page_qual.h"
#include "plan/expr/leaf.h"

/*
 * Is the operator a comparison that the daemon knows, of operands of these
 * types under this collation?  If so, *test tells which.
 */
extern bool gj_find_test(Oid opno, Oid collation, Oid left, Oid right, GjPageTest *test);

/* {"compare": ...} of two texts of values. */
extern char *gj_compare_json(GjPageTest test, const char *left, const char *right);

/* Does a RelabelType between these types leave the value as it is? */
extern bool gj_same_value(Oid from, Oid to);

/* Returns the column that the expression reads unchanged, or NULL. */
extern const Var *gj_plain_column(const Expr *expr);

/*
 * Translates a numeric column as it is stored (GJ_READ_STORED).  Returns false
 * if the expression is none.
 */
extern bool gj_translate_stored(GjTranslator *t, const Expr *expr, GjValueJson *value);

/*
 * Compares numerics of one scale as they are stored, which cannot fail.
 * Returns NULL if the operands are not columns and constants of one scale.
 */
extern char *gj_compare_stored(GjTranslator *t, GjPageTest test, const Expr *left,
							   const Expr *right);

/* Is the expression a parameter that is only compared? */
extern bool gj_is_numeric_parameter(const Expr *expr);

/*
 * Compares a decimal with a numeric parameter, or, commuted, the parameter
 * with the decimal.  stored: the decimal is from gj_translate_stored().
 * Returns NULL if the value is no decimal or the parameter is correlated.
 */
extern char *gj_compare_parameter(GjTranslator *t, GjPageTest test, const GjValueJson *value,
								  bool stored, const Param *param, bool commuted);

#endif							/* PLAN_EXPR_COMPARE_H */
