/*
 * plan_time.h - how long native paths are expected to run.
 */
#ifndef GPUJOIN_PLAN_TIME_H
#define GPUJOIN_PLAN_TIME_H

#include "plan_candidate.h"

/*
 * Returns the expected time of a path, in ns, and stores in *time that of each
 * of its processes.  A path of which every process of a Gather runs a part
 * counts as if the Gather stood above it.
 */
extern double gj_path_ns(PlannerInfo *root, const Path *path, GjTime *time);

/* The time of a Gather that returns so many rows of a path of several processes. */
extern double gj_gathered_ns(double elapsed_ns, double rows);

#endif							/* GPUJOIN_PLAN_TIME_H */
