/*
 * plan_key_form.h - how key columns are fed and compared.
 */
#ifndef GPUJOIN_PLAN_KEY_FORM_H
#define GPUJOIN_PLAN_KEY_FORM_H

#include "plan_candidate.h"

/*
 * Decides how both columns of a key are fed and compared.
 */
extern GjKeyClass gj_key_forms(GjKeyKind kind, const Var *left, const Var *right,
							   GjForm *left_form, GjForm *right_form);

#endif							/* GPUJOIN_PLAN_KEY_FORM_H */
