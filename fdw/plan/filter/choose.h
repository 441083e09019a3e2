/*
 * plan/filter/choose.h - filters that travel from small inputs to large ones.
 */
#ifndef PLAN_FILTER_CHOOSE_H
#define PLAN_FILTER_CHOOSE_H

#include "plan/input/columns.h"

/*
 * Chooses the tree's filters, and computes what they save.  Does nothing if
 * that was done before.
 */
extern void gj_choose_filters(PlannerInfo *root, GjTree *tree);

/*
 * Adds the tree's filters and the order of feeding to the plan.  Its joins have
 * been added before.
 */
extern void gj_add_filters(GjInputs *inputs, GjTree *tree);

#endif							/* PLAN_FILTER_CHOOSE_H */
