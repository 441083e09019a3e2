/*
 * job/write.c - converts a GjPlan to CustomScan.custom_private.
 *
 * It is copied with cached plans and sent to parallel workers as text, so it
 * consists of two lists: integers, and nodes (conditions and their JSON).
 * gj_plan_write() defines their order, and gj_plan_read() in job/read.c must
 * mirror it.
 */
#include "postgres.h"

#include "job/job.h"
#include "util.h"

#define FIRST_NUMBERS 256

/* Integers that become a list. */
typedef struct Numbers
{
	int		   *values;
	int			n;
	int			size;			/* of values */
} Numbers;

static void
put(Numbers *numbers, int value)
{
	if (numbers->n == numbers->size)
	{
		numbers->size *= 2;
		numbers->values = repalloc(numbers->values, numbers->size * sizeof(int));
	}
	numbers->values[numbers->n++] = value;
}

static List *
list_of(const Numbers *numbers)
{
	List	   *list = gj_make_list(T_IntList, numbers->n);

	for (int i = 0; i < numbers->n; i++)
		list->elements[i].int_value = numbers->values[i];
	return list;
}

/*
 * Writes the bits of a double.  Decimal text would be slower and no shorter.
 */
static void
put_double(Numbers *numbers, double value)
{
	int			halves[2];

	memcpy(halves, &value, sizeof(value));
	put(numbers, halves[0]);
	put(numbers, halves[1]);
}

/* Adds a text that may be NULL. */
static void
put_text(Numbers *numbers, List **nodes, const char *text)
{
	put(numbers, text != NULL);
	if (text != NULL)
		*nodes = lappend(*nodes, makeString(pstrdup(text)));
}

static void
put_place(Numbers *numbers, GjOutput place)
{
	put(numbers, place.input);
	put(numbers, place.column);
}

static void
put_column(Numbers *numbers, List **nodes, const GjColumn *column)
{
	put(numbers, column->computed != NULL);
	if (column->computed != NULL)
		*nodes = lappend(*nodes, column->computed);
	put(numbers, column->resno);
	put(numbers, column->attnum);
	put(numbers, (int) column->type);
	put(numbers, column->typmod);
	put(numbers, (int) column->collation);
	put(numbers, column->form);
	put(numbers, column->encoding);
	put(numbers, column->width);
	put(numbers, column->align);
	put(numbers, column->scale);
	put(numbers, column->avg_width);
	put(numbers, column->is_key);
}

static void
put_mirror(Numbers *numbers, List **nodes, const GjMirror *mirror, int ncolumns)
{
	put(numbers, (int) mirror->serverid);
	put(numbers, (int) mirror->userid);
	put_text(numbers, nodes, mirror->schema);
	put_text(numbers, nodes, mirror->table);
	for (int i = 0; i < ncolumns; i++)
	{
		put_text(numbers, nodes, mirror->columns[i]);
		put(numbers, mirror->text[i]);
	}
}

static void
put_input(Numbers *numbers, List **nodes, const GjInput *input)
{
	put(numbers, input->feed);
	put(numbers, input->partial);
	put(numbers, (int) input->relid);
	put_text(numbers, nodes, input->name);
	put(numbers, (int) input->rti);
	put_double(numbers, input->rows);
	put_double(numbers, input->passing);
	put(numbers, input->ncolumns);
	put_double(numbers, input->kept);
	put(numbers, input->keepable);
	if (gj_has_condition(input))
	{
		put(numbers, input->nhidden);
		put_text(numbers, nodes, input->condition);
	}
	for (int i = 0; i < input->ncolumns + input->nhidden; i++)
		put_column(numbers, nodes, &input->columns[i]);
	if (input->feed == GJ_FEED_MIRROR)
		put_mirror(numbers, nodes, input->mirror, input->ncolumns + input->nhidden);
}

/* The number tells whether there are nodes. */
static void
put_condition(Numbers *numbers, List **nodes, char *json, List *exprs)
{
	put(numbers, json != NULL);
	if (json != NULL)
		*nodes = lappend(lappend(*nodes, makeString(json)), exprs);
}

static void
put_join(Numbers *numbers, List **nodes, const GjJoin *join)
{
	put(numbers, join->kind);
	put_double(numbers, join->rows);
	put(numbers, join->left_inputs);
	put_condition(numbers, nodes, join->residual, join->residual_exprs);
	put_condition(numbers, nodes, join->filter, join->filter_exprs);
	put(numbers, join->nkeys);
	for (int i = 0; i < join->nkeys; i++)
	{
		put_place(numbers, join->left[i]);
		put_place(numbers, join->right[i]);
		put(numbers, join->classes[i]);
	}
}

static void
put_filter(Numbers *numbers, const GjFilter *filter)
{
	put_place(numbers, filter->source);
	put_place(numbers, filter->target);
	put_double(numbers, filter->passing);
}

static void
put_result(Numbers *numbers, const GjResult *result)
{
	put(numbers, result->finish);
	put(numbers, result->column);
	put(numbers, result->scale);
	put(numbers, result->display_scale);
	put(numbers, result->count);
	put(numbers, result->squares);
}

static void
put_aggregate(Numbers *numbers, List **nodes, const GjAggregate *aggregate)
{
	put_double(numbers, aggregate->groups);
	put_text(numbers, nodes, aggregate->members);
	put_text(numbers, nodes, aggregate->filter);
	put(numbers, aggregate->ncolumns);
	for (int i = 0; i < aggregate->ncolumns; i++)
		put_column(numbers, nodes, &aggregate->columns[i]);
	put(numbers, aggregate->nkeys);
	put(numbers, aggregate->nresults);
	for (int i = 0; i < aggregate->nresults; i++)
		put_result(numbers, &aggregate->results[i]);
	put_text(numbers, nodes, aggregate->finest);
	if (aggregate->finest == NULL)
		return;
	*nodes = lappend(*nodes, aggregate->sets);
	put_double(numbers, aggregate->finest_groups);
	put_place(numbers, aggregate->finest_key);
	put_text(numbers, nodes, aggregate->set_filter);
}

List *
gj_plan_write(const GjPlan *plan)
{
	Numbers		numbers = {
		.values = palloc(FIRST_NUMBERS * sizeof(int)),
		.size = FIRST_NUMBERS,
	};
	List	   *nodes = NIL;

	put(&numbers, plan->parallel);
	put(&numbers, plan->workers);
	put(&numbers, plan->first_relid);
	put(&numbers, plan->has_native);
	put(&numbers, plan->forced);
	put_double(&numbers, plan->native_ns);
	put(&numbers, plan->relies_on_kept);
	put(&numbers, plan->promised);
	put_text(&numbers, &nodes, plan->defect);
	put(&numbers, plan->ninputs);
	for (int i = 0; i < plan->ninputs; i++)
		put_input(&numbers, &nodes, &plan->inputs[i]);
	put(&numbers, plan->nparameters);
	put(&numbers, plan->plain_parameters);
	for (int i = 0; i < plan->nparameters; i++)
	{
		put(&numbers, plan->parameters[i].rounding);
		put(&numbers, plan->parameters[i].scale);
	}
	put(&numbers, plan->noutputs);
	for (int i = 0; i < plan->noutputs; i++)
	{
		put_place(&numbers, plan->outputs[i]);
		put(&numbers, plan->native_resnos != NULL ? plan->native_resnos[i] : 0);
	}
	put(&numbers, plan->njoins);
	for (int i = 0; i < plan->njoins; i++)
		put_join(&numbers, &nodes, &plan->joins[i]);
	for (int i = 0; i < plan->ninputs; i++)
		put(&numbers, plan->order[i]);
	put(&numbers, plan->nfilters);
	for (int i = 0; i < plan->nfilters; i++)
		put_filter(&numbers, &plan->filters[i]);
	put(&numbers, plan->aggregate != NULL);
	if (plan->aggregate != NULL)
		put_aggregate(&numbers, &nodes, plan->aggregate);
	return list_make2(list_of(&numbers), nodes);
}
