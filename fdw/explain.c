/*
 * explain.c - EXPLAIN output of a GpuJoin.
 *
 * The inputs' scans and their conditions are children of the node, so EXPLAIN
 * shows them by itself.  This file adds how each input is fed and which joins
 * the job has, both taken from the plan without asking the daemon.  After an
 * execution it adds the daemon's report (explain_stats.c).
 */
#include "explain.h"

#include "nodes/makefuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "job.h"

/* Names of the query's tables as EXPLAIN prints them. */
typedef struct Names
{
	const GjPlan *plan;
	ExplainState *es;
	int			offset;			/* added by set_plan_references */
} Names;

static Names
make_names(const CustomScan *scan, const GjPlan *plan, ExplainState *es)
{
	Names		names = {.plan = plan, .es = es};

	names.offset = bms_next_member(scan->custom_relids, -1) - plan->first_relid;
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

/*
 * The conditions as PostgreSQL shows those of its own nodes; NULL: none.
 */
static char *
conditions(const Names *names, const List *exprs)
{
	Node	   *all;

	if (exprs == NIL)
		return NULL;
	all = copyObject((Node *) make_ands_explicit((List *) exprs));
	OffsetVarNodes(all, names->offset, 0);
	return deparse_expression(all, names->es->deparse_cxt, true, false);
}

static const char *
kind_word(JoinType kind)
{
	switch (kind)
	{
		case JOIN_LEFT:
			return "Left";
		case JOIN_FULL:
			return "Full";
		case JOIN_SEMI:
			return "Semi";
		case JOIN_ANTI:
			return "Anti";
		default:
			return "Inner";
	}
}

/* A line below that of a join, in text format. */
static void
explain_condition(const Names *names, const char *label, const List *exprs)
{
	char	   *text = conditions(names, exprs);

	if (text == NULL)
		return;
	if (!gj_explain_is_text(names->es))
	{
		ExplainPropertyText(label, text, names->es);
		return;
	}
	names->es->indent++;
	gj_explain_line(names->es);
	appendStringInfo(names->es->str, "%s: %s\n", label, text);
	names->es->indent--;
}

static const char *
feed_word(const GjInput *input)
{
	return input->feed == GJ_FEED_PAGE ? "page" : "child";
}

/*
 * The column names of an input.  Canonical key forms are not listed
 * separately.
 */
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

	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Inputs", "Inputs", false, es);
	for (int i = 0; i < names->plan->ninputs; i++)
	{
		const GjInput *input = &names->plan->inputs[i];

		if (gj_explain_is_text(es))
		{
			gj_explain_line(es);
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
	if (!gj_explain_is_text(es))
		ExplainCloseGroup("Inputs", "Inputs", false, es);
}

static void
explain_joins(const Names *names, const GjReport *report)
{
	ExplainState *es = names->es;

	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Joins", "Joins", false, es);
	for (int i = 0; i < names->plan->njoins; i++)
	{
		const GjJoin *join = &names->plan->joins[i];
		char	   *condition = join_condition(names, join);

		if (gj_explain_is_text(es))
		{
			gj_explain_line(es);
			appendStringInfo(es->str, "%s%sJoin: %s",
							 join->kind == JOIN_INNER ? "" : kind_word(join->kind),
							 join->kind == JOIN_INNER ? "" : " ", condition);
			if (es->costs)
				appendStringInfo(es->str, ", rows=%.0f", join->rows);
			appendStringInfoChar(es->str, '\n');
			explain_condition(names, "Join Filter", join->residual_exprs);
			explain_condition(names, "Filter", join->filter_exprs);
			gj_explain_join_stats(report, i, es);
			continue;
		}
		ExplainOpenGroup("Join", NULL, true, es);
		ExplainPropertyText("Join Type", kind_word(join->kind), es);
		ExplainPropertyText("Join Keys", condition, es);
		explain_condition(names, "Join Filter", join->residual_exprs);
		explain_condition(names, "Filter", join->filter_exprs);
		if (es->costs)
			ExplainPropertyFloat("Expected Rows", NULL, join->rows, 0, es);
		gj_explain_join_stats(report, i, es);
		ExplainCloseGroup("Join", NULL, true, es);
	}
	if (!gj_explain_is_text(es))
		ExplainCloseGroup("Joins", "Joins", false, es);
}

/* Labels the plans below the node, in their order. */
static void
explain_children(const Names *names)
{
	List	   *children = NIL;

	for (int i = 0; i < names->plan->ninputs; i++)
		children = lappend(children, psprintf("feed of %s", alias(names, i)));
	children = lappend(children, "native plan");
	ExplainPropertyList("Children", children, names->es);
}

void
gj_explain(CustomScanState *node, const GjPlan *plan, GjAlgorithm algorithm,
		   const GjReport *report, List *ancestors, ExplainState *es)
{
	Names		names = make_names((CustomScan *) node->ss.ps.plan, plan, es);

	set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	explain_inputs(&names);
	if (algorithm != GJ_ALGORITHM_AUTO)
		ExplainPropertyText("Forced Algorithm", gj_algorithm_name(algorithm), es);
	explain_joins(&names, report);
	if (es->verbose)
		ExplainPropertyText("Job", gj_static_json(plan), es);
	if (report != NULL && report->fallback[0] != '\0')
		ExplainPropertyText("Fallback", report->fallback, es);
	if (report != NULL && report->have_stats)
		gj_explain_job_stats(&report->stats, es);
	if (list_length(node->custom_ps) > plan->ninputs)
		explain_children(&names);
}
