/*
 * plan_value_choice.h - CASE, COALESCE, NULLIF, GREATEST and LEAST.
 */
#ifndef GPUJOIN_PLAN_VALUE_CHOICE_H
#define GPUJOIN_PLAN_VALUE_CHOICE_H

#include "plan_value.h"

extern bool gj_translate_case(GjTranslator *t, const CaseExpr *expr, GjValueJson *value);
extern bool gj_translate_coalesce(GjTranslator *t, const CoalesceExpr *expr, GjValueJson *value);
extern bool gj_translate_extreme(GjTranslator *t, const MinMaxExpr *expr, GjValueJson *value);
extern bool gj_translate_nullif(GjTranslator *t, NullIfExpr *expr, GjValueJson *value);

#endif							/* GPUJOIN_PLAN_VALUE_CHOICE_H */
