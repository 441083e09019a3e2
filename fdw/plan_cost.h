/*
 * plan_cost.h - what the steps of an offloaded join cost, in the planner's unit.
 */
#ifndef GPUJOIN_PLAN_COST_H
#define GPUJOIN_PLAN_COST_H

#include "plan_candidate.h"

/*
 * Reading pages and evaluating conditions there, as a native scan would too.
 * Participants share processor time, not reading.
 */
extern Cost gj_page_scan_cost(RelOptInfo *rel, int workers);

/* Taking columns of that weight from pages, walk others being passed over. */
extern Cost gj_page_fill_cost(RelOptInfo *rel, double weight, int walk, int workers);

/* Taking columns from a child plan's rows. */
extern Cost gj_child_fill_cost(const Path *child, double weight);

/* The daemon's rates for joins whose build side this tree is. */
extern void gj_rate(const struct gj_status *status, GjCandidate *tree);

/* The daemon's work for one join of rated sides; columns are its result's. */
extern Cost gj_daemon_cost(const struct gj_status *status, const GjCandidate *left,
						   const GjCandidate *right, double rows, int columns);

/*
 * Opening the job, feeding and joining: what precedes the first row.  All but
 * the scans with the margin.
 */
extern Cost gj_job_cost(const GjCandidate *tree);

/* Returning rows of columns of that weight to one process, with the margin. */
extern Cost gj_return_cost(double rows, double weight);

/* As how many rows the return of the tree's result is priced. */
extern double gj_priced_rows(const GjCandidate *tree);

/* Among how many processes work of a parallel node is divided. */
extern double gj_divisor(int workers);

#endif							/* GPUJOIN_PLAN_COST_H */
