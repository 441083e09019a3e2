/*
 * cost.h - what the steps of an offloaded join cost, in the planner's unit.
 */
#ifndef GPUJOIN_COST_H
#define GPUJOIN_COST_H

#include "candidate.h"

/* Feeding from heap pages; participants share processor time, not reading. */
extern Cost gj_page_feed_cost(PlannerInfo *root, RelOptInfo *rel, double weight, int workers);

/* Feeding from a child plan, what the child costs included. */
extern Cost gj_child_feed_cost(const Path *child, double weight);

/* The daemon's rates for joins whose build side this tree is. */
extern void gj_rate(const struct gj_status *status, GjCandidate *tree);

/* The daemon's work for one join of rated sides; columns are its result's. */
extern Cost gj_daemon_cost(const struct gj_status *status, const GjCandidate *left,
						   const GjCandidate *right, double rows, int columns);

/* Opening the job, feeding and joining: what precedes the first row. */
extern Cost gj_job_cost(const GjCandidate *tree);

/* Among how many processes work of a parallel node is divided. */
extern double gj_divisor(int workers);

#endif							/* GPUJOIN_COST_H */
