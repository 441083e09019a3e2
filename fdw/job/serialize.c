/*
 * job/serialize.c - converts a GjPlan to and from CustomScan.custom_private.
 *
 * It is copied with cached plans and sent to parallel workers as text, so it
 * consists of two lists: integers, and nodes (conditions and their JSON).
 * gj_plan_write() defines their order, and gj_plan_read() must mirror it.
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
	if (input->keepable)
	{
		put(numbers, input->nhidden);
		put_text(numbers, nodes, input->condition);
	}
	for (int i = 0; i < input->ncolumns + input->nhidden; i++)
		put_column(numbers, nodes, &input->columns[i]);
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

/* The lists being read, and the read positions. */
typedef struct Source
{
	const List *numbers;
	int			next;
	const List *nodes;
	int			next_node;
} Source;

static int
get(Source *source)
{
	if (source->next >= list_length(source->numbers))
		elog(ERROR, "plan data of an OffloadJoin are too short");
	return list_nth_int(source->numbers, source->next++);
}

static void *
get_node(Source *source)
{
	if (source->next_node >= list_length(source->nodes))
		elog(ERROR, "plan data of an OffloadJoin lack a node");
	return list_nth(source->nodes, source->next_node++);
}

static double
get_double(Source *source)
{
	int			halves[2];
	double		value;

	halves[0] = get(source);
	halves[1] = get(source);
	memcpy(&value, halves, sizeof(value));
	return value;
}

/*
 * Reads an array length.  Each element takes at least one number of the list.
 */
static int
get_length(Source *source)
{
	int			length = get(source);

	if (length < 0 || length > list_length(source->numbers) - source->next)
		elog(ERROR, "plan data of an OffloadJoin contain an invalid length");
	return length;
}

static char *
get_text(Source *source)
{
	return get(source) ? strVal(get_node(source)) : NULL;
}

static GjOutput
get_place(Source *source)
{
	GjOutput	place;

	place.input = get(source);
	place.column = get(source);
	return place;
}

static void
get_column(Source *source, GjColumn *column)
{
	column->computed = get(source) ? get_node(source) : NULL;
	column->resno = get(source);
	column->attnum = get(source);
	column->type = (Oid) get(source);
	column->typmod = get(source);
	column->collation = (Oid) get(source);
	column->form = get(source);
	column->encoding = get(source);
	column->width = get(source);
	column->align = get(source);
	column->scale = get(source);
	column->avg_width = get(source);
	column->is_key = get(source);
}

static void
get_input(Source *source, GjInput *input)
{
	input->feed = get(source);
	input->partial = get(source);
	input->relid = (Oid) get(source);
	input->name = get_text(source);
	input->rti = (Index) get(source);
	input->rows = get_double(source);
	input->passing = get_double(source);
	input->ncolumns = get_length(source);
	input->kept = get_double(source);
	input->keepable = get(source);
	if (input->keepable)
	{
		input->nhidden = get_length(source);
		input->condition = get_text(source);
	}
	input->columns = palloc0(Max(1, input->ncolumns + input->nhidden) * sizeof(GjColumn));
	for (int i = 0; i < input->ncolumns + input->nhidden; i++)
		get_column(source, &input->columns[i]);
}

static void
get_condition(Source *source, char **json, List **exprs)
{
	if (!get(source))
		return;
	*json = strVal(get_node(source));
	*exprs = castNode(List, get_node(source));
}

static void
get_join(Source *source, GjJoin *join)
{
	join->kind = get(source);
	join->rows = get_double(source);
	join->left_inputs = get(source);
	get_condition(source, &join->residual, &join->residual_exprs);
	get_condition(source, &join->filter, &join->filter_exprs);
	join->nkeys = get_length(source);
	join->left = palloc(join->nkeys * sizeof(GjOutput));
	join->right = palloc(join->nkeys * sizeof(GjOutput));
	join->classes = palloc(join->nkeys * sizeof(GjKeyClass));
	for (int i = 0; i < join->nkeys; i++)
	{
		join->left[i] = get_place(source);
		join->right[i] = get_place(source);
		join->classes[i] = get(source);
	}
}

static void
get_filter(Source *source, GjFilter *filter)
{
	filter->source = get_place(source);
	filter->target = get_place(source);
	filter->passing = get_double(source);
}

static void
get_result(Source *source, GjResult *result)
{
	result->finish = get(source);
	result->column = get(source);
	result->scale = get(source);
	result->display_scale = get(source);
	result->count = get(source);
	result->squares = get(source);
}

static GjAggregate *
get_aggregate(Source *source)
{
	GjAggregate *aggregate = palloc0(sizeof(GjAggregate));

	aggregate->groups = get_double(source);
	aggregate->members = get_text(source);
	aggregate->filter = get_text(source);
	aggregate->ncolumns = get_length(source);
	aggregate->columns = palloc0(Max(1, aggregate->ncolumns) * sizeof(GjColumn));
	for (int i = 0; i < aggregate->ncolumns; i++)
		get_column(source, &aggregate->columns[i]);
	aggregate->nkeys = get(source);
	aggregate->nresults = get_length(source);
	aggregate->results = palloc0(Max(1, aggregate->nresults) * sizeof(GjResult));
	for (int i = 0; i < aggregate->nresults; i++)
		get_result(source, &aggregate->results[i]);
	aggregate->finest = get_text(source);
	if (aggregate->finest == NULL)
		return aggregate;
	aggregate->sets = castNode(List, get_node(source));
	aggregate->finest_groups = get_double(source);
	aggregate->finest_key = get_place(source);
	aggregate->set_filter = get_text(source);
	return aggregate;
}

/* The expressions of the parameters, from the last child. */
static void
read_parameter_exprs(GjPlan *plan, const List *children)
{
	ListCell   *lc;

	if (list_length(children) != plan->ninputs + plan->has_native + (plan->nparameters > 0))
		elog(ERROR, "OffloadJoin has %d children for %d inputs", list_length(children), plan->ninputs);
	if (plan->nparameters == 0)
		return;
	foreach(lc, ((const Plan *) llast(children))->targetlist)
		plan->parameter_exprs = lappend(plan->parameter_exprs,
										lfirst_node(TargetEntry, lc)->expr);
	if (list_length(plan->parameter_exprs) != plan->nparameters)
		elog(ERROR, "plan data of an OffloadJoin lack a parameter");
}

GjPlan *
gj_plan_read(CustomScan *scan)
{
	Source		source = {0};
	GjPlan	   *plan = palloc0(sizeof(GjPlan));

	if (list_length(scan->custom_private) != 2)
		elog(ERROR, "plan data of an OffloadJoin are %d lists", list_length(scan->custom_private));
	source.numbers = linitial(scan->custom_private);
	source.nodes = lsecond(scan->custom_private);
	plan->parallel = get(&source);
	plan->workers = get(&source);
	plan->first_relid = get(&source);
	plan->has_native = get(&source);
	plan->forced = get(&source);
	plan->native_ns = get_double(&source);
	plan->relies_on_kept = get(&source);
	plan->promised = get(&source);
	plan->defect = get_text(&source);
	plan->ninputs = get_length(&source);
	plan->inputs = palloc0(plan->ninputs * sizeof(GjInput));
	for (int i = 0; i < plan->ninputs; i++)
		get_input(&source, &plan->inputs[i]);
	plan->nparameters = get_length(&source);
	plan->plain_parameters = get(&source);
	plan->parameters = palloc(Max(1, plan->nparameters) * sizeof(GjParameter));
	for (int i = 0; i < plan->nparameters; i++)
	{
		plan->parameters[i].rounding = get(&source);
		plan->parameters[i].scale = get(&source);
	}
	read_parameter_exprs(plan, scan->custom_plans);
	plan->noutputs = get_length(&source);
	plan->outputs = palloc(Max(1, plan->noutputs) * sizeof(GjOutput));
	plan->native_resnos = palloc(Max(1, plan->noutputs) * sizeof(int));
	for (int i = 0; i < plan->noutputs; i++)
	{
		plan->outputs[i] = get_place(&source);
		plan->native_resnos[i] = get(&source);
	}
	plan->njoins = get_length(&source);
	plan->joins = palloc0(plan->njoins * sizeof(GjJoin));
	for (int i = 0; i < plan->njoins; i++)
		get_join(&source, &plan->joins[i]);
	plan->order = palloc(Max(1, plan->ninputs) * sizeof(int));
	for (int i = 0; i < plan->ninputs; i++)
		plan->order[i] = get(&source);
	plan->nfilters = get_length(&source);
	plan->filters = palloc0(Max(1, plan->nfilters) * sizeof(GjFilter));
	for (int i = 0; i < plan->nfilters; i++)
		get_filter(&source, &plan->filters[i]);
	if (get(&source))
		plan->aggregate = get_aggregate(&source);
	if (source.next != list_length(source.numbers) ||
		source.next_node != list_length(source.nodes))
		elog(ERROR, "plan data of an OffloadJoin are too long");
	return plan;
}
