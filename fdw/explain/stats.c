/*
 * explain/stats.c - EXPLAIN ANALYZE output from the daemon's report of a job.
 *
 * Collecting these times adds no cost per row.  The times of the whole job, of
 * its joins and of its participants are a summary, so they are shown even with
 * TIMING OFF, which only avoids the clocks of the child plans.  The phases of
 * a join, and their predicted times, are shown with TIMING only.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/ruleutils.h"

#include "explain/explain.h"

static double
us_to_ms(uint64 us)
{
	return us / 1000.0;
}

static double
ns_to_ms(uint64 ns)
{
	return ns / 1000000.0;
}

static void
explain_phase(const struct gj_phase_stats *phase, ExplainState *es)
{
	if (gj_explain_is_text(es))
	{
		gj_explain_line(es);
		appendStringInfo(es->str, "  Phase %s: ", phase->name);
		if (phase->predicted_ns != 0)
			appendStringInfo(es->str, "predicted %.3f ms, ", ns_to_ms(phase->predicted_ns));
		appendStringInfo(es->str, "actual %.3f ms\n", ns_to_ms(phase->actual_ns));
		return;
	}
	ExplainOpenGroup("Phase", NULL, true, es);
	ExplainPropertyText("Name", phase->name, es);
	if (phase->predicted_ns != 0)
		ExplainPropertyFloat("Predicted Time", "ms", ns_to_ms(phase->predicted_ns), 3, es);
	ExplainPropertyFloat("Actual Time", "ms", ns_to_ms(phase->actual_ns), 3, es);
	ExplainCloseGroup("Phase", NULL, true, es);
}

static void
explain_phases(const GjStats *stats, uint32 i, ExplainState *es)
{
	const struct gj_phase_stats *phases = gj_stats_phases(stats, i);

	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Phases", "Phases", false, es);
	for (uint32 phase = 0; phase < stats->joins[i].phases; phase++)
		explain_phase(&phases[phase], es);
	if (!gj_explain_is_text(es))
		ExplainCloseGroup("Phases", "Phases", false, es);
}

static void
text_join(const struct gj_join_stats *join, ExplainState *es)
{
	gj_explain_line(es);
	appendStringInfo(es->str, "  Algorithm: %s", join->algorithm);
	if (join->bits != 0)
		appendStringInfo(es->str, ", %u radix bits", join->bits);
	appendStringInfo(es->str, "  Build: %s, " UINT64_FORMAT " rows  Probe: "
					 UINT64_FORMAT " rows  Result: " UINT64_FORMAT " rows",
					 join->build_left ? "left" : "right",
					 join->build_rows, join->probe_rows, join->rows_out);
	if (es->summary)
		appendStringInfo(es->str, "  Time: %.3f ms", us_to_ms(join->us));
	appendStringInfoChar(es->str, '\n');
	if (join->reason[0] != '\0')
	{
		gj_explain_line(es);
		appendStringInfo(es->str, "  Algorithm Reason: %s\n", join->reason);
	}
}

static void
property_join(const struct gj_join_stats *join, ExplainState *es)
{
	ExplainPropertyText("Algorithm", join->algorithm, es);
	if (join->reason[0] != '\0')
		ExplainPropertyText("Algorithm Reason", join->reason, es);
	if (join->bits != 0)
		ExplainPropertyUInteger("Radix Bits", NULL, join->bits, es);
	ExplainPropertyText("Build Side", join->build_left ? "left" : "right", es);
	ExplainPropertyUInteger("Build Rows", NULL, join->build_rows, es);
	ExplainPropertyUInteger("Probe Rows", NULL, join->probe_rows, es);
	ExplainPropertyUInteger("Result Rows", NULL, join->rows_out, es);
	if (es->summary)
		ExplainPropertyFloat("Time", "ms", us_to_ms(join->us), 3, es);
}

void
gj_explain_join_stats(const GjReport *report, int join, ExplainState *es)
{
	const GjStats *stats;

	if (report == NULL || !report->have_stats)
		return;
	stats = &report->stats;
	for (uint32 i = 0; i < stats->total->joins; i++)
	{
		if (stats->joins[i].join != (uint32) join)
			continue;
		if (gj_explain_is_text(es))
			text_join(&stats->joins[i], es);
		else
			property_join(&stats->joins[i], es);
		if (es->timing)
			explain_phases(stats, i, es);
		return;
	}
}

static const char *
filter_word(uint32 kind)
{
	switch (kind)
	{
		case GJ_FILTER_BITMAP:
			return "bitmap";
		case GJ_FILTER_BLOOM:
		case GJ_FILTER_BLOOM_BYTES:
			return "Bloom filter";
		default:
			return "none";
	}
}

static void
text_filter(const struct gj_filter_stats *filter, ExplainState *es)
{
	gj_explain_line(es);
	if (filter->kind == GJ_FILTER_NONE)
	{
		appendStringInfo(es->str, "    Keys: no filter%s%s\n",
						 filter->reason[0] != '\0' ? ": " : "", filter->reason);
		return;
	}
	appendStringInfo(es->str, "    Keys: " UINT64_FORMAT ", %s, " UINT64_FORMAT
					 " kB  Tested: " UINT64_FORMAT " rows  Dropped: " UINT64_FORMAT " rows",
					 filter->keys, filter_word(filter->kind), (filter->bytes + 1023) / 1024,
					 filter->tested, filter->dropped);
	if (es->summary)
		appendStringInfo(es->str, "  Time: %.3f ms", us_to_ms(filter->us));
	appendStringInfoChar(es->str, '\n');
}

static void
property_filter(const struct gj_filter_stats *filter, ExplainState *es)
{
	ExplainPropertyText("Filter Type", filter_word(filter->kind), es);
	if (filter->kind == GJ_FILTER_NONE)
	{
		if (filter->reason[0] != '\0')
			ExplainPropertyText("Reason", filter->reason, es);
		return;
	}
	ExplainPropertyUInteger("Keys", NULL, filter->keys, es);
	ExplainPropertyUInteger("Memory", "kB", (filter->bytes + 1023) / 1024, es);
	ExplainPropertyUInteger("Rows Tested", NULL, filter->tested, es);
	ExplainPropertyUInteger("Rows Dropped", NULL, filter->dropped, es);
	if (es->summary)
		ExplainPropertyFloat("Time", "ms", us_to_ms(filter->us), 3, es);
}

void
gj_explain_filter_stats(const GjReport *report, int filter, ExplainState *es)
{
	if (report == NULL || !report->have_stats ||
		(uint32) filter >= report->stats.total->filters)
		return;
	if (gj_explain_is_text(es))
		text_filter(&report->stats.filters[filter], es);
	else
		property_filter(&report->stats.filters[filter], es);
}

static void
explain_aggregate(const struct gj_aggregate_stats *aggregate, ExplainState *es)
{
	if (gj_explain_is_text(es))
	{
		gj_explain_line(es);
		appendStringInfo(es->str, "Aggregate: %s, " UINT64_FORMAT " groups, " UINT64_FORMAT
						 " rows, " UINT64_FORMAT " kB",
						 aggregate->strategy, aggregate->groups, aggregate->rows_in,
						 (aggregate->bytes + 1023) / 1024);
		if (es->summary)
			appendStringInfo(es->str, ", %.3f ms", us_to_ms(aggregate->us));
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainOpenGroup("Aggregate", NULL, true, es);
	ExplainPropertyText("Strategy", aggregate->strategy, es);
	ExplainPropertyUInteger("Groups", NULL, aggregate->groups, es);
	ExplainPropertyUInteger("Rows", NULL, aggregate->rows_in, es);
	ExplainPropertyUInteger("Memory", "kB", (aggregate->bytes + 1023) / 1024, es);
	if (es->summary)
		ExplainPropertyFloat("Time", "ms", us_to_ms(aggregate->us), 3, es);
	ExplainCloseGroup("Aggregate", NULL, true, es);
}

/* A job without aggregates prints nothing, not even an empty group. */
static void
explain_aggregates(const GjStats *stats, ExplainState *es)
{
	if (stats->total->aggregates == 0)
		return;
	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Aggregate Runs", "Aggregate Runs", false, es);
	for (uint32 i = 0; i < stats->total->aggregates; i++)
		explain_aggregate(&stats->aggregates[i], es);
	if (!gj_explain_is_text(es))
		ExplainCloseGroup("Aggregate Runs", "Aggregate Runs", false, es);
}

static void
explain_participant(const struct gj_participant_stats *p, ExplainState *es)
{
	char		who[32];

	if (p->participant < 0)
		strlcpy(who, "leader", sizeof(who));
	else
		snprintf(who, sizeof(who), "worker %d", p->participant);

	if (gj_explain_is_text(es))
	{
		gj_explain_line(es);
		appendStringInfo(es->str, "Participant %s: fed " UINT64_FORMAT " rows, " UINT64_FORMAT
						 " bytes; returned " UINT64_FORMAT " rows",
						 who, p->fed_rows, p->fed_bytes, p->returned_rows);
		if (es->summary)
			appendStringInfo(es->str, "; feed %.3f ms (waited %.3f), return %.3f ms",
							 us_to_ms(p->feed_us), us_to_ms(p->wait_us), us_to_ms(p->return_us));
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainOpenGroup("Participant", NULL, true, es);
	ExplainPropertyText("Process", who, es);
	ExplainPropertyUInteger("Fed Rows", NULL, p->fed_rows, es);
	ExplainPropertyUInteger("Fed Bytes", NULL, p->fed_bytes, es);
	ExplainPropertyUInteger("Returned Rows", NULL, p->returned_rows, es);
	if (es->summary)
	{
		ExplainPropertyFloat("Feed Time", "ms", us_to_ms(p->feed_us), 3, es);
		ExplainPropertyFloat("Feed Wait Time", "ms", us_to_ms(p->wait_us), 3, es);
		ExplainPropertyFloat("Return Time", "ms", us_to_ms(p->return_us), 3, es);
	}
	ExplainCloseGroup("Participant", NULL, true, es);
}

static void
text_job(const struct gj_stats *job, ExplainState *es)
{
	gj_explain_line(es);
	appendStringInfo(es->str, "Provider: %s  In: " UINT64_FORMAT " rows, " UINT64_FORMAT
					 " bytes  Out: " UINT64_FORMAT " rows, " UINT64_FORMAT
					 " bytes  Peak Memory: " UINT64_FORMAT " kB",
					 job->provider, job->rows_in, job->bytes_in,
					 job->rows_out, job->bytes_out, (job->peak_bytes + 1023) / 1024);
	if (es->summary)
		appendStringInfo(es->str, "  Queue: %.3f ms  Join: %.3f ms",
						 us_to_ms(job->queue_us), us_to_ms(job->join_us));
	appendStringInfoChar(es->str, '\n');
}

static void
property_job(const struct gj_stats *job, ExplainState *es)
{
	ExplainPropertyText("Provider", job->provider, es);
	ExplainPropertyUInteger("Rows In", NULL, job->rows_in, es);
	ExplainPropertyUInteger("Bytes In", NULL, job->bytes_in, es);
	ExplainPropertyUInteger("Rows Out", NULL, job->rows_out, es);
	ExplainPropertyUInteger("Bytes Out", NULL, job->bytes_out, es);
	ExplainPropertyUInteger("Peak Memory", "kB", (job->peak_bytes + 1023) / 1024, es);
	if (es->summary)
	{
		ExplainPropertyFloat("Queue Time", "ms", us_to_ms(job->queue_us), 3, es);
		ExplainPropertyFloat("Join Time", "ms", us_to_ms(job->join_us), 3, es);
	}
}

/*
 * A job that ran on one device, as most do, prints nothing.  One that was to
 * run on several prints why it did not.
 */
static void
explain_devices(const struct gj_stats *job, ExplainState *es)
{
	if (job->alone[0] != '\0')
		ExplainPropertyText("One Device", job->alone, es);
	if (job->devices == 0)
		return;
	if (gj_explain_is_text(es))
	{
		gj_explain_line(es);
		appendStringInfo(es->str, "Devices: %u  Exchanged: " UINT64_FORMAT " bytes",
						 job->devices, job->sent_bytes);
		if (job->hops != 0)
			appendStringInfo(es->str, " over %u hop%s", job->hops, job->hops == 1 ? "" : "s");
		if (es->summary)
			appendStringInfo(es->str, "  Waited: %.3f ms", us_to_ms(job->device_wait_us));
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainPropertyUInteger("Devices", NULL, job->devices, es);
	ExplainPropertyUInteger("Bytes Exchanged", NULL, job->sent_bytes, es);
	ExplainPropertyUInteger("Hops", NULL, job->hops, es);
	if (es->summary)
		ExplainPropertyFloat("Device Wait Time", "ms", us_to_ms(job->device_wait_us), 3, es);
}

void
gj_explain_job_stats(const GjStats *stats, ExplainState *es)
{
	const struct gj_stats *job = stats->total;

	if (gj_explain_is_text(es))
		text_job(job, es);
	else
		property_job(job, es);
	if (job->fallback[0] != '\0')
		ExplainPropertyText("Provider Fallback", job->fallback, es);
	explain_devices(job, es);
	explain_aggregates(stats, es);
	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Participants", "Participants", false, es);
	for (uint32 i = 0; i < job->participants; i++)
		explain_participant(&stats->participants[i], es);
	if (!gj_explain_is_text(es))
		ExplainCloseGroup("Participants", "Participants", false, es);
}

/* ---- aggregate ---- */

/* The grouping sets, as lists of keys. */
static void
explain_sets(const List *sets, const List *keys, ExplainState *es)
{
	List	   *texts = NIL;
	ListCell   *set;
	ListCell   *key;

	foreach(set, sets)
	{
		StringInfoData text;

		initStringInfo(&text);
		foreach(key, (List *) lfirst(set))
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
							 (const char *) list_nth(keys, lfirst_int(key)));
		texts = lappend(texts, psprintf("(%s)", text.data));
	}
	ExplainPropertyList("Grouping Sets", texts, es);
}

void
gj_explain_aggregate(const CustomScan *scan, const GjPlan *plan, ExplainState *es)
{
	const GjAggregate *aggregate = plan->aggregate;
	bool		prefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *having = scan->custom_exprs;
	List	   *keys = NIL;
	List	   *functions = NIL;
	ListCell   *lc;

	foreach(lc, scan->custom_scan_tlist)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;
		char	   *text = deparse_expression(expr, es->deparse_cxt, prefix, false);

		if (foreach_current_index(lc) < aggregate->nkeys)
			keys = lappend(keys, text);
		else if (IsA(expr, Aggref))
			functions = lappend(functions, text);
	}
	if (aggregate->sets != NIL)
		explain_sets(aggregate->sets, keys, es);
	else if (keys != NIL)
		ExplainPropertyList("Group Key", keys, es);
	if (functions != NIL)
		ExplainPropertyList("Aggregates", functions, es);
	if (having != NIL)
		ExplainPropertyText("Having",
							deparse_expression((Node *) make_ands_explicit(having),
											   es->deparse_cxt, prefix, false), es);
}
