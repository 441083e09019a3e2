/*
 * exec.h - the execution state of a GpuJoin node.
 *
 * One GjState lives in each process that runs the node: the backend, and
 * every parallel worker.  What it holds outside memory contexts (a socket,
 * mappings) hangs off GjState.link and is released by gj_link_close(), from
 * EndCustomScan and from a reset callback of the query's memory context,
 * whichever comes first.
 */
#ifndef GPUJOIN_EXEC_H
#define GPUJOIN_EXEC_H

#include "gpujoin.h"

/* Where an execution of the node stands, in this process. */
typedef enum GjMode
{
	GJ_MODE_START,				/* nothing done yet */
	GJ_MODE_OFFLOAD,			/* rows come from the daemon */
	GJ_MODE_NATIVE,				/* rows come from the native child */
	GJ_MODE_DONE				/* no more rows */
} GjMode;

/* What EXPLAIN ANALYZE shows; the structures are the daemon's own report. */
typedef struct GjReport
{
	char	   *fallback;		/* why the native plan ran; NULL: it did not */
	bool		have_stats;
	struct gj_stats stats;
	struct gj_join_stats *joins;	/* stats.joins entries */
	struct gj_participant_stats *participants;	/* stats.participants entries */
} GjReport;

typedef struct GjState
{
	CustomScanState css;
	GjPlan	   *plan;
	PlanState **inputs;			/* plan->ninputs children */
	PlanState  *native;			/* the last child */
	GjMode		mode;
	GjReport	report;
} GjState;

#endif							/* GPUJOIN_EXEC_H */
