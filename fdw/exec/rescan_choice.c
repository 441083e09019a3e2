/*
 * exec/rescan_choice.c - which plan is faster for a join that runs again and again.
 *
 * A join in a correlated subquery is a job for each row of the outer query, as
 * far as its parameters differ.  The planner does not know how many rows that
 * will be, and each job takes a while even if it has few rows.  So after some
 * short jobs the native plan runs for a few scans, and the faster of both runs
 * from then on.
 *
 * A native plan may also be much slower than expected.  It is not tried if the
 * jobs are long: then there is enough work for that to matter, and a job's
 * fixed cost matters little.
 *
 * That does not hold for a forced job, which the planner expects to be slower,
 * perhaps by hours if it runs for many rows.  Then the native plan is tried in
 * any case, the sooner the longer the jobs are.
 */
#include "postgres.h"

#include "exec/node.h"

/* Jobs before the native plan is tried, and scans for which it is. */
#define TRIED_JOBS 100
#define TRIED_NATIVE 4

/* Longer jobs are never replaced, unless they are forced. */
#define SHORT_JOB_US 20000

/* The same time as that of TRIED_JOBS, in fewer jobs. */
#define TRIED_US (TRIED_JOBS * SHORT_JOB_US)
#define TRIED_LONG_JOBS 4

static double
mean_us(const GjTried *tried)
{
	return (double) tried->us / Max(1, tried->scans);
}

/* Is enough known about the jobs? */
static bool
has_tried_jobs(const GjRescanChoice *rescan)
{
	return rescan->jobs.scans >= TRIED_JOBS ||
		(rescan->forced && rescan->jobs.scans >= TRIED_LONG_JOBS && rescan->jobs.us >= TRIED_US);
}

/* Will the node stay with jobs, so that nothing more is to be measured? */
static bool
is_over(const GjRescanChoice *rescan)
{
	return !rescan->forced && has_tried_jobs(rescan) && mean_us(&rescan->jobs) > SHORT_JOB_US;
}

bool
gj_rescan_native(const GjRescanChoice *rescan)
{
	if (!has_tried_jobs(rescan) || is_over(rescan))
		return false;
	return rescan->native.scans < TRIED_NATIVE ||
		mean_us(&rescan->native) < mean_us(&rescan->jobs);
}

void
gj_rescan_begin(GjRescanChoice *rescan, bool native)
{
	/* most nodes have one scan only, and reading the clock takes time */
	if (rescan->repeated && !is_over(rescan))
		rescan->current = native ? &rescan->native : &rescan->jobs;
	rescan->us = 0;
	rescan->repeated = true;
}

void
gj_rescan_end(GjRescanChoice *rescan)
{
	if (rescan->current == NULL)
		return;
	rescan->current->scans++;
	rescan->current->us += rescan->us;
	rescan->current = NULL;
}

void
gj_rescan_drop(GjRescanChoice *rescan)
{
	rescan->current = NULL;
}
