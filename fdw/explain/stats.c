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

/*
 * Each value is described once: the text format puts several on a line, the others
 * have a property for each.  Opening and closing a group does nothing for text.
 */

static void
begin_line(ExplainState *es, const char *indent)
{
	if (gj_explain_is_text(es))
	{
		gj_explain_line(es);
		appendStringInfoString(es->str, indent);
	}
}

static void
end_line(ExplainState *es)
{
	if (gj_explain_is_text(es))
		appendStringInfoChar(es->str, '\n');
}

static void
put_text(ExplainState *es, const char *before, const char *label, const char *value)
{
	if (gj_explain_is_text(es))
		appendStringInfo(es->str, "%s%s", before, value);
	else
		ExplainPropertyText(label, value, es);
}

static void
put_count(ExplainState *es, const char *before, const char *label, uint64 value,
		  const char *after)
{
	if (gj_explain_is_text(es))
		appendStringInfo(es->str, "%s" UINT64_FORMAT "%s", before, value, after);
	else
		ExplainPropertyUInteger(label, NULL, value, es);
}

static void
put_memory(ExplainState *es, const char *before, const char *label, uint64 bytes)
{
	uint64		kb = (bytes + 1023) / 1024;

	if (gj_explain_is_text(es))
		appendStringInfo(es->str, "%s" UINT64_FORMAT " kB", before, kb);
	else
		ExplainPropertyUInteger(label, "kB", kb, es);
}

static void
put_ms(ExplainState *es, const char *before, const char *label, double ms, const char *after)
{
	if (gj_explain_is_text(es))
		appendStringInfo(es->str, "%s%.3f%s", before, ms, after);
	else
		ExplainPropertyFloat(label, "ms", ms, 3, es);
}

/* The same for a time that is part of the summary. */
static void
put_us(ExplainState *es, const char *before, const char *label, uint64 us, const char *after)
{
	if (es->summary)
		put_ms(es, before, label, us / 1000.0, after);
}

static void
explain_phase(const struct gj_phase_stats *phase, ExplainState *es)
{
	ExplainOpenGroup("Phase", NULL, true, es);
	begin_line(es, "  ");
	put_text(es, "Phase ", "Name", phase->name);
	if (phase->predicted_ns != 0)
		put_ms(es, ": predicted ", "Predicted Time", phase->predicted_ns / 1e6, " ms");
	put_ms(es, phase->predicted_ns != 0 ? ", actual " : ": actual ", "Actual Time",
		   phase->actual_ns / 1e6, " ms");
	end_line(es);
	ExplainCloseGroup("Phase", NULL, true, es);
}

static void
explain_join(const struct gj_join_stats *join, ExplainState *es)
{
	begin_line(es, "  ");
	put_text(es, "Algorithm: ", "Algorithm", join->algorithm);
	if (join->bits != 0)
		put_count(es, ", ", "Radix Bits", join->bits, " radix bits");
	put_text(es, "  Build: ", "Build Side", join->build_left ? "left" : "right");
	put_count(es, ", ", "Build Rows", join->build_rows, " rows");
	put_count(es, "  Probe: ", "Probe Rows", join->probe_rows, " rows");
	put_count(es, "  Result: ", "Result Rows", join->rows_out, " rows");
	put_us(es, "  Time: ", "Time", join->us, " ms");
	end_line(es);
	if (join->reason[0] == '\0')
		return;
	begin_line(es, "  ");
	put_text(es, "Algorithm Reason: ", "Algorithm Reason", join->reason);
	end_line(es);
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
		const struct gj_phase_stats *phases = gj_stats_phases(stats, i);

		if (stats->joins[i].join != (uint32) join)
			continue;
		explain_join(&stats->joins[i], es);
		if (!es->timing)
			return;
		ExplainOpenGroup("Phases", "Phases", false, es);
		for (uint32 phase = 0; phase < stats->joins[i].phases; phase++)
			explain_phase(&phases[phase], es);
		ExplainCloseGroup("Phases", "Phases", false, es);
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

/* A source that had no filter made of its keys. */
static void
explain_no_filter(const struct gj_filter_stats *filter, ExplainState *es)
{
	if (gj_explain_is_text(es))
		appendStringInfoString(es->str, "no filter");
	else
		ExplainPropertyText("Filter Type", filter_word(filter->kind), es);
	if (filter->reason[0] != '\0')
		put_text(es, ": ", "Reason", filter->reason);
}

void
gj_explain_filter_stats(const GjReport *report, int number, ExplainState *es)
{
	const struct gj_filter_stats *filter;

	if (report == NULL || !report->have_stats ||
		(uint32) number >= report->stats.total->filters)
		return;
	filter = &report->stats.filters[number];
	begin_line(es, "    Keys: ");
	if (filter->kind == GJ_FILTER_NONE)
		explain_no_filter(filter, es);
	else
	{
		put_count(es, "", "Keys", filter->keys, "");
		put_text(es, ", ", "Filter Type", filter_word(filter->kind));
		put_memory(es, ", ", "Memory", filter->bytes);
		put_count(es, "  Tested: ", "Rows Tested", filter->tested, " rows");
		put_count(es, "  Dropped: ", "Rows Dropped", filter->dropped, " rows");
		put_us(es, "  Time: ", "Time", filter->us, " ms");
	}
	end_line(es);
}

void
gj_explain_blocks(const GjReport *report, int input, ExplainState *es)
{
	const GjBlockCounts *blocks;

	if (report == NULL)
		return;
	blocks = &report->blocks[input];
	if (blocks->kept + blocks->proved + blocks->fed == 0)
		return;
	begin_line(es, "  ");
	put_count(es, "Blocks: ", "Blocks Kept", blocks->kept, " kept");
	put_count(es, ", ", "Blocks Proved", blocks->proved, " proved");
	put_count(es, ", ", "Blocks Fed", blocks->fed, " fed");
	if (blocks->captured > 0 || !gj_explain_is_text(es))
		put_count(es, ", ", "Blocks Captured", blocks->captured, " captured");
	end_line(es);
}

/* A job without aggregates prints nothing, not even an empty group. */
static void
explain_aggregates(const GjStats *stats, ExplainState *es)
{
	if (stats->total->aggregates == 0)
		return;
	ExplainOpenGroup("Aggregate Runs", "Aggregate Runs", false, es);
	for (uint32 i = 0; i < stats->total->aggregates; i++)
	{
		const struct gj_aggregate_stats *aggregate = &stats->aggregates[i];

		ExplainOpenGroup("Aggregate", NULL, true, es);
		begin_line(es, "");
		put_text(es, "Aggregate: ", "Strategy", aggregate->strategy);
		put_count(es, ", ", "Groups", aggregate->groups, " groups");
		put_count(es, ", ", "Rows", aggregate->rows_in, " rows");
		put_memory(es, ", ", "Memory", aggregate->bytes);
		put_us(es, ", ", "Time", aggregate->us, " ms");
		end_line(es);
		ExplainCloseGroup("Aggregate", NULL, true, es);
	}
	ExplainCloseGroup("Aggregate Runs", "Aggregate Runs", false, es);
}

static void
explain_participant(const struct gj_participant_stats *p, ExplainState *es)
{
	ExplainOpenGroup("Participant", NULL, true, es);
	begin_line(es, "");
	put_text(es, "Participant ", "Process",
			 p->participant < 0 ? "leader" : psprintf("worker %d", p->participant));
	put_count(es, ": fed ", "Fed Rows", p->fed_rows, " rows");
	put_count(es, ", ", "Fed Bytes", p->fed_bytes, " bytes");
	put_count(es, "; returned ", "Returned Rows", p->returned_rows, " rows");
	put_us(es, "; feed ", "Feed Time", p->feed_us, " ms");
	put_us(es, " (waited ", "Feed Wait Time", p->wait_us, "), ");
	put_us(es, "return ", "Return Time", p->return_us, " ms");
	end_line(es);
	ExplainCloseGroup("Participant", NULL, true, es);
}

static void
explain_job(const struct gj_stats *job, ExplainState *es)
{
	begin_line(es, "");
	put_text(es, "Provider: ", "Provider", job->provider);
	put_count(es, "  In: ", "Rows In", job->rows_in, " rows");
	put_count(es, ", ", "Bytes In", job->bytes_in, " bytes");
	put_count(es, "  Out: ", "Rows Out", job->rows_out, " rows");
	put_count(es, ", ", "Bytes Out", job->bytes_out, " bytes");
	put_memory(es, "  Peak Memory: ", "Peak Memory", job->peak_bytes);
	put_us(es, "  Queue: ", "Queue Time", job->queue_us, " ms");
	put_us(es, "  Join: ", "Join Time", job->join_us, " ms");
	end_line(es);
}

/* What several devices copied from each other, and how long they waited. */
static void
explain_exchange(const struct gj_stats *job, ExplainState *es)
{
	bool		text = gj_explain_is_text(es);

	put_count(es, "  Exchanged: ", "Bytes Exchanged", job->sent_bytes, " bytes");
	if (job->hops != 0 || !text)
		put_count(es, " over ", "Hops", job->hops, job->hops == 1 ? " hop" : " hops");
	if (job->meeting_wait_us != 0 || !text)
		put_us(es, "  Meeting: ", "Meeting Wait Time", job->meeting_wait_us, " ms");
	put_us(es, "  Waited: ", "Device Wait Time", job->device_wait_us, " ms");
}

/* The text repeats the actual time of the line above, to compare it with the predicted one. */
static void
explain_prediction(const struct gj_stats *job, ExplainState *es)
{
	if (job->predicted_us == 0)
		return;
	put_us(es, "  Join: predicted ", "Predicted Join Time", job->predicted_us, " ms");
	if (gj_explain_is_text(es))
		put_us(es, ", actual ", "Join Time", job->join_us, " ms");
}

/*
 * How devices executed a job.  A job on cores prints nothing.  One that was to
 * be executed otherwise prints why it was not.
 */
static void
explain_devices(const struct gj_stats *job, ExplainState *es)
{
	uint32		devices = Max(job->devices, 1);

	if (job->strategy[0] != '\0')
	{
		begin_line(es, "");
		put_text(es, "Strategy: ", "Strategy", job->strategy);
		put_count(es, ", ", "Devices", devices, devices == 1 ? " device" : " devices");
		if (devices > 1)
			explain_exchange(job, es);
		explain_prediction(job, es);
		end_line(es);
	}
	if (job->strategy_reason[0] != '\0')
		ExplainPropertyText("Strategy Reason", job->strategy_reason, es);
	if (job->alone[0] != '\0')
		ExplainPropertyText("One Device", job->alone, es);
}

void
gj_explain_job_stats(const GjStats *stats, ExplainState *es)
{
	const struct gj_stats *job = stats->total;

	explain_job(job, es);
	if (job->fallback[0] != '\0')
		ExplainPropertyText("Provider Fallback", job->fallback, es);
	explain_devices(job, es);
	explain_aggregates(stats, es);
	ExplainOpenGroup("Participants", "Participants", false, es);
	for (uint32 i = 0; i < job->participants; i++)
		explain_participant(&stats->participants[i], es);
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
