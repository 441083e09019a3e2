/*
 * exec_parallel.c - what the participants of a parallel node decide together.
 *
 * Nothing is opened for a node that never runs: an Append has many, of which
 * few run at a time.  The participants that run it meet at a barrier:
 *
 *	ELECT	one of those that come first is to open the job.
 *	OPEN	it does, and the others wait.
 *	FEED	each feeds its share of the partial inputs, and those whole inputs
 *			for which it is elected.  Whoever fails says so and arrives all
 *			the same: a failure must never leave the others waiting.
 *	DECIDE	one of them lets the join run and writes the outcome.
 *	DONE	all read the outcome and leave the barrier; none of them emits a
 *			row while the others may wait for it.
 *
 * So all participants run the native plan or none does.  Who comes late finds
 * the outcome there.
 *
 * The job ends when its last participant leaves, which each does once it has
 * read the end.  Who comes after that needs no job: all rows are dealt to those
 * that read.  Were one of them to stop before its end, it would be because the
 * whole Gather stops (a LIMIT, an error): no node above a partial plan stops
 * reading in one process alone.
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

#include "exec_node.h"

#define PHASE_ELECT 0
#define PHASE_OPEN 1
#define PHASE_FEED 2
#define PHASE_DECIDE 3

typedef enum Outcome
{
	OUTCOME_OPEN,
	OUTCOME_OFFLOAD,
	OUTCOME_NATIVE
} Outcome;

/*
 * Written by the leader before any worker starts (socket, participants,
 * report_size), by whoever opens the job while the others wait at the barrier
 * (job, token), by the participants under mutex (outcome, reason, report), or
 * atomically (taken, ended).  Lives and dies with the Gather's segment.
 */
struct GjShared
{
	Barrier		barrier;
	slock_t		mutex;
	pg_atomic_uint32 outcome;	/* Outcome; NATIVE is final */
	pg_atomic_uint32 ended;		/* 1: a participant has read the end */
	int			participants;	/* planned, the leader included */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	char		socket[108];
	char		reason[GJ_REASON_SIZE];
	pg_atomic_flag taken[GJ_MAX_INPUTS];	/* inputs fed by one participant */
	Size		report_size;	/* bytes that report has */
	Size		report_length;	/* of them in use; 0: there is none */
	uint64		report_progress;	/* see progress_of() */
	char		report[FLEXIBLE_ARRAY_MEMBER];
};

/* The longest report of a job with so many participants. */
static Size
report_size(const GjPlan *plan, int participants)
{
	return sizeof(struct gj_stats) +
		plan->njoins * (sizeof(struct gj_join_stats) +
						GJ_MAX_PHASES * sizeof(struct gj_phase_stats)) +
		participants * sizeof(struct gj_participant_stats);
}

Size
gj_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return offsetof(GjShared, report) +
		report_size(((GjState *) css)->plan, pcxt->nworkers + 1);
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

/* The leader: nothing has happened yet in the scan to come. */
static void
reset(GjShared *shared)
{
	BarrierInit(&shared->barrier, 0);
	pg_atomic_write_u32(&shared->outcome, OUTCOME_OPEN);
	pg_atomic_write_u32(&shared->ended, 0);
	shared->reason[0] = '\0';
	shared->report_length = 0;
	shared->report_progress = 0;
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
		pg_atomic_clear_flag(&shared->taken[i]);
}

void
gj_initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	if (gj_verify)
		ereport(WARNING,
				(errmsg("gpujoin.verify does not compare the rows of a parallel join"),
				 errdetail("The query was planned while the setting was off.")));
	memset(shared, 0, offsetof(GjShared, report));
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u32(&shared->outcome, OUTCOME_OPEN);
	pg_atomic_init_u32(&shared->ended, 0);
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
		pg_atomic_init_flag(&shared->taken[i]);
	strlcpy(shared->socket, gj_socket ? gj_socket : "", sizeof(shared->socket));
	shared->participants = pcxt->nworkers + 1;
	shared->report_size = report_size(state->plan, shared->participants);
	reset(shared);
	state->shared = shared;
	state->attached = false;
}

/* Another scan is to come.  rescan() happens before or after this. */
void
gj_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	if (state->attached)
		BarrierDetach(&shared->barrier);
	state->attached = false;
	gj_link_close(&state->link);
	reset(shared);
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

/* The participant that is elected for it: a new job for all of them. */
static bool
open_job(GjState *state)
{
	GjLink	   *link = &state->link;
	GjShared   *shared = state->shared;

	gj_prepare_run(state);
	if (!gj_enabled)
		gj_fail(&link->conn, "gpujoin.enabled is off");
	else if (gj_link_connect(link, shared->socket) &&
			 gj_link_open(link, state->plan, shared->participants, false))
	{
		shared->job = link->job;
		memcpy(shared->token, link->token, GJ_TOKEN_SIZE);
		return true;
	}
	decide_native(shared, link->conn.failure);
	return false;
}

/* The others join the job. */
static bool
join_job(GjState *state)
{
	GjLink	   *link = &state->link;

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
	if (!joined && pg_atomic_read_u32(&state->shared->ended) != 0)
		state->mode = GJ_MODE_DONE;
	else if (!joined && !join_job(state))
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
	if (phase == PHASE_ELECT)
	{
		if (BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION))
			joined = open_job(state);
		phase = PHASE_OPEN;
	}
	if (phase == PHASE_OPEN)
	{
		BarrierArriveAndWait(barrier, PG_WAIT_EXTENSION);
		phase = PHASE_FEED;
	}
	if (phase == PHASE_FEED)
	{
		if (outcome_of(shared) == OUTCOME_OPEN)
		{
			joined = (joined || join_job(state)) && gj_feed(state);
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
gj_parallel_ended(GjShared *shared)
{
	pg_atomic_write_u32(&shared->ended, 1);
}

/*
 * Of several reports of one job the later one says more: what participants
 * have fed and returned only grows.
 */
static uint64
progress_of(const GjStats *stats)
{
	uint64		progress = 0;

	for (uint32 i = 0; i < stats->total->participants; i++)
	{
		const struct gj_participant_stats *p = &stats->participants[i];

		progress += p->fed_rows + p->returned_rows + p->return_us;
	}
	return progress;
}

/*
 * Each participant that leaves keeps a report.  The last one that the daemon
 * made has the numbers of all of them, but need not be the last to get here.
 */
void
gj_parallel_keep_report(GjShared *shared, const void *body, Size length)
{
	GjStats		stats;
	uint64		progress;

	if (length > shared->report_size || !gj_stats_read(&stats, body, length))
		return;
	progress = progress_of(&stats);
	SpinLockAcquire(&shared->mutex);
	if (shared->report_length == 0 || progress >= shared->report_progress)
	{
		memcpy(shared->report, body, length);
		shared->report_length = length;
		shared->report_progress = progress;
	}
	SpinLockRelease(&shared->mutex);
}

/* The leader: what there is to say of the whole node. */
static void
take_report(GjState *state)
{
	GjShared   *shared = state->shared;
	Outcome		outcome = outcome_of(shared);
	char	   *report;
	Size		length;

	if (outcome == OUTCOME_OPEN)
		return;					/* it did not run */
	state->executed = true;
	if (outcome == OUTCOME_NATIVE)
		strlcpy(state->report.fallback, shared->reason, sizeof(state->report.fallback));
	if (state->css.ss.ps.instrument == NULL)
		return;

	/* workers that have not read the end keep none before they shut down */
	if (outcome == OUTCOME_OFFLOAD && shared->report_length == 0 &&
		!state->link.admitted && join_job(state))
		gj_report_fetch(state);

	report = palloc(shared->report_size);
	SpinLockAcquire(&shared->mutex);
	length = shared->report_length;
	memcpy(report, shared->report, length);
	SpinLockRelease(&shared->mutex);
	if (length > 0)
		gj_report_take(state, report, length);
	pfree(report);
}

/* A parallel plan fetches no more rows after this, unless it starts over. */
void
gj_parallel_shutdown(GjState *state)
{
	GjShared   *shared = state->shared;

	if (state->attached)
		BarrierDetach(&shared->barrier);
	state->attached = false;
	if (!IsParallelWorker())
		take_report(state);
	gj_link_close(&state->link);
	state->shared = NULL;
}
