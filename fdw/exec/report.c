/*
 * exec/report.c - the daemon's statistics of a job, for EXPLAIN ANALYZE.
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

void
gj_report_fetch(GjState *state)
{
	GjConnection *conn = &state->link.conn;
	GjReader   *reader = state->mode == GJ_MODE_OFFLOAD ? &state->reader : NULL;

	if (state->css.ss.ps.instrument == NULL || !state->link.admitted || conn->stats_owed)
		return;
	if (reader != NULL && !gj_reader_report(reader))
		return;
	if (!gj_receive_stats(&state->link, reader))
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

		if (in->feed == GJ_FEED_MIRROR)
			continue;
		for (int j = 0; j < in->ncolumns; j++)
			bytes += in->rows * in->passing *
				Max(in->columns[j].width, in->columns[j].avg_width);
	}
	return bytes;
}
