/*
 * plan/input/conditions.c - conditions of a table that the daemon evaluates itself.
 *
 * It does so on all rows of the table, and needs the columns that only they read.
 * These become hidden columns behind the others.
 */
#include "postgres.h"

#include "plan/expr/expr.h"
#include "plan/input/input.h"

GjExpr *
gj_translate_conditions(GjTranslator *t, const List *quals)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, quals)
	{
		conditions = lappend(conditions, gj_translate_condition(t, lfirst(lc)));
		if (llast(conditions) == NULL)
			return NULL;
	}
	return gj_conjunction(conditions);
}

int
gj_find_stored(const GjInput *input, const GjLeaf *leaf)
{
	for (int i = 0; i < input->ncolumns + input->nhidden; i++)
	{
		const GjColumn *column = &input->columns[i];

		/* every form is NULL where the value is */
		if (column->attnum == leaf->var->varattno && (column->form == leaf->form || !leaf->is_key))
			return i;
	}
	return -1;
}

void
gj_place_conditions(GjInputs *inputs, int i, const List *leaves)
{
	GjInput    *input = &inputs->plan->inputs[i];
	GjColumn   *columns = palloc0((input->ncolumns + list_length(leaves)) * sizeof(GjColumn));
	ListCell   *lc;

	input->columns = memcpy(columns, input->columns, input->ncolumns * sizeof(GjColumn));
	foreach(lc, leaves)
	{
		GjLeaf	   *leaf = lfirst(lc);

		if (leaf->parameter != NULL)
		{
			gj_place_leaves(inputs, list_make1(leaf));
			continue;
		}
		leaf->place.input = i;
		leaf->place.column = gj_find_stored(input, leaf);
		if (leaf->place.column >= 0)
			continue;
		leaf->place.column = input->ncolumns + input->nhidden++;
		gj_describe_column(inputs, leaf->var, leaf->form, &columns[leaf->place.column]);
	}
}
