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

#include "postgres.h"

#include "access/parallel.h"
#include "nodes/extensible.h"
#include "utils/tuplestore.h"

#include "exec/parameters.h"
#include "explain/explain.h"
#include "feed/feed.h"
#include "job/job.h"
#include "result/result.h"
#include "source/source.h"
#include "stats/statements.h"

/* ---- which plan is faster for a join that runs again and again ---- */

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

/* ---- node ---- */

/* State of the node's execution in this process. */
typedef enum GjMode
{
	GJ_MODE_START,				/* nothing done yet */
	GJ_MODE_OFFLOAD,			/* rows come from the daemon */
	GJ_MODE_NATIVE,				/* rows come from the native child */
	GJ_MODE_VERIFIED,			/* from both; see exec/verify.c */
	GJ_MODE_DONE				/* no more rows */
} GjMode;

typedef struct GjState
{
	CustomScanState css;
	GjPlan	   *plan;
	GjFeeder	feeder;
	PlanState  *native;			/* the last child; NULL under EXPLAIN */
	GjMode		mode;
	bool		executed;		/* some execution got past START */
	bool		returned_row;	/* in this scan */
	bool		gave_up;		/* in this scan, for the native plan */
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
	GjParameterValues values;	/* of plan->parameters */
	Datum	   *raw_values;		/* OffloadBlock: a row as the daemon returns it */
	bool	   *raw_nulls;
	const GjPin **pins;			/* of each input that is a mirror; NULL: it was not read */
	Tuplestorestate *verified;	/* GJ_MODE_VERIFIED: the rows */
	TupleTableSlot *verified_slot;
	GjStatement *statement;		/* that counts; NULL: none */
	uint64		fed_us;			/* from the connection until all is fed, in this scan */
	uint64		joined_us;		/* from there to the first rows */
	uint64		returning_us;	/* since when rows are returned; 0: they are not */
	GjReport	report;
} GjState;

/* The nodes; exec/node.c and exec/gather_block.c. */
extern CustomScanMethods gj_scan_methods;	/* OffloadJoin */
extern CustomScanMethods gj_block_methods;	/* OffloadBlock */
extern CustomScanMethods gj_feed_methods;	/* OffloadFeed */

/* exec/node.c: the state of a node with a job, CreateCustomScanState. */
extern Node *gj_create_state(CustomScan *scan);

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
 * exec/mirrors.c: pins the servers of inputs that are mirrors, for GjRuntime.tokens.
 * Raises an error if that is not possible: the native plan could not read them either.
 */
extern const char **gj_pin_mirrors(GjState *state);

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
 * exec/fallback.c: says why the native plan runs, as gpujoin.log_fallbacks asks
 * for, once a reason and minute.
 */
extern void gj_log_fallback(const GjState *state, const char *reason);

/* exec/counts.c: the native plan runs in place of a job. */
extern void gj_count_fallback(GjState *state, GjFault fault);

/* exec/counts.c: the job of this process returns rows from now on. */
extern void gj_count_job(GjState *state);

/* exec/counts.c: it does not any more, if it did. */
extern void gj_count_returned(GjState *state);

/* exec/counts.c: the same for a scan of a parallel node that ends, in the leader. */
extern void gj_count_parallel(GjState *state);

/* exec/report.c: the bytes that a job is expected to feed. */
extern double gj_feed_bytes(const GjPlan *plan);

/*
 * exec/verify.c: runs both plans and raises an error if their results differ.
 */
extern void gj_verify_run(GjState *state);

/* ---- scans of partitioned tables that a job and its native plan share ---- */

/*
 * Hundreds of partitions have hundreds of plans, and making those twice would
 * take most of the time of planning.  So a Result stands for the scan of a
 * partitioned table that the native plan has too (plan/native/walk.c).  When
 * the node starts, the native plan's scan takes its place, and each of the two
 * plans gets a state of its own for it.  exec/gather_block.c.
 */

/*
 * Returns the range table index of the table for whose scan the plan of an input
 * stands, or 0 for a plan that is a scan itself.
 */
extern Index gj_shared_scan_of(const Plan *input);

/* Returns the scan of that partitioned table in a plan, or NULL. */
extern Plan *gj_find_append(const Plan *plan, Index rti);

/*
 * Returns the node with the native plan's scans in place of what stands for
 * them; the node itself if it shares none.
 */
extern CustomScan *gj_with_shared_scans(CustomScan *scan, const Plan *native);

#endif							/* EXEC_NODE_H */
