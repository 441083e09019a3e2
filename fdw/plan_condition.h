/*
 * plan_condition.h - conditions that the daemon evaluates.
 */
#ifndef GPUJOIN_PLAN_CONDITION_H
#define GPUJOIN_PLAN_CONDITION_H

#include "gpujoin.h"

#include "lib/stringinfo.h"

/*
 * Can the daemon evaluate this condition?  hidden are tables whose columns it
 * must not read.
 */
extern bool gj_can_ship(Expr *condition, Relids hidden);

/* Returns the column of the job that carries var's value. */
typedef GjOutput (*GjPlaceVar) (void *arg, const Var *var);

/*
 * Returns a condition of docs/job.md that is true where all of these are.
 * gj_can_ship() has accepted each.
 */
extern char *gj_residual_json(List *conditions, GjPlaceVar place, void *arg);

#endif							/* GPUJOIN_PLAN_CONDITION_H */
