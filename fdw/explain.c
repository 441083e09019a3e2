/*
 * explain.c - what EXPLAIN says about a GpuJoin.
 *
 * The inputs' scans and their conditions are children of the node and show
 * themselves; here stand how each is fed, the joins of the job, and after
 * execution what the daemon reported.  Its times are a summary: they cost no
 * row anything, so that TIMING OFF, which spares the children's clocks, shows
 * them too.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "exec.h"
#include "job.h"

/* Names of the query's tables as EXPLAIN prints them. */
typedef struct Names
{
	const GjPlan *plan;
	ExplainState *es;
	int			offset;			/* set_plan_references moved the range table by so much */
} Names;

static Names
make_names(const CustomScan *scan, const GjPlan *plan, ExplainState *es)
{
	Names		names = {.plan = plan, .es = es};
	int			first = bms_next_member(scan->custom_relids, -1);
	int			planned = plan->inputs[0].rti;

	for (int i = 1; i < plan->ninputs; i++)
		planned = Min(planned, (int) plan->inputs[i].rti);
	names.offset = first - planned;
	return names;
}

static const char *
alias(const Names *names, int input)
{
	int			rti = names->plan->inputs[input].rti + names->offset;
	const char *name = NULL;

	if (rti >= 1 && rti <= list_length(names->es->rtable_names))
		name = list_nth(names->es->rtable_names, rti - 1);
	if (name == NULL)
		name = get_rel_name(names->plan->inputs[input].relid);
	return name ? name : "?";
}

static const char *
input_name(const Names *names, int input)
{
	return quote_identifier(alias(names, input));
}

static const char *
column_name(const Names *names, GjOutput place)
{
	const GjInput *input = &names->plan->inputs[place.input];
	const GjColumn *column = &input->columns[place.column];
	const char *name = get_attname(input->relid, column->attnum, true);

	return quote_identifier(name ? name : "?");
}

/* "(f.id = d.id) AND (f.tenant = d.tenant)" */
static char *
join_condition(const Names *names, const GjJoin *join)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < join->nkeys; i++)
	{
		appendStringInfo(&text, "%s(%s.%s = ", i > 0 ? " AND " : "",
						 input_name(names, join->left[i].input),
						 column_name(names, join->left[i]));
		appendStringInfo(&text, "%s.%s)",
						 input_name(names, join->right[i].input),
						 column_name(names, join->right[i]));
	}
	return text.data;
}

static const char *
feed_word(const GjInput *input)
{
	return input->feed == GJ_FEED_PAGE ? "page" : "child";
}

static bool
is_text(const ExplainState *es)
{
	return es->format == EXPLAIN_FORMAT_TEXT;
}

static double
ms(uint64 us)
{
	return us / 1000.0;
}

static void
text_line(ExplainState *es)
{
	appendStringInfoSpaces(es->str, es->indent * 2);
}

/* The column names of an input; a canonical key form is not a column of its own. */
static char *
input_columns(const Names *names, int i)
{
	const GjInput *input = &names->plan->inputs[i];
	StringInfoData text;

	initStringInfo(&text);
	for (int c = 0; c < input->ncolumns; c++)
	{
		GjOutput	place = {.input = i, .column = c};

		appendStringInfo(&text, "%s%s%s", c > 0 ? ", " : "", column_name(names, place),
						 input->columns[c].form == GJ_FORM_NUMERIC_KEY ||
						 input->columns[c].form == GJ_FORM_BPCHAR_KEY ? " as key" : "");
	}
	return text.data;
}

static void
explain_inputs(const Names *names)
{
	ExplainState *es = names->es;

	if (!is_text(es))
		ExplainOpenGroup("Inputs", "Inputs", false, es);
	for (int i = 0; i < names->plan->ninputs; i++)
	{
		const GjInput *input = &names->plan->inputs[i];

		if (is_text(es))
		{
			text_line(es);
			appendStringInfo(es->str, "Input: %s (%s), %s feed%s",
							 input_name(names, i), input_columns(names, i),
							 feed_word(input),
							 names->plan->parallel && !input->partial ? " by one process" : "");
			if (es->costs)
				appendStringInfo(es->str, ", rows=%.0f", input->rows);
			appendStringInfoChar(es->str, '\n');
			continue;
		}
		ExplainOpenGroup("Input", NULL, true, es);
		ExplainPropertyText("Alias", alias(names, i), es);
		ExplainPropertyText("Columns", input_columns(names, i), es);
		ExplainPropertyText("Feed", feed_word(input), es);
		ExplainPropertyBool("Partial", input->partial, es);
		if (es->costs)
			ExplainPropertyFloat("Expected Rows", NULL, input->rows, 0, es);
		ExplainCloseGroup("Input", NULL, true, es);
	}
	if (!is_text(es))
		ExplainCloseGroup("Inputs", "Inputs", false, es);
}

static const struct gj_join_stats *
find_join_stats(const GjReport *report, int join)
{
	if (report == NULL || !report->have_stats)
		return NULL;
	for (uint32 i = 0; i < report->stats.joins; i++)
		if (report->joins[i].join == (uint32) join)
			return &report->joins[i];
	return NULL;
}

static void
text_join_stats(ExplainState *es, const struct gj_join_stats *stats)
{
	text_line(es);
	appendStringInfo(es->str, "  Algorithm: %.*s  Build: %s, " UINT64_FORMAT " rows  Probe: "
					 UINT64_FORMAT " rows  Result: " UINT64_FORMAT " rows",
					 (int) strnlen(stats->algorithm, sizeof(stats->algorithm)), stats->algorithm,
					 stats->build_left ? "left" : "right",
					 stats->build_rows, stats->probe_rows, stats->rows_out);
	if (es->summary)
		appendStringInfo(es->str, "  Time: %.3f ms", ms(stats->us));
	appendStringInfoChar(es->str, '\n');
}

static void
property_join_stats(ExplainState *es, const struct gj_join_stats *stats)
{
	ExplainPropertyText("Algorithm",
						pnstrdup(stats->algorithm, sizeof(stats->algorithm)), es);
	ExplainPropertyText("Build Side", stats->build_left ? "left" : "right", es);
	ExplainPropertyUInteger("Build Rows", NULL, stats->build_rows, es);
	ExplainPropertyUInteger("Probe Rows", NULL, stats->probe_rows, es);
	ExplainPropertyUInteger("Result Rows", NULL, stats->rows_out, es);
	if (es->summary)
		ExplainPropertyFloat("Time", "ms", ms(stats->us), 3, es);
}

static void
explain_joins(const Names *names, const GjReport *report)
{
	ExplainState *es = names->es;

	if (!is_text(es))
		ExplainOpenGroup("Joins", "Joins", false, es);
	for (int i = 0; i < names->plan->njoins; i++)
	{
		const GjJoin *join = &names->plan->joins[i];
		const struct gj_join_stats *stats = find_join_stats(report, i);
		char	   *condition = join_condition(names, join);

		if (is_text(es))
		{
			text_line(es);
			appendStringInfo(es->str, "Join: %s", condition);
			if (es->costs)
				appendStringInfo(es->str, ", rows=%.0f", join->rows);
			appendStringInfoChar(es->str, '\n');
			if (stats != NULL)
				text_join_stats(es, stats);
			continue;
		}
		ExplainOpenGroup("Join", NULL, true, es);
		ExplainPropertyText("Join Keys", condition, es);
		if (es->costs)
			ExplainPropertyFloat("Expected Rows", NULL, join->rows, 0, es);
		if (stats != NULL)
			property_join_stats(es, stats);
		ExplainCloseGroup("Join", NULL, true, es);
	}
	if (!is_text(es))
		ExplainCloseGroup("Joins", "Joins", false, es);
}

static void
explain_participant(ExplainState *es, const struct gj_participant_stats *p)
{
	char		who[32];

	if (p->participant < 0)
		strlcpy(who, "leader", sizeof(who));
	else
		snprintf(who, sizeof(who), "worker %d", p->participant);

	if (is_text(es))
	{
		text_line(es);
		appendStringInfo(es->str, "Participant %s: fed " UINT64_FORMAT " rows, " UINT64_FORMAT
						 " bytes; returned " UINT64_FORMAT " rows",
						 who, p->fed_rows, p->fed_bytes, p->returned_rows);
		if (es->summary)
			appendStringInfo(es->str, "; feed %.3f ms (waited %.3f), return %.3f ms",
							 ms(p->feed_us), ms(p->wait_us), ms(p->return_us));
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
		ExplainPropertyFloat("Feed Time", "ms", ms(p->feed_us), 3, es);
		ExplainPropertyFloat("Feed Wait Time", "ms", ms(p->wait_us), 3, es);
		ExplainPropertyFloat("Return Time", "ms", ms(p->return_us), 3, es);
	}
	ExplainCloseGroup("Participant", NULL, true, es);
}

static void
explain_stats(ExplainState *es, const GjReport *report)
{
	const struct gj_stats *stats = &report->stats;
	char	   *provider = pnstrdup(stats->provider, sizeof(stats->provider));

	if (is_text(es))
	{
		text_line(es);
		appendStringInfo(es->str, "Provider: %s  In: " UINT64_FORMAT " rows, " UINT64_FORMAT
						 " bytes  Out: " UINT64_FORMAT " rows, " UINT64_FORMAT
						 " bytes  Peak Memory: " UINT64_FORMAT " kB",
						 provider, stats->rows_in, stats->bytes_in,
						 stats->rows_out, stats->bytes_out, (stats->peak_bytes + 1023) / 1024);
		if (es->summary)
			appendStringInfo(es->str, "  Queue: %.3f ms  Join: %.3f ms",
							 ms(stats->queue_us), ms(stats->join_us));
		appendStringInfoChar(es->str, '\n');
	}
	else
	{
		ExplainPropertyText("Provider", provider, es);
		ExplainPropertyUInteger("Rows In", NULL, stats->rows_in, es);
		ExplainPropertyUInteger("Bytes In", NULL, stats->bytes_in, es);
		ExplainPropertyUInteger("Rows Out", NULL, stats->rows_out, es);
		ExplainPropertyUInteger("Bytes Out", NULL, stats->bytes_out, es);
		ExplainPropertyUInteger("Peak Memory", "kB", (stats->peak_bytes + 1023) / 1024, es);
		if (es->summary)
		{
			ExplainPropertyFloat("Queue Time", "ms", ms(stats->queue_us), 3, es);
			ExplainPropertyFloat("Join Time", "ms", ms(stats->join_us), 3, es);
		}
	}
	if (stats->fallback[0] != '\0')
		ExplainPropertyText("Provider Fallback", stats->fallback, es);
	if (!is_text(es))
		ExplainOpenGroup("Participants", "Participants", false, es);
	for (uint32 i = 0; i < stats->participants; i++)
		explain_participant(es, &report->participants[i]);
	if (!is_text(es))
		ExplainCloseGroup("Participants", "Participants", false, es);
}

void
gj_explain(CustomScanState *node, const GjPlan *plan, const GjReport *report,
		   List *ancestors, ExplainState *es)
{
	Names		names = make_names((CustomScan *) node->ss.ps.plan, plan, es);

	explain_inputs(&names);
	explain_joins(&names, report);
	if (es->verbose)
		ExplainPropertyText("Job", gj_static_json(plan), es);
	if (report == NULL)
		return;
	if (report->fallback != NULL)
		ExplainPropertyText("Fallback", report->fallback, es);
	if (report->have_stats)
		explain_stats(es, report);
}
