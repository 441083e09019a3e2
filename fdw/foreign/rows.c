/*
 * foreign/rows.c - rows of the daemon as rows of a foreign table.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "foreign/scan.h"

static void
prepare_text(GjTextInput *text, const FormData_pg_attribute *att)
{
	Oid			function;

	getTypeInputInfo(att->atttypid, &function, &text->argument);
	fmgr_info(function, &text->function);
	text->typmod = att->atttypmod;
	text->used = true;
}

void
gj_table_reader_init(GjTableReader *reader, GjLink *link, const GjPlan *plan, TupleDesc desc)
{
	const GjInput *input = &plan->inputs[0];

	gj_reader_init(&reader->reader, link, plan);
	reader->plan = plan;
	reader->texts = palloc0(plan->noutputs * sizeof(GjTextInput));
	reader->values = palloc(plan->noutputs * sizeof(Datum));
	reader->isnull = palloc(plan->noutputs * sizeof(bool));
	for (int i = 0; i < plan->noutputs; i++)
	{
		int			c = plan->outputs[i].column;

		if (input->mirror->text[c])
			prepare_text(&reader->texts[i], TupleDescAttr(desc, input->columns[c].attnum - 1));
	}
}

/* NULL goes through the type's input function, too: a domain may refuse it. */
static Datum
from_text(GjTextInput *input, Datum datum, bool isnull)
{
	char	   *string = isnull ? NULL : TextDatumGetCString(datum);

	return InputFunctionCall(&input->function, string, input->argument, input->typmod);
}

GjRead
gj_table_reader_next(GjTableReader *reader, TupleDesc desc, Datum *values, bool *isnull)
{
	const GjPlan *plan = reader->plan;
	const GjColumn *columns = plan->inputs[0].columns;
	GjRead		read = gj_reader_next(&reader->reader, reader->values, reader->isnull);

	if (read != GJ_READ_ROW)
		return read;
	memset(isnull, true, desc->natts * sizeof(bool));
	for (int i = 0; i < plan->noutputs; i++)
	{
		int			att = columns[plan->outputs[i].column].attnum - 1;

		isnull[att] = reader->isnull[i];
		values[att] = reader->values[i];
		if (unlikely(reader->texts[i].used))
			values[att] = from_text(&reader->texts[i], reader->values[i], reader->isnull[i]);
	}
	return GJ_READ_ROW;
}
