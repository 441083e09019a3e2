/*
 * report.c - the daemon's statistics of a job, for EXPLAIN ANALYZE.
 */
#include "postgres.h"

#include "access/parallel.h"

#include "exec.h"

/* Bounds on what we are ready to believe and to print. */
#define MAX_JOINS GJ_MAX_INPUTS
#define MAX_PARTICIPANTS 1024

static bool
take_stats(GjState *state)
{
	GjConnection *conn = &state->link.conn;
	GjReport   *report = &state->report;
	MemoryContext context = state->css.ss.ps.state->es_query_cxt;
	const char *from = conn->body;
	struct gj_stats stats;
	Size		joins;
	Size		participants;

	if (conn->frame.length < sizeof(stats))
		return false;
	memcpy(&stats, from, sizeof(stats));
	if (stats.joins > MAX_JOINS || stats.participants > MAX_PARTICIPANTS)
		return false;
	joins = stats.joins * sizeof(struct gj_join_stats);
	participants = stats.participants * sizeof(struct gj_participant_stats);
	if (conn->frame.length != sizeof(stats) + joins + participants)
		return false;

	stats.provider[sizeof(stats.provider) - 1] = '\0';
	stats.fallback[sizeof(stats.fallback) - 1] = '\0';
	report->stats = stats;
	report->joins = MemoryContextAlloc(context, joins + 1);
	memcpy(report->joins, from + sizeof(stats), joins);
	for (uint32 i = 0; i < stats.joins; i++)
		report->joins[i].algorithm[sizeof(report->joins[i].algorithm) - 1] = '\0';
	report->participants = MemoryContextAlloc(context, participants + 1);
	memcpy(report->participants, from + sizeof(stats) + joins, participants);
	report->have_stats = true;
	return true;
}

/*
 * Best effort: what the query returns does not depend on it, but a stream of
 * results that is not read to its end must survive it.
 */
void
gj_report_fetch(GjState *state)
{
	GjLink	   *link = &state->link;

	if (state->css.ss.ps.instrument == NULL || !link->admitted)
		return;
	if (state->mode == GJ_MODE_OFFLOAD && !gj_reader_report(&state->reader))
		return;
	if (IsParallelWorker() || !gj_send(&link->conn, GJ_STATS_GET, NULL, 0, NULL, 0))
		return;					/* the leader asks for all of them */
	while (gj_link_receive(link, gj_connect_timeout))
	{
		if (link->conn.frame.type == GJ_STATS)
		{
			if (!take_stats(state))
				gj_fail(&link->conn, "the daemon sent malformed statistics");
			return;
		}
		if (state->mode != GJ_MODE_OFFLOAD || !gj_reader_stash(&state->reader))
			return;
	}
}
