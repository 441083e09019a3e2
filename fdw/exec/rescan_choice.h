/*
 * exec/rescan_choice.h - which plan is faster for a join that runs again and again.
 */
#ifndef EXEC_RESCAN_CHOICE_H
#define EXEC_RESCAN_CHOICE_H

#include "postgres.h"

/* Scans of one kind, and how long they took. */
typedef struct GjTried
{
	int			scans;
	uint64		us;
} GjTried;

/* What a node has learnt from its scans.  Starts with all other fields zero. */
typedef struct GjTrial
{
	bool		forced;			/* the planner did not compare the two plans */
	GjTried		jobs;
	GjTried		native;
	GjTried    *current;		/* kind of the scan that runs; NULL: not measured */
	uint64		us;				/* spent in that scan so far */
	bool		repeated;		/* there was a scan before: the first is not measured */
} GjTrial;

/* Is the native plan to be tried, or known to be faster, for the next scan? */
extern bool gj_trial_native(const GjTrial *trial);

/* A scan begins, as a job or with the native plan. */
extern void gj_trial_begin(GjTrial *trial, bool native);

/*
 * The node has worked for us microseconds on the scan.  The time in which other
 * nodes process its rows does not count.
 */
static inline void
gj_trial_spend(GjTrial *trial, uint64 us)
{
	trial->us += us;
}

/* The scan, if any, has returned its last row or is given up. */
extern void gj_trial_end(GjTrial *trial);

/* The scan is neither a job nor a choice of the native plan: do not count it. */
extern void gj_trial_drop(GjTrial *trial);

#endif							/* EXEC_RESCAN_CHOICE_H */
