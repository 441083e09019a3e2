/*
 * private.c - a GjPlan as the list that CustomScan.custom_private holds.
 *
 * The list is copied with cached plans and travels to parallel workers as
 * text, so it consists of integers, oids and strings.
 */
#include "postgres.h"

#include "nodes/value.h"
#include "utils/float.h"

#include "private.h"

/* Positions in custom_private. */
enum
{
	PRIVATE_HEADER,				/* integers, HEADER_* */
	PRIVATE_INPUTS,				/* list of lists, INPUT_* */
	PRIVATE_OUTPUTS,			/* integers: input, column, native_resno */
	PRIVATE_JOINS,				/* list of lists, JOIN_* */
	PRIVATE_JSON,				/* String */
	PRIVATE_LENGTH
};

enum
{
	HEADER_PARALLEL,
	HEADER_WORKERS,
	HEADER_LENGTH
};

enum
{
	INPUT_NUMBERS,				/* integers: feed, partial, rti */
	INPUT_RELID,				/* one oid */
	INPUT_ROWS,					/* String */
	INPUT_COLUMNS,				/* integers, COLUMN_* of each */
	INPUT_TYPES,				/* oids: type, collation of each */
	INPUT_LENGTH
};

enum
{
	COLUMN_RESNO,
	COLUMN_ATTNUM,
	COLUMN_TYPMOD,
	COLUMN_FORM,
	COLUMN_ENCODING,
	COLUMN_WIDTH,
	COLUMN_ALIGN,
	COLUMN_SCALE,
	COLUMN_AVG_WIDTH,
	COLUMN_IS_KEY,
	COLUMN_LENGTH
};

enum
{
	JOIN_ROWS,					/* String */
	JOIN_KEYS,					/* integers: input, column of left and right */
	JOIN_LENGTH
};

/* As a String: a Float without a fraction is read back as an Integer. */
static Node *
write_double(double value)
{
	return (Node *) makeString(float8out_internal(value));
}

static double
read_double(List *list, int at)
{
	return strtod(strVal(list_nth(list, at)), NULL);
}

static List *
write_input(const GjInput *input)
{
	List	   *columns = NIL;
	List	   *types = NIL;

	for (int i = 0; i < input->ncolumns; i++)
	{
		const GjColumn *c = &input->columns[i];
		int			numbers[COLUMN_LENGTH] = {
			[COLUMN_RESNO] = c->resno,
			[COLUMN_ATTNUM] = c->attnum,
			[COLUMN_TYPMOD] = c->typmod,
			[COLUMN_FORM] = c->form,
			[COLUMN_ENCODING] = c->encoding,
			[COLUMN_WIDTH] = c->width,
			[COLUMN_ALIGN] = c->align,
			[COLUMN_SCALE] = c->scale,
			[COLUMN_AVG_WIDTH] = c->avg_width,
			[COLUMN_IS_KEY] = c->is_key,
		};

		for (int n = 0; n < COLUMN_LENGTH; n++)
			columns = lappend_int(columns, numbers[n]);
		types = lappend_oid(lappend_oid(types, c->type), c->collation);
	}
	return list_make5(list_make3_int(input->feed, input->partial, input->rti),
					  list_make1_oid(input->relid),
					  write_double(input->rows), columns, types);
}

static void
read_input(List *list, GjInput *input)
{
	List	   *numbers;
	List	   *columns;
	List	   *types;

	if (list_length(list) != INPUT_LENGTH)
		elog(ERROR, "malformed input in the plan of a GpuJoin");
	numbers = list_nth(list, INPUT_NUMBERS);
	columns = list_nth(list, INPUT_COLUMNS);
	types = list_nth(list, INPUT_TYPES);

	input->feed = linitial_int(numbers);
	input->partial = lsecond_int(numbers);
	input->rti = lthird_int(numbers);
	input->relid = linitial_oid(list_nth(list, INPUT_RELID));
	input->rows = read_double(list, INPUT_ROWS);
	input->ncolumns = list_length(columns) / COLUMN_LENGTH;
	input->columns = palloc0(Max(1, input->ncolumns) * sizeof(GjColumn));
	for (int i = 0; i < input->ncolumns; i++)
	{
		GjColumn   *c = &input->columns[i];
		int			numbers_of[COLUMN_LENGTH];

		for (int n = 0; n < COLUMN_LENGTH; n++)
			numbers_of[n] = list_nth_int(columns, i * COLUMN_LENGTH + n);
		c->resno = numbers_of[COLUMN_RESNO];
		c->attnum = numbers_of[COLUMN_ATTNUM];
		c->typmod = numbers_of[COLUMN_TYPMOD];
		c->form = numbers_of[COLUMN_FORM];
		c->encoding = numbers_of[COLUMN_ENCODING];
		c->width = numbers_of[COLUMN_WIDTH];
		c->align = numbers_of[COLUMN_ALIGN];
		c->scale = numbers_of[COLUMN_SCALE];
		c->avg_width = numbers_of[COLUMN_AVG_WIDTH];
		c->is_key = numbers_of[COLUMN_IS_KEY];
		c->type = list_nth_oid(types, 2 * i);
		c->collation = list_nth_oid(types, 2 * i + 1);
	}
}

static List *
write_join(const GjJoin *join)
{
	List	   *keys = NIL;

	for (int i = 0; i < join->nkeys; i++)
	{
		keys = lappend_int(lappend_int(keys, join->left[i].input), join->left[i].column);
		keys = lappend_int(lappend_int(keys, join->right[i].input), join->right[i].column);
	}
	return list_make2(write_double(join->rows), keys);
}

static void
read_join(List *list, GjJoin *join)
{
	List	   *keys;

	if (list_length(list) != JOIN_LENGTH)
		elog(ERROR, "malformed join in the plan of a GpuJoin");
	join->rows = read_double(list, JOIN_ROWS);
	keys = list_nth(list, JOIN_KEYS);
	join->nkeys = list_length(keys) / 4;
	join->left = palloc(join->nkeys * sizeof(GjOutput));
	join->right = palloc(join->nkeys * sizeof(GjOutput));
	for (int i = 0; i < join->nkeys; i++)
	{
		join->left[i].input = list_nth_int(keys, 4 * i);
		join->left[i].column = list_nth_int(keys, 4 * i + 1);
		join->right[i].input = list_nth_int(keys, 4 * i + 2);
		join->right[i].column = list_nth_int(keys, 4 * i + 3);
	}
}

List *
gj_plan_write(const GjPlan *plan)
{
	List	   *inputs = NIL;
	List	   *outputs = NIL;
	List	   *joins = NIL;

	for (int i = 0; i < plan->ninputs; i++)
		inputs = lappend(inputs, write_input(&plan->inputs[i]));
	for (int i = 0; i < plan->noutputs; i++)
	{
		outputs = lappend_int(outputs, plan->outputs[i].input);
		outputs = lappend_int(outputs, plan->outputs[i].column);
		outputs = lappend_int(outputs, plan->native_resnos[i]);
	}
	for (int i = 0; i < plan->njoins; i++)
		joins = lappend(joins, write_join(&plan->joins[i]));
	return list_make5(list_make2_int(plan->parallel, plan->workers),
					  inputs, outputs, joins, makeString(plan->static_json));
}

GjPlan *
gj_plan_read(CustomScan *scan)
{
	List	   *list = scan->custom_private;
	List	   *header;
	List	   *inputs;
	List	   *outputs;
	List	   *joins;
	GjPlan	   *plan = palloc0(sizeof(GjPlan));

	if (list_length(list) != PRIVATE_LENGTH ||
		list_length(header = list_nth(list, PRIVATE_HEADER)) != HEADER_LENGTH)
		elog(ERROR, "malformed plan of a GpuJoin");
	inputs = list_nth(list, PRIVATE_INPUTS);
	outputs = list_nth(list, PRIVATE_OUTPUTS);
	joins = list_nth(list, PRIVATE_JOINS);

	plan->parallel = list_nth_int(header, HEADER_PARALLEL);
	plan->workers = list_nth_int(header, HEADER_WORKERS);
	plan->ninputs = list_length(inputs);
	plan->inputs = palloc0(plan->ninputs * sizeof(GjInput));
	for (int i = 0; i < plan->ninputs; i++)
		read_input(list_nth(inputs, i), &plan->inputs[i]);
	plan->noutputs = list_length(outputs) / 3;
	plan->outputs = palloc(Max(1, plan->noutputs) * sizeof(GjOutput));
	plan->native_resnos = palloc(Max(1, plan->noutputs) * sizeof(int));
	for (int i = 0; i < plan->noutputs; i++)
	{
		plan->outputs[i].input = list_nth_int(outputs, 3 * i);
		plan->outputs[i].column = list_nth_int(outputs, 3 * i + 1);
		plan->native_resnos[i] = list_nth_int(outputs, 3 * i + 2);
	}
	plan->njoins = list_length(joins);
	plan->joins = palloc0(plan->njoins * sizeof(GjJoin));
	for (int i = 0; i < plan->njoins; i++)
		read_join(list_nth(joins, i), &plan->joins[i]);
	plan->static_json = strVal(list_nth(list, PRIVATE_JSON));
	return plan;
}
