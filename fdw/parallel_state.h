/*
 * parallel_state.h - what the participants of a parallel node share.
 */
#ifndef GPUJOIN_PARALLEL_STATE_H
#define GPUJOIN_PARALLEL_STATE_H

#include "daemon_connection.h"
#include "gpujoin.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"

/* Who delivers the rows of a scan, for all participants. */
typedef enum GjOutcome
{
	GJ_OUTCOME_OPEN,			/* not decided */
	GJ_OUTCOME_OFFLOAD,
	GJ_OUTCOME_NATIVE
} GjOutcome;

/*
 * Written by the leader before any worker starts (socket, participants,
 * report_size), by whoever opens the job while the others wait at the barrier
 * (job, token), by the participants under mutex (outcome, reason, report), or
 * atomically (taken, ended).  Lives and dies with the Gather's segment.
 */
typedef struct GjShared
{
	Barrier		barrier;
	slock_t		mutex;
	pg_atomic_uint32 outcome;	/* GjOutcome; NATIVE is final */
	pg_atomic_uint32 ended;		/* 1: a participant has read the end */
	int			participants;	/* planned, the leader included */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	char		socket[108];
	char		reason[GJ_REASON_SIZE];
	pg_atomic_flag taken[GJ_MAX_INPUTS];	/* inputs fed by one participant */
	Size		report_size;	/* bytes that report has */
	Size		report_length;	/* of them in use; 0: there is none */
	uint64		report_progress;	/* see parallel_state.c */
	char		report[FLEXIBLE_ARRAY_MEMBER];
} GjShared;

/* Bytes of the state for a node with so many participants. */
extern Size gj_shared_size(const GjPlan *plan, int participants);

/* The leader: makes the state, before any worker starts.  socket may be NULL. */
extern void gj_shared_init(GjShared *shared, const GjPlan *plan, const char *socket,
						   int participants);

/* The leader: nothing has happened yet in the scan to come. */
extern void gj_shared_reset(GjShared *shared);

extern GjOutcome gj_shared_outcome(GjShared *shared);

/* Decides for the native plan, unless it is decided; the first reason stays. */
extern void gj_shared_decide_native(GjShared *shared, const char *reason);

/* Is this input this participant's to feed as a whole?  True once a scan. */
extern bool gj_shared_elect(GjShared *shared, int input);

/* Has a participant given up, so that feeding is in vain? */
extern bool gj_shared_stopped(GjShared *shared);

/* A participant has read the end of its rows. */
extern void gj_shared_ended(GjShared *shared);

/* Keeps a report of the daemon, of length bytes, for the leader. */
extern void gj_shared_keep_report(GjShared *shared, const void *body, Size length);

#endif							/* GPUJOIN_PARALLEL_STATE_H */
