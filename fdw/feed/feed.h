/*
 * feed/feed.h - feeds the inputs of a job.
 */
#ifndef FEED_FEED_H
#define FEED_FEED_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"

#include "daemon/connection.h"
#include "feed/key_filter.h"
#include "job/job.h"

/* ---- shared memory of the participants of a parallel node ---- */

/* The source of a scan's rows, for all participants. */
typedef enum GjOutcome
{
	GJ_OUTCOME_OPEN,			/* not decided */
	GJ_OUTCOME_OFFLOAD,
	GJ_OUTCOME_NATIVE
} GjOutcome;

/*
 * The leader writes socket, algorithm, participants and report_size before any
 * worker starts. The participant that opens the job writes job and token while the
 * others wait at the barrier.  Any participant may write outcome, reason and
 * report under mutex, and taken and ended atomically; the leader writes
 * leader_joined.  The state lives as long as the Gather's segment.
 */
typedef struct GjShared
{
	Barrier		barrier;
	slock_t		mutex;
	pg_atomic_uint32 outcome;	/* GjOutcome; NATIVE is final */
	pg_atomic_uint32 ended;		/* 1: a participant has read the end */
	pg_atomic_uint32 leader_joined;	/* 1: the leader has fed and will read */
	int			participants;	/* planned, the leader included */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	char		socket[108];
	GjAlgorithm algorithm;
	char		reason[GJ_REASON_SIZE];
	GjFault		fault;			/* of the failure that it describes */
	uint64		cost_us;		/* time that the failure took */
	uint64		fed_us;			/* by the participant that let the join run, with the
								 * outcome, as the next ones: time until all was fed */
	uint64		joined_us;		/* from there to the first rows */
	uint64		returning_us;	/* since when rows are returned */
	pg_atomic_flag taken[GJ_MAX_INPUTS];	/* claimed by one participant */
	bool		kept[GJ_MAX_INPUTS];	/* fed by state; written with job */
	pg_atomic_uint32 next_part[GJ_MAX_INPUTS]; /* of those that one participant feeds:
												 * not claimed yet */
	pg_atomic_uint32 next_block[GJ_MAX_INPUTS]; /* kept: not claimed yet */
	GjBlockCounts blocks[GJ_MAX_INPUTS];	/* of all participants, under mutex */
	Size		report_size;	/* allocated bytes of report */
	Size		report_length;	/* bytes in use; 0: no report */
	uint64		report_progress;	/* see feed/shared.c */
	char		report[FLEXIBLE_ARRAY_MEMBER];
} GjShared;

/* Bytes of the state for a node with the given number of participants. */
extern Size gj_shared_size(const GjPlan *plan, int participants);

/*
 * The leader: creates the state, before any worker starts.  socket may be
 * NULL.
 */
extern void gj_shared_init(GjShared *shared, const GjPlan *plan, const char *socket,
						   GjAlgorithm algorithm, int participants);

/* The leader: resets the state for the next scan. */
extern void gj_shared_reset(GjShared *shared);

extern GjOutcome gj_shared_outcome(GjShared *shared);

/*
 * Selects the native plan, unless that was decided already.  The first reason
 * is kept.
 */
extern void gj_shared_decide_native(GjShared *shared, const char *reason, GjFault fault,
									uint64 cost_us);

/*
 * Claims a whole input for this participant.  Succeeds once per input and
 * scan.
 */
extern bool gj_shared_elect(GjShared *shared, int input);

/* Has a participant given up, so that there is no point in feeding? */
extern bool gj_shared_stopped(GjShared *shared);

/* Records that a participant has read the end of its rows. */
extern void gj_shared_ended(GjShared *shared);

/* Stores a daemon's report of length bytes for the leader. */
extern void gj_shared_keep_report(GjShared *shared, const void *body, Size length);

/* What became of the blocks of kept tables in all jobs of this backend. */
extern GjBlockCounts gj_session_blocks;

/* Adds counts to others. */
extern void gj_add_blocks(GjBlockCounts *to, const GjBlockCounts *counts);

/* Adds what became of the blocks that this participant claimed. */
extern void gj_shared_count_blocks(GjShared *shared, int input, const GjBlockCounts *counts);

/* ---- feed ---- */

typedef struct GjPageFeed GjPageFeed;	/* feed/page/page.h */
typedef struct GjPart GjPart;	/* feed/parts.h */
typedef struct GjParts GjParts;
typedef struct GjKept GjKept;	/* feed/kept/kept.h */
typedef struct GjKeptFeed GjKeptFeed;	/* feed/kept/scan.c */

/* What this process feeds for a node, from and to where. */
typedef struct GjFeeder
{
	const GjPlan *plan;
	PlanState **inputs;			/* plan->ninputs children */
	GjPageFeed **page_feeds;	/* one an input that is one table; created on first use */
	GjKeptFeed **kept_feeds;	/* the same for inputs that are fed by state */
	GjKeyFilter *filters;		/* plan->nfilters, of this scan */
	MemoryContext context;		/* of the query */
	char	   *unfit;			/* why no scan can be offloaded; NULL: unknown */

	/* of the current scan */
	GjLink	   *link;
	GjShared   *shared;			/* parallel node with workers, else NULL */
	MemoryContext run_context;	/* reset after the scan */
	GjChain		chain;			/* of this participant's long values */
	GjParts   **parts;			/* of each input; NULL: not known yet */
	GjKept	  **kept;			/* how to feed each input; NULL: all of it */
	GjBlockCounts *blocks;		/* of each input that is fed by state */
} GjFeeder;

/*
 * Shuts down a plan that may run again: a Gather in it releases its workers and
 * its shared memory, and keeps the statistics that EXPLAIN ANALYZE shows.
 */
extern void gj_shut_down(PlanState *child);

/* Prepares the feeder of a plan.  The children are filled in by the caller. */
extern void gj_feeder_init(GjFeeder *feeder, const GjPlan *plan, MemoryContext context);

/* Forgets the scan before, whose memory is gone. */
extern void gj_feeder_reset(GjFeeder *feeder);

/*
 * The opener of a job: waits until the daemon admits it, and finds out which inputs
 * the daemon keeps, before any participant feeds.  What it allocates is in
 * run_context.  feed/kept/states.c.
 */
extern bool gj_kept_open(GjFeeder *feeder, GjLink *link, GjShared *shared,
						 MemoryContext run_context);

/*
 * Feeds this participant's part of the inputs and tells the daemon so.  What the
 * feed allocates for this scan is in run_context.
 */
extern bool gj_feed(GjFeeder *feeder, GjLink *link, GjShared *shared,
					MemoryContext run_context);

/* feed/child.c: writes all rows of a plan that delivers rows of an input. */
extern bool gj_feed_child(GjFeeder *feeder, int input, PlanState *child, GjWriter *writer);

/* feed/page/scan.c: the same for a part that is read from heap pages. */
extern bool gj_feed_page(GjFeeder *feeder, int input, const GjPart *part, GjWriter *writer);

/*
 * feed/kept/states.c: a participant that has attached learns how to feed an
 * input that the opener found kept.
 */
extern bool gj_kept_get(GjFeeder *feeder, int input);

/*
 * feed/kept/scan.c: feeds the blocks that the daemon does not have of the parts of an input
 * that are fed by state.  writer writes all columns, hidden ones too.
 */
extern bool gj_feed_kept(GjFeeder *feeder, int input, GjWriter *writer);

/*
 * False, with the reason recorded, if another participant has given up, so that
 * there is no point in feeding.
 */
static inline bool
gj_feed_goes_on(const GjFeeder *feeder)
{
	return feeder->shared == NULL || !gj_shared_stopped(feeder->shared) ||
		gj_fail(&feeder->link->conn, "another participant failed to feed its rows");
}

#endif							/* FEED_FEED_H */
