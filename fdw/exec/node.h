/*
 * exec/node.h - the execution state of an OffloadJoin node.
 *
 * Each process that runs the node has one GjState: the backend and every
 * parallel worker.  Resources outside memory contexts (a socket, mappings)
 * belong to GjState.link.  gj_link_close() releases them, called by
 * EndCustomScan or by a reset callback of the query's memory context,
 * whichever comes first.
 */
#ifndef EXEC_NODE_H
#define EXEC_NODE_H

#include "daemon/job_session.h"
#include "daemon/stats.h"
#include "exec/rescan_choice.h"
#include "feed/key_filter_protocol.h"
#include "feed/shared.h"
#include "feed/writer.h"
#include "gpujoin.h"
#include "result/reader.h"
#include "utils/tuplestore.h"

/* State of the node's execution in this process. */
typedef enum GjMode
{
	GJ_MODE_START,				/* nothing done yet */
	GJ_MODE_OFFLOAD,			/* rows come from the daemon */
	GJ_MODE_NATIVE,				/* rows come from the native child */
	GJ_MODE_VERIFIED,			/* from both; see exec/verify.c */
	GJ_MODE_DONE				/* no more rows */
} GjMode;

/* What EXPLAIN ANALYZE shows; the statistics are the daemon's own report. */
typedef struct GjReport
{
	char		fallback[GJ_REASON_SIZE];	/* why the native plan ran; empty: it
										 * did not */
	bool		have_stats;
	GjStats		stats;			/* valid if have_stats */
} GjReport;

typedef struct GjPageFeed GjPageFeed;	/* feed/page/scan.c */

typedef struct GjState
{
	CustomScanState css;
	GjPlan	   *plan;
	PlanState **inputs;			/* plan->ninputs children */
	GjPageFeed **page_feeds;	/* one an input; created on first use */
	GjKeyFilter *filters;		/* plan->nfilters, of this scan */
	PlanState  *native;			/* the last child; NULL under EXPLAIN */
	GjMode		mode;
	bool		executed;		/* some execution got past START */
	bool		returned_row;	/* in this scan */
	bool		gave_up;		/* in this scan, for the native plan */
	char	   *unfit;			/* why no scan can be offloaded */
	GjAlgorithm algorithm;		/* gj_algorithm when the execution began */
	bool		may_rewind;		/* the plan above may ask for the rows again */
	bool		rewind;			/* the next scan reuses the last job */
	GjRescanChoice rescan;		/* of a serial node's scans */
	GjLink		link;
	GjReader	reader;
	MemoryContext run_context;	/* of one scan; reset at its start */
	MemoryContextCallback release;	/* of the query's memory context */
	GjShared   *shared;			/* parallel node with workers, else NULL */
	bool		attached;		/* to shared's barrier */
	ExprState **parameter_exprs;	/* of plan->parameters */
	StringInfoData parameters;	/* their values in this scan, as in the job */
	Datum	   *raw_values;		/* OffloadBlock: a row as the daemon returns it */
	bool	   *raw_nulls;
	Tuplestorestate *verified;	/* GJ_MODE_VERIFIED: the rows */
	TupleTableSlot *verified_slot;
	GjReport	report;
} GjState;

/* exec/node.c: the state of a node with a job, CreateCustomScanState. */
extern Node *gj_create_state(CustomScan *scan);

/* exec/parameters.c: prepares the evaluation of parameters. */
extern void gj_prepare_parameters(GjState *state);

/*
 * exec/parameters.c: evaluates them for a scan.  Returns NULL, or why the daemon
 * cannot take a value.
 */
extern const char *gj_evaluate_parameters(GjState *state);

/*
 * exec/rows.c: all rows have been read.  Ends a job that cannot run again, so
 * that its memory and its connection become available to others.
 */
extern void gj_finish_job(GjState *state);

/* exec/rows.c: discards an earlier scan and prepares link and run_context. */
extern void gj_prepare_run(GjState *state);

/*
 * exec/rows.c: stores the daemon's next row that passes plan.qual in the scan
 * slot.
 */
extern GjRead gj_offload_next(GjState *state);

/*
 * exec/rows.c: stores the native child's next row in gj_native_slot().
 * Returns false if there are no more.
 */
extern bool gj_native_next(GjState *state);

/*
 * exec/rows.c: the slot for rows of the native child.  That of an OffloadJoin
 * delivers joined rows, which are then projected.  That of an OffloadBlock delivers
 * what the node itself delivers.
 */
extern TupleTableSlot *gj_native_slot(GjState *state);

/*
 * feed/feed.c: feeds this participant's part of the inputs and tells the daemon so.
 */
extern bool gj_feed(GjState *state);

/* feed/child.c: writes all rows of a child plan. */
extern bool gj_feed_child(GjState *state, int input, GjWriter *writer);

/* feed/page/scan.c: does the input's child allow a page feed in this execution? */
extern bool gj_page_feed_possible(GjState *state, int input);
extern bool gj_feed_page(GjState *state, int input, GjWriter *writer);

/* exec/parallel.c */
extern Size gj_estimate_dsm(CustomScanState *css, ParallelContext *pcxt);
extern void gj_initialize_dsm(CustomScanState *css, ParallelContext *pcxt,
							  void *coordinate);
extern void gj_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt,
								void *coordinate);
extern void gj_initialize_worker(CustomScanState *css, shm_toc *toc,
								 void *coordinate);

/*
 * Feeds and decides together with the other participants, and sets the mode.
 */
extern void gj_parallel_start(GjState *state);

/*
 * Leaves the barrier and the job, and saves the reason and the report.  To be
 * called before the shared memory is released.
 */
extern void gj_parallel_shutdown(GjState *state);

/*
 * exec/report.c: fetches the daemon's statistics if EXPLAIN ANALYZE wants
 * them.
 */
extern void gj_report_fetch(GjState *state);

/*
 * exec/report.c: copies statistics of length bytes into the node's report,
 * unless they are malformed.
 */
extern void gj_report_take(GjState *state, const void *body, Size length);

/* exec/report.c: starts an empty report for the next scan. */
extern void gj_report_forget(GjState *state);

/*
 * exec/fallback_log.c: writes to the server's log why the native plan runs, once per
 * kind of fault and minute.
 */
extern void gj_log_fallback(const GjState *state, const char *reason, GjFault fault);

/* exec/fallback_log.c: the bytes that a job is expected to feed. */
extern double gj_feed_bytes(const GjPlan *plan);

/*
 * exec/verify.c: runs both plans and raises an error if their results differ.
 */
extern void gj_verify_run(GjState *state);

#endif							/* EXEC_NODE_H */
