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
typedef struct GjRescanChoice
{
	bool		forced;			/* the planner did not compare the two plans */
	GjTried		jobs;
	GjTried		native;
	GjTried    *current;		/* kind of the scan that runs; NULL: not measured */
	uint64		us;				/* spent in that scan so far */
	bool		repeated;		/* there was a scan before: the first is not measured */
} GjRescanChoice;

/* Is the native plan to be tried, or known to be faster, for the next scan? */
extern bool gj_rescan_native(const GjRescanChoice *rescan);

/* A scan begins, as a job or with the native plan. */
extern void gj_rescan_begin(GjRescanChoice *rescan, bool native);

/*
 * The node has worked for us microseconds on the scan.  The time in which other
 * nodes process its rows does not count.
 */
static inline void
gj_rescan_spend(GjRescanChoice *rescan, uint64 us)
{
	rescan->us += us;
}

/* The scan, if any, has returned its last row or is given up. */
extern void gj_rescan_end(GjRescanChoice *rescan);

/* The scan is neither a job nor a choice of the native plan: do not count it. */
extern void gj_rescan_drop(GjRescanChoice *rescan);

#endif							/* EXEC_RESCAN_CHOICE_H */
