/*
 * plan/cost/native_probe.h - scans of an index with a key of another table's row.
 */
#ifndef PLAN_COST_NATIVE_PROBE_H
#define PLAN_COST_NATIVE_PROBE_H

#include "nodes/pathnodes.h"

/*
 * The expected time of a probe, given that of a scan that finds the rows of an
 * average key of the inner table.  inner is the inner path of a nested loop.
 */
extern double gj_probe_ns(PlannerInfo *root, const Path *inner, double found_ns);

/* The fraction of probes that find the rows of an average key, 0 to 1. */
extern double gj_probes_found(PlannerInfo *root, const Path *inner);

#endif							/* PLAN_COST_NATIVE_PROBE_H */
