/*
 * report.c - the daemon's statistics of a job, for EXPLAIN ANALYZE.
 */
#include "postgres.h"

#include "access/parallel.h"

#include "exec.h"

/* Keeps the report that was just received as long as the query. */
static bool
take_stats(GjState *state)
{
	GjConnection *conn = &state->link.conn;
	GjReport   *report = &state->report;
	Size		length = conn->frame.length;
	char	   *body = MemoryContextAlloc(state->css.ss.ps.state->es_query_cxt, Max(length, 1));
	GjStats		stats;

	memcpy(body, conn->body, length);
	if (!gj_stats_read(&stats, body, length))
	{
		pfree(body);
		return false;
	}
	if (report->have_stats)
		pfree(unconstify(struct gj_stats *, report->stats.total));
	report->stats = stats;
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
