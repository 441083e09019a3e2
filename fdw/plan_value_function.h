/*
 * plan_value_function.h - calls of functions and operators.
 */
#ifndef GPUJOIN_PLAN_VALUE_FUNCTION_H
#define GPUJOIN_PLAN_VALUE_FUNCTION_H

#include "plan_value.h"

/*
 * Translates a call of the function, which returns this type.  Returns false
 * if the daemon has no such function.
 */
extern bool gj_translate_call(GjTranslator *t, Oid function, List *args, Oid type,
							  GjValueJson *value);

#endif							/* GPUJOIN_PLAN_VALUE_FUNCTION_H */
