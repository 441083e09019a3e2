/*
 * plan/expr/choice.h - CASE, COALESCE, NULLIF, GREATEST and LEAST.
 */
#ifndef PLAN_EXPR_CHOICE_H
#define PLAN_EXPR_CHOICE_H

#include "plan/expr/translate.h"

extern bool gj_translate_case(GjTranslator *t, const CaseExpr *expr, GjValueJson *value);
extern bool gj_translate_coalesce(GjTranslator *t, const CoalesceExpr *expr, GjValueJson *value);
extern bool gj_translate_extreme(GjTranslator *t, const MinMaxExpr *expr, GjValueJson *value);
extern bool gj_translate_nullif(GjTranslator *t, NullIfExpr *expr, GjValueJson *value);

#endif							/* PLAN_EXPR_CHOICE_H */
