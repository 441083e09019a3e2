/*
 * plan_tree.h - the joins of a job.
 */
#ifndef GPUJOIN_PLAN_TREE_H
#define GPUJOIN_PLAN_TREE_H

#include "plan_inputs.h"

/*
 * Adds the tree's inputs, with space for columns, and then its joins in
 * post-order, with the columns that they read.  whole: the daemon evaluates
 * the deferred conditions as well.  Finally adds the filters.
 */
extern void gj_add_tree(GjInputs *inputs, GjCandidate *tree, bool whole);

#endif							/* GPUJOIN_PLAN_TREE_H */
