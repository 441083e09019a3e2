/*
 * feed/shared.c - shared memory of the participants of a parallel node.
 *
 * It is part of the Gather's dynamic shared memory.  exec/parallel.c describes
 * the order in which the participants use it.
 */
#include "postgres.h"

#include "daemon/stats.h"
#include "feed/feed.h"
#include "options.h"

/*
 * Maximum length of the report of a job with this many participants.  Grouping
 * sets have a join and an aggregation of their own.
 */
static Size
report_size(const GjPlan *plan, int participants)
{
	int			sets = plan->aggregate != NULL && plan->aggregate->sets != NIL;

	return sizeof(struct gj_stats) +
		(plan->njoins + sets) * (sizeof(struct gj_join_stats) +
								 GJ_MAX_PHASES * sizeof(struct gj_phase_stats)) +
		(plan->aggregate != NULL ? 1 + sets : 0) * sizeof(struct gj_aggregate_stats) +
		plan->nfilters * sizeof(struct gj_filter_stats) +
		participants * sizeof(struct gj_participant_stats);
}

Size
gj_shared_size(const GjPlan *plan, int participants)
{
	return offsetof(GjShared, report) + report_size(plan, participants);
}

GjOutcome
gj_shared_outcome(GjShared *shared)
{
	return (GjOutcome) pg_atomic_read_u32(&shared->outcome);
}

void
gj_shared_decide_native(GjShared *shared, const char *reason, GjFault fault,
						uint64 cost_us)
{
	SpinLockAcquire(&shared->mutex);
	if (gj_shared_outcome(shared) == GJ_OUTCOME_OPEN)
	{
		strlcpy(shared->reason, reason, sizeof(shared->reason));
		shared->fault = fault;
		shared->cost_us = cost_us;
		pg_atomic_write_u32(&shared->outcome, GJ_OUTCOME_NATIVE);
	}
	SpinLockRelease(&shared->mutex);
}

void
gj_shared_reset(GjShared *shared)
{
	BarrierInit(&shared->barrier, 0);
	pg_atomic_write_u32(&shared->outcome, GJ_OUTCOME_OPEN);
	pg_atomic_write_u32(&shared->ended, 0);
	pg_atomic_write_u32(&shared->leader_joined, 0);
	shared->reason[0] = '\0';
	shared->report_length = 0;
	shared->report_progress = 0;
	memset(shared->kept, 0, sizeof(shared->kept));
	memset(shared->blocks, 0, sizeof(shared->blocks));
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
	{
		pg_atomic_clear_flag(&shared->taken[i]);
		pg_atomic_write_u32(&shared->next_part[i], 0);
		pg_atomic_write_u32(&shared->next_block[i], 0);
	}
}

void
gj_shared_init(GjShared *shared, const GjPlan *plan, const char *socket,
			   GjAlgorithm algorithm, int participants)
{
	memset(shared, 0, offsetof(GjShared, report));
	SpinLockInit(&shared->mutex);
	pg_atomic_init_u32(&shared->outcome, GJ_OUTCOME_OPEN);
	pg_atomic_init_u32(&shared->ended, 0);
	pg_atomic_init_u32(&shared->leader_joined, 0);
	for (int i = 0; i < GJ_MAX_INPUTS; i++)
	{
		pg_atomic_init_flag(&shared->taken[i]);
		pg_atomic_init_u32(&shared->next_part[i], 0);
		pg_atomic_init_u32(&shared->next_block[i], 0);
	}
	strlcpy(shared->socket, socket ? socket : "", sizeof(shared->socket));
	shared->algorithm = algorithm;
	shared->participants = participants;
	shared->report_size = report_size(plan, participants);
	gj_shared_reset(shared);
}

bool
gj_shared_elect(GjShared *shared, int input)
{
	return pg_atomic_test_set_flag(&shared->taken[input]);
}

GjBlockCounts gj_session_blocks;

void
gj_add_blocks(GjBlockCounts *to, const GjBlockCounts *counts)
{
	to->kept += counts->kept;
	to->proved += counts->proved;
	to->fed += counts->fed;
	to->captured += counts->captured;
}

void
gj_shared_count_blocks(GjShared *shared, int input, const GjBlockCounts *counts)
{
	SpinLockAcquire(&shared->mutex);
	gj_add_blocks(&shared->blocks[input], counts);
	SpinLockRelease(&shared->mutex);
}

bool
gj_shared_stopped(GjShared *shared)
{
	return gj_shared_outcome(shared) == GJ_OUTCOME_NATIVE;
}

void
gj_shared_ended(GjShared *shared)
{
	pg_atomic_write_u32(&shared->ended, 1);
}

/*
 * Measures how recent a report is: the rows that participants have fed and
 * returned only increase.
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
 * Each participant stores a report when it leaves.  The last report made by
 * the daemon has the numbers of all participants, but is not necessarily the
 * last to be stored here.
 */
void
gj_shared_keep_report(GjShared *shared, const void *body, Size length)
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
