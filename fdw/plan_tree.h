/*
 * plan_tree.h - the joins of a job.
 */
#ifndef GPUJOIN_PLAN_TREE_H
#define GPUJOIN_PLAN_TREE_H

#include "plan_inputs.h"

/*
 * Adds the tree's inputs, with room for columns, and then its joins in
 * post-order, with the columns that they read.  whole: the daemon evaluates
 * the deferred conditions as well.  Finally adds the filters.
 */
extern void gj_add_tree(GjInputs *inputs, GjCandidate *tree, bool whole);

/*
 * Decides how both columns of a key are fed and compared.
 */
extern GjKeyClass gj_key_forms(GjKeyKind kind, const Var *left, const Var *right,
							   GjForm *left_form, GjForm *right_form);

#endif							/* GPUJOIN_PLAN_TREE_H */
