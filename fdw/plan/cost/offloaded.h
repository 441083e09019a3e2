/*
 * plan/cost/offloaded.h - costs of an offloaded join's steps, in the planner's unit.
 */
#ifndef PLAN_COST_OFFLOADED_H
#define PLAN_COST_OFFLOADED_H

#include "plan/state.h"

/*
 * Reading pages and evaluating conditions on them, as a native scan would too.
 * Participants share the processor time, but not the reading.
 */
extern Cost gj_page_scan_cost(PlannerInfo *root, RelOptInfo *rel, int workers);

/* Taking columns of this weight from pages, skipping "walk" others per row. */
extern Cost gj_page_fill_cost(RelOptInfo *rel, double weight, int walk, int workers);

/* Taking columns of this weight from a child plan's rows. */
extern Cost gj_child_fill_cost(const Path *child, double weight);

/*
 * Nanoseconds of testing a key that is fed in this form, of a type of this
 * length and values of this average width.
 */
extern double gj_filter_ns(GjForm form, int length, int width);

/*
 * Does a filter save more than its tests of ns nanoseconds cost, in the feed of
 * an input whose columns have this weight and in the daemon?
 */
extern bool gj_filter_pays(const GjSource *source, double weight, double ns,
						   double passing);

/*
 * What filters save in the feed of an input, whose columns have this weight, if
 * testing a row takes ns and the given fraction of its rows passes.
 */
extern Cost gj_filter_saving(const GjSource *source, double weight, double ns,
							 double passing, int workers);

/* Sets the daemon's rates for joins whose build side is this tree. */
extern void gj_rate(const struct gj_status *status, GjTree *tree);

/*
 * The daemon's work for one join.  Both sides have rates; columns is the
 * number of columns of the result.
 */
extern Cost gj_daemon_cost(const struct gj_status *status, const GjTree *left,
						   const GjTree *right, double rows, int columns);

/*
 * The daemon's evaluation of that many conditions on each of these rows, or
 * pairs of rows.
 */
extern Cost gj_condition_cost(const struct gj_status *status, double rows, int conditions);

/*
 * Total cost before the first row: opening the job, feeding and joining.  The
 * margin applies to everything but the scans.
 */
extern Cost gj_job_cost(const GjTree *tree);

/* The part of it that is copying columns into batches. */
extern Cost gj_fill_cost(const GjTree *tree);

/*
 * Returning rows with columns of this weight to one process, with the margin.
 */
extern Cost gj_return_cost(double rows, double weight);

/* The number of rows for which the return of the tree's result is charged. */
extern double gj_priced_rows(const GjTree *tree);

/*
 * The daemon's aggregation of so many rows into groups by keys.  leaves are all
 * expressions that it delivers: keys, columns and Aggrefs.
 */
extern Cost gj_aggregation_cost(const struct gj_status *status, double rows, double groups,
								const List *keys, const List *leaves);

#endif							/* PLAN_COST_OFFLOADED_H */
