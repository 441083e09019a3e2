/*
 * plan/cost/native.h - how long native paths are expected to run.
 */
#ifndef PLAN_COST_NATIVE_H
#define PLAN_COST_NATIVE_H

#include "plan/state.h"

/*
 * Returns the expected time of a path, in ns, and stores in *time that of each
 * of its processes.  A path of which every process of a Gather runs a part
 * counts as if the Gather stood above it.
 */
extern double gj_path_ns(PlannerInfo *root, const Path *path, GjTime *time);

/* The time of a Gather that returns so many rows of a path of several processes. */
extern double gj_gathered_ns(double elapsed_ns, double rows);

#endif							/* PLAN_COST_NATIVE_H */
