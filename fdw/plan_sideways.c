/*
 * plan_sideways.c - filters that travel from small inputs to large ones.
 *
 * Of a large input, only the rows that have a partner in every small and
 * selective one need to be fed.  So the small ones are fed first, and the
 * daemon makes filters of their keys (feed_sideways.c).  A filter may itself
 * make its target small enough to be the source of another one.
 *
 * A row may be dropped only if some join would drop it because it has no
 * partner, and if nothing else depends on it.  plan_closure.c finds the columns
 * for which that is true.  This file estimates which of them are worth it.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "utils/selfuncs.h"

#include "plan_closure.h"
#include "plan_computed.h"
#include "plan_cost.h"
#include "plan_sideways.h"
#include "plan_surplus_range.h"

/*
 * A source has fewer rows than its target by this factor, because making the
 * filter takes time for each of them.
 */
#define LEAST_RATIO 4.0

/* A wait takes less time than the largest feed by this factor. */
#define WAIT_RATIO 8.0

/* A filter lets at most this fraction of the rows pass. */
#define MOST_PASSING (2.0 / 3.0)

/* It saves more than the messages that it costs, except in forced mode. */
#define LEAST_DROPPED 10000.0

/* What is known about a column's values. */
typedef struct Values
{
	bool		examined;
	bool		known;			/* is distinct more than a guess? */
	double		distinct;		/* in the whole table */
	double		null_fraction;
} Values;

/* The choice while it is made.  Inputs are in the order of the tree's leaves. */
typedef struct Choice
{
	PlannerInfo *root;
	GjCandidate *tree;
	GjClosure	closure;
	Values		values[GJ_CLOSURE_COLUMNS];
	int			inputs[GJ_CLOSURE_COLUMNS]; /* of the columns */
	int			ninputs;
	GjCandidate *leaves[GJ_MAX_INPUTS];
	double		rows[GJ_MAX_INPUTS];	/* expected to be fed */
	bool		fed[GJ_MAX_INPUTS];
} Choice;

/* The best filter found for one column of a target. */
typedef struct Best
{
	int			source;			/* columns of the closure; -1: none */
	int			target;
	double		passing;
} Best;

static void
collect_leaves(Choice *choice, GjCandidate *tree)
{
	if (tree->source == NULL)
	{
		collect_leaves(choice, tree->left);
		collect_leaves(choice, tree->right);
		return;
	}
	choice->rows[choice->ninputs] = tree->rows;
	choice->fed[choice->ninputs] = false;
	choice->leaves[choice->ninputs++] = tree;
}

/* Is any input so much larger than another one that a filter may be worth it? */
static bool
sizes_differ(const Choice *choice)
{
	double		least = choice->rows[0];
	double		most = choice->rows[0];

	for (int i = 1; i < choice->ninputs; i++)
	{
		least = Min(least, choice->rows[i]);
		most = Max(most, choice->rows[i]);
	}
	return least * LEAST_RATIO < most;
}

/* Finds the filters that would be right, and their inputs. */
static void
find_edges(Choice *choice)
{
	gj_find_edges(choice->tree, &choice->closure);
	memset(choice->values, 0, choice->closure.ncolumns * sizeof(Values));
	for (int c = 0; c < choice->closure.ncolumns; c++)
	{
		Index		relid = choice->closure.columns[c].var->varno;
		int			i = 0;

		while (i < choice->ninputs - 1 && choice->leaves[i]->source->rel->relid != relid)
			i++;
		choice->inputs[c] = i;
	}
}

static const Values *
values_of(Choice *choice, int column)
{
	Values	   *values = &choice->values[column];
	const Var  *var = choice->closure.columns[column].var;
	const Expr *computed = gj_computed(choice->root, var);
	VariableStatData data;
	bool		is_default;

	if (values->examined)
		return values;
	values->examined = true;
	examine_variable(choice->root,
					 computed != NULL ? (Node *) gj_without_placeholders((Expr *) computed) : (Node *) var,
					 0, &data);
	values->distinct = Max(get_variable_numdistinct(&data, &is_default), 1);
	values->known = !is_default;
	if (HeapTupleIsValid(data.statsTuple))
		values->null_fraction = ((Form_pg_statistic) GETSTRUCT(data.statsTuple))->stanullfrac;
	ReleaseVariableStats(data);
	return values;
}

/*
 * The fraction of the target's rows whose key is among those rows of the
 * source that are expected to be fed.  The smaller of both sets of values is
 * assumed to be part of the larger one, and the rows that are fed to be a
 * random part of their table.  1 if nothing is known.
 */
static double
passing(Choice *choice, int source, int target)
{
	const Values *from = values_of(choice, source);
	const Values *to = values_of(choice, target);
	int			input = choice->inputs[source];
	double		tuples = Max(choice->leaves[input]->source->rel->tuples, choice->rows[input]);
	double		distinct;
	double		fed;

	if (!to->known)
		return 1;
	tuples = Max(tuples, 1);
	distinct = Min(from->known ? from->distinct : tuples, tuples);
	fed = distinct * (1 - pow(1 - Min(choice->rows[input] / tuples, 1), tuples / distinct));
	fed *= gj_range_surplus(choice->root, choice->closure.columns[source].var,
							choice->closure.columns[target].var);
	return Min(1, fed / Max(distinct, to->distinct)) * (1 - to->null_fraction);
}

/*
 * Does the wait for the source cost less than the filter saves?  In a serial
 * plan the order of feeding costs nothing.  In a parallel plan, a source that
 * one process feeds keeps the others from sharing the large inputs meanwhile.
 */
static bool
is_soon(const Choice *choice, int source)
{
	const GjSource *from = choice->leaves[source]->source;
	Cost		largest = 0;

	if (choice->tree->workers == 0 || from->partial)
		return true;
	for (int i = 0; i < choice->ninputs; i++)
		largest = Max(largest, choice->leaves[i]->source->cost);
	return from->cost * WAIT_RATIO < largest;
}

/* Finds the best filter for each column of an input; returns their number. */
static int
best_filters(Choice *choice, int input, Best *best, double *passed)
{
	const GjClosure *closure = &choice->closure;
	double		rows = choice->leaves[input]->rows;
	int			nbest = 0;

	for (int i = 0; i < closure->nedges; i++)
	{
		const GjEdge *edge = &closure->edges[i];
		int			source = choice->inputs[edge->source];
		double		fraction;
		int			at = 0;

		if (choice->inputs[edge->target] != input || !choice->fed[source] ||
			choice->rows[source] * LEAST_RATIO >= rows || !is_soon(choice, source))
			continue;
		fraction = passing(choice, edge->source, edge->target);
		if (fraction > MOST_PASSING || (!gj_force && rows * (1 - fraction) < LEAST_DROPPED))
			continue;
		while (at < nbest && best[at].target != edge->target)
			at++;
		if (at == nbest)
		{
			if (nbest == GJ_MAX_INPUT_FILTERS)
				continue;
			nbest++;
		}
		else if (best[at].passing <= fraction)
			continue;
		best[at] = (Best)
		{
			.source = edge->source, .target = edge->target, .passing = fraction
		};
	}
	*passed = 1;
	for (int i = 0; i < nbest; i++)
		*passed *= best[i].passing;
	return nbest;
}

static int
by_passing(const void *a, const void *b)
{
	double		x = ((const Best *) a)->passing;
	double		y = ((const Best *) b)->passing;

	return x < y ? -1 : x > y;
}

/* The input that leaves the fewest rows to feed, given those fed before. */
static int
next_input(Choice *choice, Best *best, int *nbest, double *passed)
{
	int			next = -1;

	for (int i = 0; i < choice->ninputs; i++)
	{
		Best		own[GJ_MAX_INPUT_FILTERS];
		double		own_passed;
		int			n;

		if (choice->fed[i])
			continue;
		n = best_filters(choice, i, own, &own_passed);
		if (next >= 0 && choice->rows[i] * own_passed >= choice->rows[next] * *passed)
			continue;
		next = i;
		*nbest = n;
		*passed = own_passed;
		memcpy(best, own, sizeof(own));
	}
	return next;
}

static void
add_filter(GjSideways *sideways, const GjClosure *closure, const Best *best)
{
	GjChosenFilter *chosen = palloc(sizeof(GjChosenFilter));

	chosen->source = closure->columns[best->source].var;
	chosen->target = closure->columns[best->target].var;
	chosen->form = closure->columns[best->target].form;
	chosen->passing = best->passing;
	sideways->filters = lappend(sideways->filters, chosen);
}

/*
 * Feeds the inputs in thought, one after the other, the smallest one first.
 */
static void
feed(Choice *choice, GjSideways *sideways)
{
	for (int at = 0; at < choice->ninputs; at++)
	{
		Best		best[GJ_MAX_INPUT_FILTERS];
		double		passed = 1;
		int			n = 0;
		int			input = next_input(choice, best, &n, &passed);
		GjCandidate *leaf = choice->leaves[input];

		n = Min(n, GJ_MAX_FILTERS - list_length(sideways->filters));
		qsort(best, n, sizeof(Best), by_passing);
		for (int i = 0; i < n; i++)
			add_filter(sideways, &choice->closure, &best[i]);
		choice->fed[input] = true;
		choice->rows[input] *= passed;
		sideways->order[at] = input;
		sideways->passing[input] = passed;
		if (n > 0)
			sideways->saved += gj_filter_saving(leaf->source, gj_base_slot(leaf->source->rel)->weight,
												n, passed, leaf->workers);
	}
}

void
gj_choose_filters(PlannerInfo *root, GjCandidate *tree)
{
	Choice		choice;
	GjSideways *sideways;

	if (!gj_sideways_filters || tree->source != NULL || tree->sideways != NULL)
		return;
	sideways = tree->sideways = palloc0(sizeof(GjSideways));
	sideways->order = palloc(tree->ninputs * sizeof(int));
	sideways->passing = palloc(tree->ninputs * sizeof(double));

	/* it is large, and most trees need little of it */
	choice.root = root;
	choice.tree = tree;
	choice.ninputs = 0;
	choice.closure.ncolumns = choice.closure.npairs = choice.closure.nedges = 0;
	collect_leaves(&choice, tree);
	if (sizes_differ(&choice))
		find_edges(&choice);
	feed(&choice, sideways);
}

/* ---- the plan ---- */

/* Is a filter made of this input's keys? */
static bool
is_source(const GjPlan *plan, int input)
{
	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].source.input == input)
			return true;
	return false;
}

static bool
is_target(const GjPlan *plan, int input)
{
	for (int i = 0; i < plan->nfilters; i++)
		if (plan->filters[i].target.input == input)
			return true;
	return false;
}

/*
 * Sources come first, in the order in which they were chosen.  Then come inputs
 * that need no filter, which bridge the wait for those that do.  Inputs that
 * one process feeds precede others, which the rest can share meanwhile.
 */
static void
set_order(GjPlan *plan, const int *fed)
{
	int			n = 0;

	for (int i = 0; i < plan->ninputs && fed != NULL; i++)
		if (is_source(plan, fed[i]))
			plan->order[n++] = fed[i];
	for (int target = 0; target <= 1; target++)
		for (int partial = 0; partial <= 1; partial++)
			for (int i = 0; i < plan->ninputs; i++)
				if (!is_source(plan, i) && is_target(plan, i) == (bool) target &&
					plan->inputs[i].partial == (bool) partial)
					plan->order[n++] = i;
	Assert(n == plan->ninputs);
}

void
gj_add_filters(GjInputs *inputs, GjCandidate *tree)
{
	GjPlan	   *plan = inputs->plan;
	const GjSideways *sideways;
	ListCell   *lc;

	gj_choose_filters(inputs->root, tree);
	sideways = tree->sideways;
	plan->order = palloc(plan->ninputs * sizeof(int));
	for (int i = 0; i < plan->ninputs; i++)
		plan->inputs[i].passing = sideways != NULL ? sideways->passing[i] : 1;
	if (sideways == NULL)
	{
		set_order(plan, NULL);
		return;
	}
	plan->filters = palloc(Max(1, list_length(sideways->filters)) * sizeof(GjFilter));
	foreach(lc, sideways->filters)
	{
		const GjChosenFilter *chosen = lfirst(lc);
		GjFilter   *filter = &plan->filters[plan->nfilters++];

		filter->source = gj_need_column(inputs, chosen->source, chosen->form, true);
		filter->target = gj_need_column(inputs, chosen->target, chosen->form, true);
		filter->passing = chosen->passing;
	}
	set_order(plan, sideways->order);
}
