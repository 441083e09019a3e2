/*
 * job/read.c - converts a GjPlan back from CustomScan.custom_private.
 *
 * The order of the lists is that in which job/write.c has written them.
 */
#include "postgres.h"

#include "job/job.h"

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

static GjMirror *
get_mirror(Source *source, int ncolumns)
{
	GjMirror   *mirror = palloc(sizeof(GjMirror));

	mirror->serverid = (Oid) get(source);
	mirror->userid = (Oid) get(source);
	mirror->schema = get_text(source);
	mirror->table = get_text(source);
	mirror->columns = palloc(Max(1, ncolumns) * sizeof(char *));
	mirror->text = palloc(Max(1, ncolumns) * sizeof(bool));
	for (int i = 0; i < ncolumns; i++)
	{
		mirror->columns[i] = get_text(source);
		mirror->text[i] = get(source);
	}
	return mirror;
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
	if (gj_has_condition(input))
	{
		input->nhidden = get_length(source);
		input->condition = get_text(source);
	}
	input->columns = palloc0(Max(1, input->ncolumns + input->nhidden) * sizeof(GjColumn));
	for (int i = 0; i < input->ncolumns + input->nhidden; i++)
		get_column(source, &input->columns[i]);
	if (input->feed == GJ_FEED_MIRROR)
		input->mirror = get_mirror(source, input->ncolumns + input->nhidden);
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
	GjPlan	   *plan = gj_plan_read_lists(scan->custom_private);

	read_parameter_exprs(plan, scan->custom_plans);
	return plan;
}

GjPlan *
gj_plan_read_lists(const List *lists)
{
	Source		source = {0};
	GjPlan	   *plan = palloc0(sizeof(GjPlan));

	if (list_length(lists) != 2)
		elog(ERROR, "plan data of an OffloadJoin are %d lists", list_length(lists));
	source.numbers = linitial(lists);
	source.nodes = lsecond(lists);
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
