/*
 * plan_tree.h - the joins of a job.
 */
#ifndef GPUJOIN_PLAN_TREE_H
#define GPUJOIN_PLAN_TREE_H

#include "plan_inputs.h"

/*
 * Adds the tree's inputs, with room for columns, and then its joins in
 * post-order, with the columns that they read.  whole: the daemon evaluates
 * the deferred conditions as well.
 */
extern void gj_add_tree(GjInputs *inputs, const GjCandidate *tree, bool whole);

#endif							/* GPUJOIN_PLAN_TREE_H */
