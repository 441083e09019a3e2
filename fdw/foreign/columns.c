/*
 * foreign/columns.c - the job that reads columns of a foreign table.
 *
 * A value comes in the form in which a batch carries its type, if the daemon can
 * make that of what the source sends.  All others come as the source's text.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "foreign/fdwapi.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "foreign/scan.h"

/* Describes the column as it is returned.  Returns whether its values come as text. */
static bool
describe(const FormData_pg_attribute *att, GjColumn *column)
{
	column->attnum = att->attnum;
	column->typmod = att->atttypmod;

	/* the source does not know our domains */
	column->type = getBaseTypeAndTypmod(att->atttypid, &column->typmod);
	column->collation = att->attcollation;
	column->avg_width = get_typavgwidth(column->type, column->typmod);
	if (gj_is_encoded(att->atttypid) &&
		gj_describe_payload(column->type, column->typmod, column))
		return false;
	column->type = TEXTOID;
	column->typmod = -1;
	column->collation = DEFAULT_COLLATION_OID;
	(void) gj_describe_payload(TEXTOID, -1, column);
	return true;
}

static void
add_column(GjPlan *plan, const FormData_pg_attribute *att)
{
	GjInput    *input = &plan->inputs[0];
	int			i = input->ncolumns++;

	input->mirror->text[i] = describe(att, &input->columns[i]);
	input->mirror->columns[i] = gj_remote_column(input->relid, att->attnum);
	plan->outputs[plan->noutputs++] = (GjOutput) {
		.input = 0, .column = i
	};
}

static bool
is_read(const FormData_pg_attribute *att, const Bitmapset *attnums)
{
	return !att->attisdropped &&
		(bms_is_member(att->attnum - FirstLowInvalidHeapAttributeNumber, attnums) ||
		 bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, attnums));
}

/* Where only the number of rows matters: the column that has the fewest bytes. */
static const FormData_pg_attribute *
smallest(TupleDesc desc)
{
	const FormData_pg_attribute *best = NULL;
	int64		best_bytes = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		const FormData_pg_attribute *att = TupleDescAttr(desc, i);
		GjColumn	column = {0};
		int64		bytes;

		if (att->attisdropped)
			continue;

		/* without an encoder, the table could not be read from its mirror */
		bytes = (describe(att, &column) ? PG_INT32_MAX : 0) + gj_column_bytes(&column);
		if (best != NULL && bytes >= best_bytes)
			continue;
		best = att;
		best_bytes = bytes;
	}
	return best;
}

GjPlan *
gj_plan_of_columns(Oid relid, Oid userid, const Bitmapset *attnums)
{
	Relation	relation = relation_open(relid, NoLock);	/* locked for the query */
	TupleDesc	desc = RelationGetDescr(relation);
	GjPlan	   *plan = palloc0(sizeof(GjPlan));
	GjInput    *input = palloc0(sizeof(GjInput));
	GjMirror   *mirror = palloc0(sizeof(GjMirror));

	plan->ninputs = 1;
	plan->inputs = input;
	plan->order = palloc0(sizeof(int));
	plan->outputs = palloc0(Max(1, desc->natts) * sizeof(GjOutput));
	input->feed = GJ_FEED_MIRROR;
	input->relid = relid;
	input->passing = 1;
	input->columns = palloc0(Max(1, desc->natts) * sizeof(GjColumn));
	input->mirror = mirror;
	mirror->serverid = GetForeignServerIdByRelId(relid);
	mirror->userid = userid;
	mirror->table = gj_remote_name(relid, &mirror->schema);
	mirror->columns = palloc0(Max(1, desc->natts) * sizeof(char *));
	mirror->text = palloc0(Max(1, desc->natts) * sizeof(bool));
	for (int i = 0; i < desc->natts; i++)
		if (is_read(TupleDescAttr(desc, i), attnums))
			add_column(plan, TupleDescAttr(desc, i));
	if (plan->noutputs == 0)
	{
		const FormData_pg_attribute *att = smallest(desc);

		if (att == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("foreign table \"%s\" has no columns", RelationGetRelationName(relation))));
		add_column(plan, att);
	}
	relation_close(relation, NoLock);
	return plan;
}

void
gj_name_hidden_columns(GjInput *input)
{
	GjMirror   *mirror = input->mirror;
	int			n = input->ncolumns + input->nhidden;

	mirror->columns = repalloc(mirror->columns, Max(1, n) * sizeof(char *));
	mirror->text = repalloc(mirror->text, Max(1, n) * sizeof(bool));
	for (int i = input->ncolumns; i < n; i++)
	{
		mirror->columns[i] = gj_remote_column(input->relid, input->columns[i].attnum);
		mirror->text[i] = false;
	}
}
