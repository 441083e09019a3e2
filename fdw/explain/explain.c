/*
 * explain/explain.c - EXPLAIN output of an OffloadJoin or OffloadBlock.
 *
 * The inputs' scans and their conditions are children of the node, so EXPLAIN
 * shows them by itself.  This file adds how each input is fed and which joins
 * the job has, both taken from the plan without asking the daemon.  After an
 * execution it adds the daemon's report (explain/stats.c).
 */
#include "explain/explain.h"

#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "explain/explain.h"
#include "job/job.h"
#include "options.h"

/* What is needed to name the query's tables as EXPLAIN prints them. */
typedef struct Names
{
	const CustomScan *scan;
	const GjPlan *plan;
	EState	   *estate;
	ExplainState *es;
	bool		known;			/* is offset known? */
	int			offset;			/* added by set_plan_references */
} Names;

static const char *
alias(const Names *names, int input)
{
	bool		scans = names->plan->inputs[input].rti > 0;
	int			rti = names->plan->inputs[input].rti + names->offset;
	const char *name = NULL;

	if (names->known && scans && rti >= 1 && rti <= list_length(names->es->rtable_names))
		name = list_nth(names->es->rtable_names, rti - 1);
	if (name == NULL)
		name = names->plan->inputs[input].name;
	if (name == NULL)
		name = get_rel_name(names->plan->inputs[input].relid);
	return name ? name : "?";
}

static const char *
input_name(const Names *names, int input)
{
	return quote_identifier(alias(names, input));
}

/* An expression over the input's own columns, qualified by its alias or not. */
static const char *
computed_text(const Names *names, const Expr *computed, bool qualified)
{
	Node	   *expr;

	if (!names->known)
		return "expression";
	expr = copyObject((Node *) computed);
	OffsetVarNodes(expr, names->offset, 0);
	return deparse_expression(expr, names->es->deparse_cxt, qualified, true);
}

static const char *
column_name(const Names *names, GjOutput place)
{
	const GjInput *input = &names->plan->inputs[place.input];
	const GjColumn *column = &input->columns[place.column];
	int			rti = input->rti + names->offset;
	const char *name = NULL;

	if (column->computed != NULL)
		return computed_text(names, column->computed, false);
	if (OidIsValid(input->relid))
		name = get_attname(input->relid, column->attnum, true);
	else if (names->known && rti >= 1 && rti <= list_length(names->es->rtable))
		name = get_rte_attribute_name(rt_fetch(rti, names->es->rtable), column->attnum);
	return quote_identifier(name ? name : psprintf("column%d", column->attnum));
}

static const char *
qualified_name(const Names *names, GjOutput place)
{
	const GjColumn *column = &names->plan->inputs[place.input].columns[place.column];

	if (column->computed != NULL)
		return computed_text(names, column->computed, true);
	return psprintf("%s.%s", input_name(names, place.input), column_name(names, place));
}

/* "(f.id = d.id) AND (f.tenant = d.tenant)" */
static char *
join_condition(const Names *names, const GjJoin *join)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < join->nkeys; i++)
		appendStringInfo(&text, "%s(%s = %s)", i > 0 ? " AND " : "",
						 qualified_name(names, join->left[i]),
						 qualified_name(names, join->right[i]));
	return text.data;
}

/*
 * The conditions as PostgreSQL shows those of its own nodes; NULL: none.
 */
static const char *
conditions(const Names *names, const List *exprs)
{
	Node	   *all;

	if (exprs == NIL)
		return NULL;
	if (!names->known)
		return "columns of subqueries";
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
	const char *text = conditions(names, exprs);

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
	switch (input->feed)
	{
		case GJ_FEED_PAGE:
			return "page";
		case GJ_FEED_MIRROR:
			return "mirror";
		case GJ_FEED_CHILD:
			break;
	}
	return "child";
}

static const char *
form_suffix(GjForm form)
{
	switch (form)
	{
		case GJ_FORM_UNSCALED:
			return " as decimal";
		case GJ_FORM_SCALE:
			return " as scale";
		case GJ_FORM_FLOAT_ORDER:
			return " as integer";
		default:
			return gj_is_key_form(form) ? " as key" : "";
	}
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
						 form_suffix(input->columns[c].form));
	}
	return text.data;
}

/* The share of an input's blocks that the daemon was expected to have when it was planned. */
static double
expected_kept(const GjInput *input)
{
	return input->feed == GJ_FEED_PAGE && input->keepable ? input->kept : 0;
}

/* An estimate, as the rows are. */
static void
explain_estimates(const GjPlan *plan, const GjInput *input, ExplainState *es)
{
	double		kept = expected_kept(input);
	bool		text = gj_explain_is_text(es);
	const char *when = plan->promised ? "to be kept" : "kept";

	if (!es->costs)
		return;
	if (kept > 0 && !text)
		ExplainPropertyFloat(plan->promised ? "Promised Kept Fraction" : "Expected Kept Fraction",
							 NULL, kept, 3, es);
	else if (kept > 0 && kept < 0.995)
		appendStringInfo(es->str, ", %s %.0f %%", when, kept * 100);
	else if (kept > 0)
		appendStringInfo(es->str, ", %s", when);
	if (text)
		appendStringInfo(es->str, ", rows=%.0f", input->rows);
	else
		ExplainPropertyFloat("Expected Rows", NULL, input->rows, 0, es);
}

/* The filters by which rows of an input are dropped before they are fed. */
static void
explain_filters(const Names *names, int input, const GjReport *report)
{
	ExplainState *es = names->es;
	bool		text = gj_explain_is_text(es);

	if (!text)
		ExplainOpenGroup("Key Filters", "Key Filters", false, es);
	for (int i = 0; i < names->plan->nfilters; i++)
	{
		const GjFilter *filter = &names->plan->filters[i];

		if (filter->target.input != input)
			continue;
		if (text)
		{
			gj_explain_line(es);
			appendStringInfo(es->str, "  Key Filter: %s IN %s",
							 qualified_name(names, filter->target), qualified_name(names, filter->source));
			if (es->costs)
				appendStringInfo(es->str, ", passing=%.3f", filter->passing);
			appendStringInfoChar(es->str, '\n');
			gj_explain_filter_stats(report, i, es);
			continue;
		}
		ExplainOpenGroup("Key Filter", NULL, true, es);
		ExplainPropertyText("Key", qualified_name(names, filter->target), es);
		ExplainPropertyText("Source", qualified_name(names, filter->source), es);
		if (es->costs)
			ExplainPropertyFloat("Expected Fraction", NULL, filter->passing, 3, es);
		gj_explain_filter_stats(report, i, es);
		ExplainCloseGroup("Key Filter", NULL, true, es);
	}
	if (!text)
		ExplainCloseGroup("Key Filters", "Key Filters", false, es);
}

/* Shown only where the order matters. */
static void
explain_order(const Names *names)
{
	List	   *order = NIL;

	if (names->plan->nfilters == 0)
		return;
	for (int i = 0; i < names->plan->ninputs; i++)
		order = lappend(order, pstrdup(alias(names, names->plan->order[i])));
	ExplainPropertyList("Feed Order", order, names->es);
}

/* Where the daemon had the rows of an input from that are not fed. */
static void
explain_source(const Names *names, int i, const GjReport *report)
{
	const GjInput *input = &names->plan->inputs[i];

	if (input->feed == GJ_FEED_MIRROR)
		gj_explain_mirror(input, report != NULL ? report->pins[i] : NULL, names->estate, names->es);
	else
		gj_explain_blocks(report, i, names->es);
}

/* The inputs of the query: not that of the grouping sets. */
static void
explain_inputs(const Names *names, const GjReport *report)
{
	const GjAggregate *aggregate = names->plan->aggregate;
	int			ninputs = names->plan->ninputs - (aggregate != NULL && aggregate->sets != NIL);
	ExplainState *es = names->es;

	if (!gj_explain_is_text(es))
		ExplainOpenGroup("Inputs", "Inputs", false, es);
	for (int i = 0; i < ninputs; i++)
	{
		const GjInput *input = &names->plan->inputs[i];

		if (gj_explain_is_text(es))
		{
			gj_explain_line(es);
			appendStringInfo(es->str, "Input: %s (%s), %s%s%s",
							 input_name(names, i), input_columns(names, i),
							 feed_word(input), input->feed == GJ_FEED_MIRROR ? "" : " feed",
							 names->plan->parallel && !input->partial ? " by one process" : "");
			explain_estimates(names->plan, input, es);
			appendStringInfoChar(es->str, '\n');
			explain_source(names, i, report);
			explain_filters(names, i, report);
			continue;
		}
		ExplainOpenGroup("Input", NULL, true, es);
		ExplainPropertyText("Alias", alias(names, i), es);
		ExplainPropertyText("Columns", input_columns(names, i), es);
		ExplainPropertyText("Feed", feed_word(input), es);
		ExplainPropertyBool("Partial", input->partial, es);
		explain_estimates(names->plan, input, es);
		explain_source(names, i, report);
		if (gj_is_filtered(names->plan, i))
			explain_filters(names, i, report);
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

/* The reason is known before the node is executed. */
static const char *
fallback(const GjPlan *plan, const GjReport *report)
{
	if (report != NULL && report->fallback[0] != '\0')
		return report->fallback;
	return plan->defect;
}

/* Labels the plans below the node, in their order. */
static void
explain_children(const Names *names)
{
	List	   *children = NIL;

	for (int i = 0; i < names->plan->ninputs; i++)
		children = lappend(children, psprintf("feed of %s", alias(names, i)));
	if (names->plan->has_native)
		children = lappend(children, "native plan");
	ExplainPropertyList("Children", children, names->es);
}

/* After a defect, there is none. */
static void
explain_job(Names *names, GjAlgorithm algorithm, const GjReport *report)
{
	const GjPlan *plan = names->plan;
	ExplainState *es = names->es;

	names->known = gj_explain_offset(names->scan, plan, &names->offset);
	explain_inputs(names, report);
	explain_order(names);
	if (algorithm != GJ_ALGORITHM_AUTO)
		ExplainPropertyText("Forced Algorithm", gj_algorithm_name(algorithm), es);
	explain_joins(names, report);
	if (plan->aggregate != NULL)
		gj_explain_aggregate(names->scan, plan, es);
	if (es->verbose)
		ExplainPropertyText("Job", gj_static_json(plan), es);
}

void
gj_explain(CustomScanState *node, const GjPlan *plan, GjAlgorithm algorithm,
		   const GjReport *report, List *ancestors, ExplainState *es)
{
	Names		names = {
		.scan = (CustomScan *) node->ss.ps.plan, .plan = plan, .estate = node->ss.ps.state, .es = es
	};

	set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors);
	if (plan->ninputs > 0)
		explain_job(&names, algorithm, report);
	if (fallback(plan, report) != NULL)
		ExplainPropertyText("Fallback", fallback(plan, report), es);
	if (report != NULL && report->have_stats)
		gj_explain_job_stats(&report->stats, es);
	if (list_length(node->custom_ps) > plan->ninputs)
		explain_children(&names);
}
