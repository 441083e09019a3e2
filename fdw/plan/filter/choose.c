/*
 * plan/filter/choose.c - filters that travel from small inputs to large ones.
 *
 * Of a large input, only the rows that have a partner in every small and
 * selective one need to be fed.  So the small ones are fed first, and the
 * daemon makes filters of their keys (feed/key_filter.c).  A filter may itself
 * make its target small enough to be the source of another one.
 *
 * A row may be dropped only if some join would drop it because it has no
 * partner, and if nothing else depends on it.  plan/filter/legal.c finds the columns
 * for which that is true.  This file estimates which of them are worth it.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"

#include "options.h"
#include "plan/cost/cost.h"
#include "plan/filter/filter.h"
#include "plan/input/input.h"

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

/* A filter of one column of an input. */
typedef struct Best
{
	int			source;			/* columns of the legal filters */
	int			target;
	double		passing;
	double		ns;				/* of testing a row */
} Best;

/* The best filters of an input that is not fed yet, by those that are. */
typedef struct Filters
{
	int			n;
	Best		best[GJ_MAX_INPUT_FILTERS];
	double		passed;			/* fraction of the input's rows, by all of them */
} Filters;

/* The choice while it is made.  Inputs are in the order of the tree's leaves. */
typedef struct Choice
{
	PlannerInfo *root;
	GjTree	   *tree;
	GjLegalFilters legal;
	int			inputs[GJ_LEGAL_COLUMNS]; /* of the columns */
	int			ninputs;
	Cost		largest;		/* of the feeds */
	GjTree	   *leaves[GJ_MAX_INPUTS];
	double		rows[GJ_MAX_INPUTS];	/* expected to be fed */
	bool		fed[GJ_MAX_INPUTS];
	Filters		filters[GJ_MAX_INPUTS];
} Choice;

static void
collect_leaves(Choice *choice, GjTree *tree)
{
	if (tree->source == NULL)
	{
		collect_leaves(choice, tree->left);
		collect_leaves(choice, tree->right);
		return;
	}
	choice->rows[choice->ninputs] = tree->rows;
	choice->fed[choice->ninputs] = false;
	choice->filters[choice->ninputs].n = 0;
	choice->filters[choice->ninputs].passed = 1;
	choice->largest = Max(choice->largest, tree->source->cost);
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
find_sources(Choice *choice)
{
	gj_find_sources(choice->tree, &choice->legal);
	for (int c = 0; c < choice->legal.ncolumns; c++)
	{
		int			relid = choice->legal.columns[c].var->varno;
		int			i = 0;

		while (i < choice->ninputs - 1 && choice->leaves[i]->source->rel->relid != (Index) relid)
			i++;
		choice->inputs[c] = i;
	}
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
	const GjValues *from = gj_values(choice->root, choice->legal.columns[source].var);
	const GjValues *to = gj_values(choice->root, choice->legal.columns[target].var);
	int			input = choice->inputs[source];
	double		tuples = Max(choice->leaves[input]->source->rel->tuples, choice->rows[input]);
	double		distinct;
	double		fed;

	if (!to->known)
		return 1;
	tuples = Max(tuples, 1);
	distinct = Min(from->known ? from->distinct : tuples, tuples);
	fed = distinct * (1 - pow(1 - Min(choice->rows[input] / tuples, 1), tuples / distinct));
	fed *= gj_range_growth(choice->root, choice->legal.columns[source].var,
							choice->legal.columns[target].var);
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

	return choice->tree->workers == 0 || from->partial ||
		from->cost * WAIT_RATIO < choice->largest;
}

/* Of testing the key of a row. */
static double
test_ns(const Choice *choice, int target)
{
	const GjKeyColumn *column = &choice->legal.columns[target];

	return gj_filter_ns(column->form, get_typlen(column->var->vartype),
						gj_average_width(choice->root, column->var));
}

/* Is it worth its messages, and its tests worth their time? */
static bool
pays(const Choice *choice, int input, double passing, double ns)
{
	const GjSource *to = choice->leaves[input]->source;

	return passing <= MOST_PASSING &&
		(gj_debug_force ||
		 (choice->leaves[input]->rows * (1 - passing) >= LEAST_DROPPED &&
		  gj_filter_pays(to, gj_base_slot(to->rel)->weight, ns, passing)));
}

/*
 * Considers a filter of a column by one of an input that has been fed.  The best
 * one of each column is kept.
 */
static void
consider(Choice *choice, int source, int target)
{
	int			from = choice->inputs[source];
	int			input = choice->inputs[target];
	double		rows = choice->leaves[input]->rows;
	Filters    *filters = &choice->filters[input];
	double		fraction;
	double		ns;
	int			at = 0;

	/* nobody feeds a mirror */
	if (choice->leaves[input]->source->feed == GJ_FEED_MIRROR ||
		choice->rows[from] * LEAST_RATIO >= rows || !is_soon(choice, from))
		return;
	fraction = passing(choice, source, target);
	ns = test_ns(choice, target);
	if (!pays(choice, input, fraction, ns))
		return;
	while (at < filters->n && filters->best[at].target != target)
		at++;
	if (at == GJ_MAX_INPUT_FILTERS ||
		(at < filters->n && filters->best[at].passing <= fraction))
		return;
	filters->best[at] = (Best)
	{
		.source = source, .target = target, .passing = fraction, .ns = ns
	};
	filters->n = Max(filters->n, at + 1);
	filters->passed = 1;
	for (int i = 0; i < filters->n; i++)
		filters->passed *= filters->best[i].passing;
}

/* Considers the filters that an input makes possible which has been fed now. */
static void
consider_all(Choice *choice, int fed)
{
	const GjLegalFilters *legal = &choice->legal;
	GjColumnSet columns = 0;

	for (int c = 0; c < legal->ncolumns; c++)
		if (choice->inputs[c] == fed)
			columns |= GJ_COLUMN_BIT(c);
	for (int target = 0; target < legal->ncolumns; target++)
	{
		GjColumnSet sources = legal->columns[target].sources & columns;

		if (choice->fed[choice->inputs[target]])
			continue;
		for (; sources != 0; sources &= sources - 1)
			consider(choice, pg_rightmost_one_pos64(sources), target);
	}
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
next_input(const Choice *choice)
{
	int			next = -1;
	double		least = 0;

	for (int i = 0; i < choice->ninputs; i++)
	{
		double		rows = choice->rows[i] * choice->filters[i].passed;

		if (choice->fed[i] || (next >= 0 && rows >= least))
			continue;
		next = i;
		least = rows;
	}
	return next;
}

static void
add_filter(GjKeyFilters *key_filters, const GjLegalFilters *legal, const Best *best)
{
	GjChosenFilter *chosen = palloc(sizeof(GjChosenFilter));

	chosen->source = legal->columns[best->source].var;
	chosen->target = legal->columns[best->target].var;
	chosen->source_form = legal->columns[best->source].form;
	chosen->target_form = legal->columns[best->target].form;
	chosen->passing = best->passing;
	key_filters->filters = lappend(key_filters->filters, chosen);
}

/*
 * Feeds the inputs in thought, one after the other, the smallest one first.
 */
static void
feed(Choice *choice, GjKeyFilters *key_filters)
{
	for (int at = 0; at < choice->ninputs; at++)
	{
		int			input = next_input(choice);
		GjTree	   *leaf = choice->leaves[input];
		Filters    *filters = &choice->filters[input];
		int			n = Min(filters->n, GJ_MAX_FILTERS - list_length(key_filters->filters));
		double		ns = 0;

		if (n > 1)
			qsort(filters->best, n, sizeof(Best), by_passing);
		for (int i = 0; i < n; i++)
		{
			add_filter(key_filters, &choice->legal, &filters->best[i]);
			ns += filters->best[i].ns;
		}
		choice->fed[input] = true;
		choice->rows[input] *= filters->passed;
		key_filters->order[at] = input;
		key_filters->passing[input] = filters->passed;
		if (n > 0)
			key_filters->saved += gj_filter_saving(leaf->source, gj_base_slot(leaf->source->rel)->weight,
												ns, filters->passed, leaf->workers);
		if (at < choice->ninputs - 1)
			consider_all(choice, input);
	}
}

void
gj_choose_filters(PlannerInfo *root, GjTree *tree)
{
	Choice		choice;
	GjKeyFilters *key_filters;

	if (!gj_enable_key_filters || tree->source != NULL || tree->key_filters != NULL)
		return;
	key_filters = tree->key_filters = palloc0(sizeof(GjKeyFilters));
	key_filters->order = palloc(tree->ninputs * sizeof(int));
	key_filters->passing = palloc(tree->ninputs * sizeof(double));

	/* it is large, and most trees need little of it */
	choice.root = root;
	choice.tree = tree;
	choice.ninputs = 0;
	choice.largest = 0;
	choice.legal.ncolumns = choice.legal.npairs = 0;
	collect_leaves(&choice, tree);
	if (sizes_differ(&choice))
		find_sources(&choice);
	feed(&choice, key_filters);
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
				if (!is_source(plan, i) && gj_is_filtered(plan, i) == (bool) target &&
					plan->inputs[i].partial == (bool) partial)
					plan->order[n++] = i;
	Assert(n == plan->ninputs);
}

void
gj_add_filters(GjInputs *inputs, GjTree *tree)
{
	GjPlan	   *plan = inputs->plan;
	const GjKeyFilters *key_filters;
	ListCell   *lc;

	gj_choose_filters(inputs->root, tree);
	key_filters = tree->key_filters;
	plan->order = palloc(plan->ninputs * sizeof(int));
	for (int i = 0; i < plan->ninputs; i++)
		plan->inputs[i].passing = key_filters != NULL ? key_filters->passing[i] : 1;
	if (key_filters == NULL)
	{
		set_order(plan, NULL);
		return;
	}
	plan->filters = palloc(Max(1, list_length(key_filters->filters)) * sizeof(GjFilter));
	foreach(lc, key_filters->filters)
	{
		const GjChosenFilter *chosen = lfirst(lc);
		GjFilter   *filter = &plan->filters[plan->nfilters++];

		filter->source = gj_need_column(inputs, chosen->source, chosen->source_form, true);
		filter->target = gj_need_column(inputs, chosen->target, chosen->target_form, true);
		filter->passing = chosen->passing;
	}
	set_order(plan, key_filters->order);
}
