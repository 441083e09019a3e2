/*
 * plan_surplus.h - joins whose result core underestimates.
 */
#ifndef GPUJOIN_PLAN_SURPLUS_H
#define GPUJOIN_PLAN_SURPLUS_H

#include "nodes/pathnodes.h"

/*
 * The factor by which a join's result is expected to exceed core's estimate,
 * given the RestrictInfos by which the two sides are joined.
 */
extern double gj_key_surplus(PlannerInfo *root, const List *clauses);

#endif							/* GPUJOIN_PLAN_SURPLUS_H */
