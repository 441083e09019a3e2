/*
 * plan/join/joins.h - the joins of a job.
 */
#ifndef PLAN_JOIN_JOINS_H
#define PLAN_JOIN_JOINS_H

#include "plan/input/columns.h"

/*
 * Adds the tree's inputs, with space for columns, and then its joins in
 * post-order, with the columns that they read.  whole: the daemon evaluates
 * the deferred conditions as well.  Finally adds the filters.
 */
extern void gj_add_tree(GjInputs *inputs, GjTree *tree, bool whole);

#endif							/* PLAN_JOIN_JOINS_H */
