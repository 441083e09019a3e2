/*
 * plan/block/grouping_sets.c - GROUPING SETS, ROLLUP and CUBE.
 *
 * The daemon groups the rows by all keys once.  It then joins each of these
 * groups with every grouping set, sets the keys that are not in the set to
 * NULL, and aggregates again: counts and sums are added, extremes are compared.
 * So the second aggregation reads groups, not rows.  The number of the set is
 * one more key, since a NULL may also be a value of a key that is in the set.
 *
 * The grouping sets are the rows of an input of their own:
 *
 *	0			0, which is joined with a constant key of the groups
 *	1			number of the set
 *	2 + k		1 if key k is in the set, else 0
 *	then		the results of the query's calls of GROUPING()
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"

#include "job/job.h"
#include "plan/block/block.h"

#define SET_NUMBER 1
#define SET_KEYS 2

static GjExpr *
column_of(int input, int column)
{
	return gj_result_column(input, column, false);
}

/* ---- the sets ---- */

/* The keys of each set, by their positions, in the order of the keys. */
static List *
positions(const GjGrouping *grouping)
{
	List	   *sets = NIL;
	ListCell   *set;
	ListCell   *clause;

	foreach(set, grouping->sets)
	{
		List	   *keys = NIL;

		foreach(clause, grouping->clauses)
			if (list_member_int(lfirst(set), lfirst_node(SortGroupClause, clause)->tleSortGroupRef))
				keys = lappend_int(keys, foreach_current_index(clause));
		sets = lappend(sets, keys);
	}
	return sets;
}

static bool
in_all_sets(const List *sets, int key)
{
	ListCell   *lc;

	foreach(lc, sets)
		if (!list_member_int(lfirst(lc), key))
			return false;
	return true;
}

/* GROUPING(): a bit for each argument, 1 if the set lacks it. */
static int
grouping_value(const GroupingFunc *call, const List *set)
{
	int			value = 0;
	ListCell   *lc;

	foreach(lc, call->refs)
		value = value << 1 | !list_member_int(set, lfirst_int(lc));
	return value;
}

static List *
grouping_calls(const GjGrouping *grouping)
{
	List	   *calls = NIL;
	ListCell   *lc;

	foreach(lc, grouping->leaves)
		if (IsA(lfirst(lc), GroupingFunc))
			calls = lappend(calls, lfirst(lc));
	return calls;
}

/* ---- the aggregation ---- */

/* The key of a group in a set. */
static GjExpr *
key_of(const GjAggregation *a, int key)
{
	const GjColumn *column = &a->result->columns[key];
	GjExpr	   *value = column_of(a->source + 1, key);

	if (in_all_sets(a->result->sets, key))
		return value;
	return gj_choice(gj_compare(GJ_TEST_EQ, column_of(a->source, SET_KEYS + key), gj_int(1)), value,
					 gj_null(column->encoding == GJ_ENC_FIXED ? column->width : 0));
}

/*
 * Is an expression several keys?  Sets that have one of them make only the
 * others NULL, but the results are found by their expressions.
 */
static bool
repeats_key(List *keys)
{
	ListCell   *key;
	ListCell   *other;

	foreach(key, keys)
		for_each_cell(other, keys, lnext(keys, key))
			if (equal(lfirst(key), lfirst(other)))
				return true;
	return false;
}

/* Can a value of the column be replaced by NULL? */
static bool
is_value(const GjColumn *column)
{
	return column->encoding == GJ_ENC_FIXED ? column->width <= 8 : column->align == 4;
}

/*
 * The function that combines the results of several groups, and in *is_sum
 * whether it adds them up.  Returns NULL if they cannot be combined.
 */
static GjFunction *
combined_function(const GjFunction *function, GjExpr *column, bool *is_sum)
{
	static const char *const repeated[] = {"sum", "min", "max", "bool_and", "bool_or"};
	GjFunction *combined = palloc0(sizeof(GjFunction));

	*is_sum = false;
	if (function->distinct)
		return NULL;
	if (strcmp(function->name, "count") == 0)
	{
		/* there are no rows without a group */
		*is_sum = true;
		combined->name = "sum";
		combined->arg = gj_call("coalesce", 0, column, gj_int(0));
		return combined;
	}
	for (int i = 0; i < (int) lengthof(repeated); i++)
		if (strcmp(function->name, repeated[i]) == 0)
		{
			*is_sum = i == 0;
			combined->name = repeated[i];
			combined->arg = column;
			return combined;
		}
	return NULL;
}

/*
 * The columns of the result: the keys, the set's number, carried columns, calls
 * of GROUPING(), functions.  Those of the aggregation by all keys: the keys, a
 * constant, carried columns, functions.
 */
static GjReject
describe(GjAggregation *a)
{
	const GjGrouping *grouping = a->grouping;
	GjAggregate *result = a->result;
	GjMembers  *combined = &a->combined;
	int			nkeys = list_length(grouping->keys);
	int			ncalls = list_length(grouping_calls(grouping));
	int			first = result->ncolumns - list_length(a->rows.functions);
	int			group = a->source + 1;
	GjColumn   *columns = palloc0((result->ncolumns + 1 + ncalls) * sizeof(GjColumn));
	ListCell   *lc;

	for (int k = 0; k < nkeys; k++)
	{
		if (IsA(list_nth(grouping->keys, k), Const) ||
			(!in_all_sets(result->sets, k) && !is_value(&result->columns[k])))
			return GJ_REJECT_GROUPING_SETS;
		columns[k] = result->columns[k];
		combined->keys = lappend(combined->keys, key_of(a, k));
	}
	gj_describe_integer(&columns[nkeys], 4);
	combined->keys = lappend(combined->keys, column_of(a->source, SET_NUMBER));
	for (int i = nkeys; i < first; i++)
	{
		columns[i + 1] = result->columns[i];
		combined->carry = lappend(combined->carry, column_of(group, i + 1));
	}
	for (int i = 0; i < ncalls; i++)
	{
		gj_describe_integer(&columns[first + 1 + i], 4);
		combined->carry = lappend(combined->carry, column_of(a->source, SET_KEYS + nkeys + i));
	}
	foreach(lc, a->rows.functions)
	{
		int			at = first + foreach_current_index(lc);
		bool		is_sum;
		GjFunction *function = combined_function(lfirst(lc), column_of(group, at + 1), &is_sum);

		if (function == NULL)
			return GJ_REJECT_GROUPING_SETS;
		columns[at + 1 + ncalls] = result->columns[at];
		if (is_sum)
			gj_describe_integer(&columns[at + 1 + ncalls], 16);
		combined->functions = lappend(combined->functions, function);
	}
	result->columns = columns;
	result->ncolumns += 1 + ncalls;
	return GJ_ACCEPTED;
}

/* Where a column that the results refer to has moved to. */
static int
moved(int column, int nkeys, int first, int ncalls)
{
	if (column < nkeys)
		return column;
	return column + 1 + (column >= first ? ncalls : 0);
}

static void
move_results(GjAggregation *a, int first)
{
	const GjGrouping *grouping = a->grouping;
	GjAggregate *result = a->result;
	int			nkeys = list_length(grouping->keys);
	int			ncalls = list_length(grouping_calls(grouping));
	int			call = 0;
	ListCell   *lc;

	foreach(lc, grouping->leaves)
	{
		GjResult   *r = &result->results[foreach_current_index(lc)];

		if (IsA(lfirst(lc), GroupingFunc))
		{
			r->column = first + 1 + call++;
			continue;
		}
		r->column = moved(r->column, nkeys, first, ncalls);
		if (r->display_scale >= 0)
			r->display_scale = moved(r->display_scale, nkeys, first, ncalls);
		if (r->count >= 0)
			r->count = moved(r->count, nkeys, first, ncalls);
	}
	foreach(lc, a->checks)
	{
		GjCheck    *check = lfirst(lc);

		check->first = moved(check->first, nkeys, first, ncalls);
		check->second = moved(check->second, nkeys, first, ncalls);
	}
}

/*
 * The sets without keys have a group even of no rows: the join then keeps the
 * rows of all sets, and this condition drops those of the others.
 */
static GjExpr *
set_filter(const GjAggregation *a)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, a->result->sets)
		if (lfirst(lc) == NIL)
			numbers = lappend(numbers, gj_int(foreach_current_index(lc)));
	if (numbers == NIL)
		return NULL;
	return gj_either(gj_not(gj_is_null(column_of(a->source + 1, a->result->finest_key.column))),
					 gj_in(column_of(a->source, SET_NUMBER), numbers, false));
}

GjReject
gj_add_grouping_sets(GjAggregation *a)
{
	const GjGrouping *grouping = a->grouping;
	GjAggregate *result = a->result;
	int			first = result->ncolumns - list_length(a->rows.functions);
	GjReject	reject;

	if (repeats_key(grouping->keys))
		return GJ_REJECT_GROUPING_SETS;
	result->sets = positions(grouping);
	reject = describe(a);
	if (reject != GJ_ACCEPTED)
		return reject;
	move_results(a, first);
	a->rows.keys = lappend(a->rows.keys, gj_int(0));
	result->finest_key = (GjOutput)
	{
		.input = a->source + 1, .column = list_length(grouping->keys)
	};
	a->set_filter = set_filter(a);
	a->check = gj_check_condition(a, a->source + 2);
	return GJ_ACCEPTED;
}

/* ---- the input ---- */

/* unnest() of an array: one of the columns of a ProjectSet's rows. */
static TargetEntry *
unnested(Datum *values, int n, int resno)
{
	ArrayType  *array = construct_array(values, n, INT4OID, sizeof(int32), true, TYPALIGN_INT);
	Const	   *constant = makeConst(INT4ARRAYOID, -1, InvalidOid, -1, PointerGetDatum(array),
									 false, false);
	FuncExpr   *call = makeFuncExpr(F_UNNEST_ANYARRAY, INT4OID, list_make1(constant), InvalidOid,
									InvalidOid, COERCE_EXPLICIT_CALL);

	call->funcretset = true;
	return makeTargetEntry((Expr *) call, resno, NULL, false);
}

/* The value of a column in a set. */
static int
set_value(const GjGrouping *grouping, const List *calls, const List *sets, int set, int column)
{
	int			nkeys = list_length(grouping->keys);

	if (column < SET_NUMBER)
		return 0;
	if (column == SET_NUMBER)
		return set;
	if (column < SET_KEYS + nkeys)
		return list_member_int(list_nth(sets, set), column - SET_KEYS);
	return grouping_value(list_nth(calls, column - SET_KEYS - nkeys), list_nth(grouping->sets, set));
}

void
gj_add_sets_input(GjInputs *inputs, const GjGrouping *grouping, const GjAggregate *aggregate)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input = &plan->inputs[plan->ninputs];
	List	   *calls = grouping_calls(grouping);
	int			nsets = list_length(aggregate->sets);
	int			ncolumns = SET_KEYS + list_length(grouping->keys) + list_length(calls);
	ProjectSet *project = makeNode(ProjectSet);
	Result	   *row = makeNode(Result);
	Datum	   *values = palloc(nsets * sizeof(Datum));

	input->feed = GJ_FEED_CHILD;
	input->name = "grouping sets";
	input->rows = nsets;
	input->passing = 1;
	input->columns = palloc0(ncolumns * sizeof(GjColumn));
	for (int i = 0; i < ncolumns; i++)
	{
		GjColumn   *column = &input->columns[input->ncolumns++];

		for (int set = 0; set < nsets; set++)
			values[set] = Int32GetDatum(set_value(grouping, calls, aggregate->sets, set, i));
		project->plan.targetlist = lappend(project->plan.targetlist, unnested(values, nsets, i + 1));
		(void) gj_describe_payload(INT4OID, -1, column);
		column->resno = column->attnum = i + 1;
		column->type = INT4OID;
		column->typmod = -1;
		column->avg_width = sizeof(int32);
		column->is_key = true;
	}
	row->plan.plan_rows = 1;
	project->plan.lefttree = &row->plan;
	project->plan.plan_rows = nsets;
	project->plan.plan_width = ncolumns * (int) sizeof(int32);
	row->plan.parallel_safe = project->plan.parallel_safe = true;
	inputs->children = list_insert_nth(list_copy(inputs->children), plan->ninputs, project);
	plan->order = repalloc(plan->order, (plan->ninputs + 1) * sizeof(int));
	plan->order[plan->ninputs] = plan->ninputs;
	plan->ninputs++;
}
