/*
 * plan_check.h - checks that a native plan needs no daemon.
 */
#ifndef GPUJOIN_PLAN_CHECK_H
#define GPUJOIN_PLAN_CHECK_H

#include "gpujoin.h"

/*
 * Checks that a native child does not need the daemon: it would find the
 * daemon as dead as its parent did.  Planning and execution rely on this, so
 * it is not just an Assert.
 */
extern void gj_check_native_plan(const Plan *plan);

#endif							/* GPUJOIN_PLAN_CHECK_H */
