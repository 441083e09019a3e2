/*
 * plan/expr/numbers.h - functions of numbers, and their casts.
 */
#ifndef PLAN_EXPR_NUMBERS_H
#define PLAN_EXPR_NUMBERS_H

#include "plan/expr/translate.h"

/*
 * Translates a call of a function that returns a number of this type.  Returns
 * false if the daemon has no such function.
 */
extern bool gj_translate_number_call(GjTranslator *t, Oid function, List *args, Oid type,
									 GjValueJson *value);

#endif							/* PLAN_EXPR_NUMBERS_H */
