/*
 * exec_node.h - the execution state of a GpuJoin node.
 *
 * One GjState lives in each process that runs the node: the backend, and
 * every parallel worker.  What it holds outside memory contexts (a socket,
 * mappings) hangs off GjState.link and is released by gj_link_close(), from
 * EndCustomScan and from a reset callback of the query's memory context,
 * whichever comes first.
 */
#ifndef GPUJOIN_EXEC_NODE_H
#define GPUJOIN_EXEC_NODE_H

#include "daemon_session.h"
#include "daemon_stats.h"
#include "feed_writer.h"
#include "gpujoin.h"
#include "parallel_state.h"
#include "result_reader.h"
#include "utils/tuplestore.h"

/* Where an execution of the node stands, in this process. */
typedef enum GjMode
{
	GJ_MODE_START,				/* nothing done yet */
	GJ_MODE_OFFLOAD,			/* rows come from the daemon */
	GJ_MODE_NATIVE,				/* rows come from the native child */
	GJ_MODE_VERIFIED,			/* from both; see exec_verify.c */
	GJ_MODE_DONE				/* no more rows */
} GjMode;

/* What EXPLAIN ANALYZE shows; the statistics are the daemon's own report. */
typedef struct GjReport
{
	char		fallback[GJ_REASON_SIZE];	/* why the native plan ran; empty: it
										 * did not */
	bool		have_stats;
	GjStats		stats;			/* where have_stats */
} GjReport;

typedef struct GjPageFeed GjPageFeed;	/* feed_page.c */

typedef struct GjState
{
	CustomScanState css;
	GjPlan	   *plan;
	PlanState **inputs;			/* plan->ninputs children */
	GjPageFeed **page_feeds;	/* of them; made on first use */
	PlanState  *native;			/* the last child; NULL under EXPLAIN */
	GjMode		mode;
	bool		executed;		/* some execution got past START */
	bool		returned_row;	/* in this scan */
	char	   *unfit;			/* why no scan of these rows can be offloaded */
	bool		may_rewind;		/* whoever is above may ask for the rows again */
	bool		rewind;			/* the job of the last scan serves the next */
	GjLink		link;
	GjReader	reader;
	MemoryContext run_context;	/* of one scan; reset at its start */
	MemoryContextCallback release;	/* of the query's memory context */
	GjShared   *shared;			/* parallel node with workers, else NULL */
	bool		attached;		/* to shared's barrier */
	Tuplestorestate *verified;	/* GJ_MODE_VERIFIED: the rows */
	TupleTableSlot *verified_slot;
	GjReport	report;
} GjState;

/* exec_rows.c: every row is here: a job that cannot run again ends, so that its
 * memory and its connection serve others. */
extern void gj_finish_job(GjState *state);

/* exec_rows.c: forgets an earlier scan and prepares link and run_context. */
extern void gj_prepare_run(GjState *state);

/* exec_rows.c: the next row that the daemon delivers and plan.qual passes, in the
 * scan slot. */
extern GjRead gj_offload_next(GjState *state);

/* exec_rows.c: the native child's next row, in the scan slot; false: no more. */
extern bool gj_native_next(GjState *state);

/* feed.c: feeds what is this participant's to feed, and says so. */
extern bool gj_feed(GjState *state);

/* feed_child.c: writes all rows of a child plan. */
extern bool gj_feed_child(GjState *state, int input, GjWriter *writer);

/* feed_page.c: whether the input's child allows it at this execution. */
extern bool gj_page_feed_possible(GjState *state, int input);
extern bool gj_feed_page(GjState *state, int input, GjWriter *writer);

/* exec_parallel.c */
extern Size gj_estimate_dsm(CustomScanState *css, ParallelContext *pcxt);
extern void gj_initialize_dsm(CustomScanState *css, ParallelContext *pcxt,
							  void *coordinate);
extern void gj_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt,
								void *coordinate);
extern void gj_initialize_worker(CustomScanState *css, shm_toc *toc,
								 void *coordinate);

/* Feeds and decides together with the other participants; sets the mode. */
extern void gj_parallel_start(GjState *state);

/* Before the shared memory goes: leave barrier and job, keep reason and
 * report. */
extern void gj_parallel_shutdown(GjState *state);

/* exec_report.c: gets the daemon's statistics, where EXPLAIN ANALYZE wants them. */
extern void gj_report_fetch(GjState *state);

/* exec_report.c: takes statistics, of length bytes, into the node's report, unless
 * they are malformed. */
extern void gj_report_take(GjState *state, const void *body, Size length);

/* exec_report.c: the next scan has a report of its own. */
extern void gj_report_forget(GjState *state);

/* exec_verify.c: runs both plans, raises where they differ. */
extern void gj_verify_run(GjState *state);

#endif							/* GPUJOIN_EXEC_NODE_H */
