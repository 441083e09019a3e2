/*
 * plan/native/check.h - checks that a native plan needs no daemon.
 */
#ifndef PLAN_NATIVE_CHECK_H
#define PLAN_NATIVE_CHECK_H

#include "gpujoin.h"

/*
 * Checks that a native child does not need the daemon: it would find the
 * daemon as dead as its parent did.  Else notes a defect.
 */
extern void gj_check_native_plan(const Plan *plan, const char **defect);

#endif							/* PLAN_NATIVE_CHECK_H */
