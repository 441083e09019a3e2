/*
 * plan/expr/functions.h - calls of functions and operators.
 */
#ifndef PLAN_EXPR_FUNCTIONS_H
#define PLAN_EXPR_FUNCTIONS_H

#include "plan/expr/translate.h"

/*
 * Translates a call of the function, which returns this type.  Returns false
 * if the daemon has no such function.
 */
extern bool gj_translate_call(GjTranslator *t, Oid function, List *args, Oid type,
							  GjValueJson *value);

/*
 * Makes a text that part of it which begins at the character numbered from, of
 * that length in characters.  -1: to its end.  Returns false if the daemon does
 * not know the database's encoding.
 */
extern bool gj_substring(GjValueJson *text, int from, int length);

#endif							/* PLAN_EXPR_FUNCTIONS_H */
