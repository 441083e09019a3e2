/*
 * plan_value_number.h - functions of numbers, and their casts.
 */
#ifndef GPUJOIN_PLAN_VALUE_NUMBER_H
#define GPUJOIN_PLAN_VALUE_NUMBER_H

#include "plan_value.h"

/*
 * Translates a call of a function that returns a number of this type.  Returns
 * false if the daemon has no such function.
 */
extern bool gj_translate_number_call(GjTranslator *t, Oid function, List *args, Oid type,
									 GjValueJson *value);

#endif							/* GPUJOIN_PLAN_VALUE_NUMBER_H */
