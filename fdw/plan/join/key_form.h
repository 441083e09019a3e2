/*
 * plan/join/key_form.h - how key columns are fed and compared.
 */
#ifndef PLAN_JOIN_KEY_FORM_H
#define PLAN_JOIN_KEY_FORM_H

#include "plan/state.h"

/*
 * Decides how both columns of a key are fed and compared.
 */
extern GjKeyClass gj_key_forms(GjKeyKind kind, const Var *left, const Var *right,
							   GjForm *left_form, GjForm *right_form);

#endif							/* PLAN_JOIN_KEY_FORM_H */
