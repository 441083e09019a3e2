/*
 * exec/parallel.c - how the participants of a parallel node decide together.
 *
 * No job is opened for a node that never runs: an Append may have many of
 * them, of which only a few run at a time.  The participants that do run the
 * node meet at a barrier, whose phases are:
 *
 * 	ELECT	one of the first participants is elected to open the job.
 * 	OPEN	it opens the job while the others wait.
 * 	FEED	each feeds its share of the partial inputs, and those whole
 * 			inputs for which it is elected.  A participant that fails
 * 			records that and still arrives: a failure must never leave the
 * 			others waiting.
 * 	DECIDE	one of them lets the join run and writes the outcome.
 * 	DONE	all read the outcome and leave the barrier.  No participant
 * 			emits a row while the others may still wait for it.
 *
 * So either all participants run the native plan or none does.  A participant
 * that arrives late finds the outcome in shared memory.
 *
 * Each participant leaves the job once it has read the end, and the job ends
 * when the last one leaves.  A participant that arrives after that needs no
 * job, because all rows have been dealt to those that read.  A participant
 * stops before its end only if the whole Gather stops (a LIMIT, an error): no
 * node above a partial plan stops reading in one process alone.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "daemon/status.h"
#include "exec/node.h"
#include "options.h"

#define PHASE_ELECT 0
#define PHASE_OPEN 1
#define PHASE_FEED 2
#define PHASE_DECIDE 3

Size
gj_estimate_dsm(CustomScanState *css, ParallelContext *pcxt)
{
	return gj_shared_size(((GjState *) css)->plan, pcxt->nworkers + 1);
}

/*
 * The leader: remembers how the scan went.  Workers are new processes in each
 * query, so they have nothing to remember it with.
 */
static void
remember(GjState *state)
{
	GjShared   *shared = state->shared;
	double		bytes = gj_feed_bytes(state->plan);

	gj_count_parallel(state);
	if (gj_shared_outcome(shared) == GJ_OUTCOME_OFFLOAD)
		gj_breaker_succeeded(shared->socket, bytes);
	else if (gj_shared_outcome(shared) == GJ_OUTCOME_NATIVE && shared->cost_us > 0)
		gj_breaker_failed(shared->socket, bytes, shared->fault, shared->cost_us, shared->reason);
}

/* The leader: spares the participants a defect, or a daemon that failed lately. */
static void
decide_early(GjState *state)
{
	GjFault		fault = GJ_FAULT_NONE;
	const char *reason = state->plan->defect;

	if (reason == NULL)
		reason = gj_breaker_reason(state->shared->socket, gj_feed_bytes(state->plan), &fault);
	if (reason != NULL)
		gj_shared_decide_native(state->shared, reason, fault, 0);
}

void
gj_initialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	if (gj_verify)
		ereport(WARNING,
				(errmsg("rows of a parallel join are not verified"),
				 errdetail("The query was planned while gpujoin.verify was off.")));
	gj_shared_init(shared, state->plan, gj_socket, state->algorithm, pcxt->nworkers + 1);
	state->shared = shared;
	state->attached = false;
	decide_early(state);
}

/* Prepares for another scan.  rescan() is called before or after this. */
void
gj_reinitialize_dsm(CustomScanState *css, ParallelContext *pcxt, void *coordinate)
{
	GjState    *state = (GjState *) css;
	GjShared   *shared = coordinate;

	if (state->attached)
		BarrierDetach(&shared->barrier);
	state->attached = false;
	gj_link_close(&state->link);
	state->shared = shared;
	remember(state);
	gj_shared_reset(shared);
	decide_early(state);
}

void
gj_initialize_worker(CustomScanState *css, shm_toc *toc, void *coordinate)
{
	((GjState *) css)->shared = coordinate;
}

/* This participant's connection failed: selects the native plan for all. */
static void
give_up(GjState *state, uint64 since_us)
{
	const GjConnection *conn = &state->link.conn;

	gj_shared_decide_native(state->shared, conn->failure, conn->fault, gj_now_us() - since_us);
}

/*
 * The elected participant: opens a new job for all of them, unless the leader
 * has decided before.  unfit: why the daemon cannot take the parameters' values.
 */
static bool
open_job(GjState *state, const char *unfit, uint64 since_us)
{
	GjLink	   *link = &state->link;
	GjShared   *shared = state->shared;
	GjRuntime	runtime = {
		.parameters = state->values.json.data,
		.algorithm = shared->algorithm
	};

	gj_prepare_run(state);
	if (gj_shared_stopped(shared))
		return false;
	if (!gj_enabled)
		gj_fail(&link->conn, "gpujoin.enabled is off");
	else if (unfit != NULL)
		gj_fail(&link->conn, "%s", unfit);
	else if (gj_link_connect(link, shared->socket) &&
			 gj_link_open(link, state->plan, &runtime, shared->participants, false) &&
			 gj_kept_open(&state->feeder, link, shared, state->run_context))
	{
		shared->job = link->job;
		memcpy(shared->token, link->token, GJ_TOKEN_SIZE);
		return true;
	}
	give_up(state, since_us);
	return false;
}

/* The other participants: join the job. */
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
	/* too late to switch to the native plan */
	state->link.conn.committed = true;
	gj_reader_init(&state->reader, &state->link, state->plan);
	if (!gj_reader_start(&state->reader))
		return false;
	state->mode = GJ_MODE_OFFLOAD;
	return true;
}

/*
 * The groups of a block go to the node above the Gather.  The leader gets a row
 * from the daemon several times as fast as from a worker.  So if the leader has
 * joined the job, the workers return no rows.
 */
static bool
leader_reads_all(const GjState *state)
{
	return IsParallelWorker() && state->plan->aggregate != NULL &&
		pg_atomic_read_u32(&state->shared->leader_joined) != 0;
}

/*
 * Once the outcome is to offload, a participant without a connection delivers
 * nothing and loses nothing, because the daemon deals all rows to those that
 * ask. If a connection fails, its participant may already have been dealt
 * rows.
 */
static void
read_results(GjState *state, bool joined)
{
	if (leader_reads_all(state) ||
		(!joined && pg_atomic_read_u32(&state->shared->ended) != 0))
		state->mode = GJ_MODE_DONE;
	else if (!joined && !join_job(state))
	{
		elog(DEBUG1, "OffloadJoin participant %d returns no rows: %s",
			 ParallelWorkerNumber, state->link.conn.failure);
		state->mode = GJ_MODE_DONE;
	}
	else if (!start_reading(state))
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("join daemon failed before returning rows"),
				 gj_failure_detail(&state->link.conn),
				 errhint("Run the query again. It uses the native plan while the daemon is not running.")));
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
	const char *unfit = gj_evaluate_parameters(&state->values, state->plan, &state->css.ss.ps);
	uint64		since_us = gj_now_us();
	int			phase;

	phase = BarrierAttach(barrier);
	state->attached = true;
	old = MemoryContextSwitchTo(state->run_context);
	if (phase == PHASE_ELECT)
	{
		if (BarrierArriveAndWait(barrier, gj_wait_event(GJ_EVENT_PARTICIPANTS)))
			joined = open_job(state, unfit, since_us);
		phase = PHASE_OPEN;
	}
	if (phase == PHASE_OPEN)
	{
		BarrierArriveAndWait(barrier, gj_wait_event(GJ_EVENT_PARTICIPANTS));
		phase = PHASE_FEED;
	}
	if (phase == PHASE_FEED)
	{
		if (gj_shared_outcome(shared) == GJ_OUTCOME_OPEN)
		{
			joined = (joined || join_job(state)) &&
				gj_feed(&state->feeder, &state->link, shared, state->run_context);
			if (!joined)
			{
				give_up(state, since_us);

				/* ends the job, so that no other participant waits for a filter */
				gj_link_close(link);
			}
			else if (!IsParallelWorker())
				pg_atomic_write_u32(&shared->leader_joined, 1);
		}
		elected = BarrierArriveAndWait(barrier, gj_wait_event(GJ_EVENT_PARTICIPANTS));
		phase = PHASE_DECIDE;
	}
	if (phase == PHASE_DECIDE)
	{
		if (elected && gj_shared_outcome(shared) == GJ_OUTCOME_OPEN)
		{
			uint64		fed_us = gj_now_us();

			if (gj_link_run(link))
			{
				shared->fed_us = fed_us - since_us;
				shared->returning_us = gj_now_us();
				shared->joined_us = shared->returning_us - fed_us;
				pg_write_barrier();
				pg_atomic_write_u32(&shared->outcome, GJ_OUTCOME_OFFLOAD);
			}
			else
				give_up(state, since_us);
		}
		BarrierArriveAndWait(barrier, gj_wait_event(GJ_EVENT_PARTICIPANTS));
	}
	BarrierDetach(barrier);
	state->attached = false;

	if (gj_shared_outcome(shared) == GJ_OUTCOME_OFFLOAD)
		read_results(state, joined);
	else
		state->mode = GJ_MODE_NATIVE;
	MemoryContextSwitchTo(old);
}

/* The leader: takes the report of the whole node. */
static void
take_report(GjState *state)
{
	GjShared   *shared = state->shared;
	GjOutcome		outcome = gj_shared_outcome(shared);
	char	   *report;
	Size		length;

	if (outcome == GJ_OUTCOME_OPEN)
		return;					/* the job did not run */
	state->executed = true;
	remember(state);
	if (outcome == GJ_OUTCOME_NATIVE)
	{
		state->gave_up = true;
		strlcpy(state->report.fallback, shared->reason, sizeof(state->report.fallback));
		gj_log_fallback(state, shared->reason);
	}
	for (int i = 0; i < state->plan->ninputs; i++)
		gj_add_blocks(&gj_session_blocks, &shared->blocks[i]);
	if (state->css.ss.ps.instrument == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	memcpy(state->feeder.blocks, shared->blocks, state->plan->ninputs * sizeof(GjBlockCounts));
	SpinLockRelease(&shared->mutex);

	/*
	 * workers that have not read the end leave no report before they shut down
	 */
	if (outcome == GJ_OUTCOME_OFFLOAD && shared->report_length == 0 &&
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

/* A parallel plan fetches no more rows after this, unless it is rescanned. */
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
