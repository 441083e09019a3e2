/*
 * parallel.c - what the participants of a parallel node decide together.
 *
 * The leader opens the job when it sets up the shared memory and owns the
 * job's life, whether or not it runs the node itself.  The participants meet
 * at a barrier:
 *
 *	FEED	each feeds its share of the partial inputs, and those whole inputs
 *			for which it is elected.  Whoever fails says so and arrives all
 *			the same: a failure must never leave the others waiting.
 *	DECIDE	one of them lets the join run and writes the outcome.
 *	DONE	all read the outcome and leave the barrier; none of them emits a
 *			row while the others may wait for it.
 *
 * So all participants run the native plan or none does.  Who comes late finds
 * the outcome there.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/barrier.h"
#include "storage/spin.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "exec.h"

#define PHASE_FEED 0
#define PHASE_DECIDE 1

typedef enum Outcome
{
	OUTCOME_OPEN,
	OUTCOME_OFFLOAD,
	OUTCOME_NATIVE
} Outcome;

/*
 * Written by the leader before any worker starts (job, token, socket), by the
 * participants under mutex (outcome, reason), or atomically (taken).  Lives
 * and dies with the Gather's segment.
 */
struct GjShared
{
	Barrier		barrier;
	slock_t		mutex;
	pg_atomic_uint32 outcome;	/* Outcome; NATIVE is final */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	char		socket[108];
	char		reason[sizeof(((GjConnection *) NULL)->failure)];
	pg_atomic_flag taken[GJ_MAX_INPUTS];	/* inputs fed by one participant */
};

Size
gj_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return sizeof(GjShared);
}

static Outcome
outcome_of(GjShared *shared)
{
	return (Outcome) pg_atomic_read_u32(&shared->outcome);
}

/* The first reason stays. */
static void
decide_native(GjShared *shared, const char *reason)
{
	SpinLockAcquire(&shared->mutex);
	if (outcome_of(shared) == OUTCOME_OPEN)
	{
		strlcpy(shared->reason, reason, sizeof(shared->reason));
		pg_atomic_write_u32(&shared->outcome, OUTCOME_NATIVE);
	}
	SpinLockRelease(&shared->mutex);
}

/* The leader: a new job for the scan to come. */
static void
open_job(GjState *state, GjShared *shared, int participants)
{
	GjLink	   *link = &state->link;
	MemoryContext old;

	BarrierInit(&shared->barrier, 0);
	pg_atomic_write_u32(&shared->outcome, OUTCOME_OPEN);
	shared->reason[0] = '\0';
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
		pg_atomic_clear_flag(&shared->taken[i]);

	gj_prepare_run(state);
	old = MemoryContextSwitchTo(state->run_context);
	if (!gj_enabled)
		gj_fail(&link->conn, "gpujoin.enabled is off");
	else if (gj_link_connect(link, shared->socket) &&
			 gj_link_open(link, state->plan, participants, false))
	{
		shared->job = link->job;
		memcpy(shared->token, link->token, GJ_TOKEN_SIZE);
	}
	MemoryContextSwitchTo(old);
	if (!link->admitted)
	{
		decide_native(shared, link->conn.failure);
		gj_link_close(link);
	}
}

void
gj_initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	memset(shared, 0, sizeof(*shared));
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u32(&shared->outcome, OUTCOME_OPEN);
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
		pg_atomic_init_flag(&shared->taken[i]);
	strlcpy(shared->socket, gj_socket ? gj_socket : "", sizeof(shared->socket));
	open_job(state, shared, pcxt->nworkers + 1);
	state->shared = shared;
	state->attached = false;
}

/*
 * Another scan is to come.  The leader's own state is reset by rescan(),
 * before or after this, which leaves a job alone that has not been used.
 */
void
gj_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	if (state->attached)
		BarrierDetach(&shared->barrier);
	state->attached = false;
	open_job(state, shared, pcxt->nworkers + 1);
	state->shared = shared;
}

void
gj_initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((GjState *) css)->shared = coordinate;
}

bool
gj_parallel_elect(GjShared *shared, int input)
{
	return pg_atomic_test_set_flag(&shared->taken[input]);
}

bool
gj_parallel_stopped(GjShared *shared)
{
	return outcome_of(shared) == OUTCOME_NATIVE;
}

/* A worker joins the job; the leader is part of it already. */
static bool
join_job(GjState *state)
{
	GjLink	   *link = &state->link;

	if (!IsParallelWorker())
		return link->admitted;
	gj_prepare_run(state);
	return gj_link_connect(link, state->shared->socket) &&
		gj_link_attach(link, state->shared->job, state->shared->token);
}

static bool
start_reading(GjState *state)
{
	/* too late for the native plan */
	state->link.conn.patience_ms = 0;
	gj_reader_init(&state->reader, &state->link, state->plan);
	if (!gj_reader_start(&state->reader))
		return false;
	state->link.used = true;
	state->mode = GJ_MODE_OFFLOAD;
	return true;
}

/*
 * After the outcome is an offload, a participant without a connection has
 * nothing to deliver and nothing to lose: the daemon deals all rows to those
 * that ask.  One with a connection that fails may have been dealt rows.
 */
static void
read_results(GjState *state, bool joined)
{
	if (!joined && !join_job(state))
	{
		elog(DEBUG1, "GpuJoin participant %d takes no part: %s",
			 ParallelWorkerNumber, state->link.conn.failure);
		state->mode = GJ_MODE_DONE;
	}
	else if (!start_reading(state))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("the join daemon failed before it returned rows"),
				 errdetail_internal("%s.", state->link.conn.failure),
				 errhint("Run the query again; it uses the native plan while the daemon is away.")));
}

void
gj_parallel_start(GjState *state)
{
	GjShared   *shared = state->shared;
	Barrier    *barrier = &shared->barrier;
	GjLink	   *link = &state->link;
	MemoryContext old;
	bool		joined = false;
	bool		elected = false;
	int			phase;

	phase = BarrierAttach(barrier);
	state->attached = true;
	old = MemoryContextSwitchTo(state->run_context);
	if (phase == PHASE_FEED)
	{
		if (outcome_of(shared) == OUTCOME_OPEN)
		{
			joined = join_job(state) && gj_feed(state);
			if (!joined)
				decide_native(shared, link->conn.failure);
		}
		elected = BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION);
		phase = PHASE_DECIDE;
	}
	if (phase == PHASE_DECIDE)
	{
		if (elected && outcome_of(shared) == OUTCOME_OPEN)
		{
			if (gj_link_run(link))
				pg_atomic_write_u32(&shared->outcome, OUTCOME_OFFLOAD);
			else
				decide_native(shared, link->conn.failure);
		}
		BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION);
	}
	BarrierDetach(barrier);
	state->attached = false;

	if (outcome_of(shared) == OUTCOME_OFFLOAD)
		read_results(state, joined);
	else
		state->mode = GJ_MODE_NATIVE;
	MemoryContextSwitchTo(old);
}

void
gj_parallel_shutdown(GjState *state)
{
	GjShared   *shared = state->shared;

	if (state->attached)
		BarrierDetach(&shared->barrier);
	state->attached = false;
	if (!IsParallelWorker())
	{
		state->executed = true;
		if (outcome_of(shared) == OUTCOME_NATIVE)
			state->report.fallback =
				MemoryContextStrdup(state->css.ss.ps.state->es_query_cxt,
									shared->reason);
	}
	state->shared = NULL;
}
