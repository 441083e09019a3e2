/*
 * exec/report.c - the daemon's statistics of a job, for EXPLAIN ANALYZE.
 *
 * Statistics are best effort: the query's result does not depend on them.  If
 * the daemon does not answer in time, it still owes the frame, and the
 * connection skips it when it arrives (daemon/connection.h).
 */
#include "postgres.h"

#include "daemon/connection.h"
#include "exec/node.h"
#include "options.h"

void
gj_report_forget(GjState *state)
{
	GjReport   *report = &state->report;

	if (report->have_stats)
		pfree(unconstify(struct gj_stats *, report->stats.total));
	report->have_stats = false;
	report->fallback[0] = '\0';
}

void
gj_report_take(GjState *state, const void *body, Size length)
{
	GjReport   *report = &state->report;
	char	   *copy = MemoryContextAlloc(state->css.ss.ps.state->es_query_cxt, Max(length, 1));
	GjStats		stats;

	memcpy(copy, body, length);
	if (!gj_stats_read(&stats, copy, length))
	{
		elog(DEBUG1, "OffloadJoin ignores malformed statistics from the daemon");
		pfree(copy);
		return;
	}
	if (report->have_stats)
		pfree(unconstify(struct gj_stats *, report->stats.total));
	report->stats = stats;
	report->have_stats = true;
}

/* Requests the statistics and waits until they are the frame received. */
static bool
receive_stats(GjState *state)
{
	GjLink	   *link = &state->link;
	GjConnection *conn = &link->conn;
	uint64		deadline = gj_now_us() + (uint64) gj_connect_timeout * 1000;

	if (!gj_send(conn, GJ_STATS_GET, NULL, 0, NULL, 0))
		return false;
	conn->stats_owed = true;
	while (gj_receive_until(conn, deadline) == GJ_WAIT_DONE)
	{
		if (conn->frame.type == GJ_STATS)
		{
			conn->stats_owed = false;
			return true;
		}

		/* a result stream not yet read to its end is continued later */
		if (conn->frame.type == GJ_GRANT ? !gj_link_return_grant(link) :
			state->mode != GJ_MODE_OFFLOAD || !gj_reader_stash(&state->reader))
			return false;
	}
	return false;
}

void
gj_report_fetch(GjState *state)
{
	GjConnection *conn = &state->link.conn;

	/* at most one outstanding request: a daemon that hangs reads none */
	if (state->css.ss.ps.instrument == NULL || !state->link.admitted || conn->stats_owed)
		return;
	if (state->mode == GJ_MODE_OFFLOAD && !gj_reader_report(&state->reader))
		return;
	if (!receive_stats(state))
		return;
	if (state->shared != NULL)
		gj_shared_keep_report(state->shared, conn->body, conn->frame.length);
	else
		gj_report_take(state, conn->body, conn->frame.length);
}

double
gj_feed_bytes(const GjPlan *plan)
{
	double		bytes = 0;

	for (int i = 0; i < plan->ninputs; i++)
	{
		const GjInput *in = &plan->inputs[i];

		for (int j = 0; j < in->ncolumns; j++)
			bytes += in->rows * in->passing *
				Max(in->columns[j].width, in->columns[j].avg_width);
	}
	return bytes;
}
