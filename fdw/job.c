/*
 * job.c - writes the "static" member of the job, docs/job.md.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "job.h"

/* Names are for people: what is not UTF-8 is replaced, never an error. */
static void
append_name(StringInfo json, Oid relid)
{
	const char *schema = get_namespace_name(get_rel_namespace(relid));
	char	   *name = psprintf("%s.%s", schema ? schema : "?", get_rel_name(relid));

	if (GetDatabaseEncoding() != PG_UTF8)
		for (char *c = name; *c != '\0'; c++)
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
	escape_json(json, name);
}

static void
append_column(StringInfo json, const GjColumn *c)
{
	bool		value = c->form == GJ_FORM_VALUE || c->form == GJ_FORM_DECIMAL;

	appendStringInfo(json, "{\"attnum\":%d,\"type\":%u,\"typmod\":%d,\"collation\":%u,"
					 "\"role\":\"%s\",\"encoding\":\"%s\",\"width\":%d,\"align\":%d}",
					 c->attnum, c->type, c->typmod, c->collation,
					 value ? "value" : "key",
					 c->encoding == GJ_ENC_FIXED ? "fixed" : "varlena",
					 c->width, c->align);
}

/* Bytes that a row takes in extents, but for validity bitmaps. */
static int64
row_bytes(const GjInput *input)
{
	int64		bytes = 0;

	for (int i = 0; i < input->ncolumns; i++)
		bytes += gj_column_bytes(&input->columns[i]);
	return bytes;
}

static void
append_input(StringInfo json, const GjInput *input)
{
	appendStringInfo(json, "{\"database\":%u,\"relation\":%u,\"name\":",
					 MyDatabaseId, input->relid);
	append_name(json, input->relid);
	appendStringInfo(json, ",\"feed\":\"%s\",\"rows\":%.0f,\"row_bytes\":" INT64_FORMAT ",\"columns\":[",
					 input->feed == GJ_FEED_PAGE ? "page" : "child",
					 input->rows, row_bytes(input));
	for (int i = 0; i < input->ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoChar(json, ',');
		append_column(json, &input->columns[i]);
	}
	appendStringInfoString(json, "]}");
}

static void
append_reference(StringInfo json, const GjOutput *column)
{
	appendStringInfo(json, "{\"input\":%d,\"column\":%d}", column->input, column->column);
}

static void
append_keys(StringInfo json, const GjJobJoin *job)
{
	for (int i = 0; i < job->join->nkeys; i++)
	{
		appendStringInfo(json, "%s{\"left\":", i > 0 ? "," : "");
		append_reference(json, &job->join->left[i]);
		appendStringInfoString(json, ",\"right\":");
		append_reference(json, &job->join->right[i]);
		appendStringInfo(json, ",\"class\":\"%s\"}", job->classes[i]);
	}
}

static int
count_joins(const GjCandidate *tree)
{
	return tree->ninputs - 1;
}

/* first_input, first_join: of those that lie in this tree. */
static void
append_tree(StringInfo json, const GjCandidate *tree, const GjJobJoin *joins,
			int first_input, int first_join)
{
	const GjJobJoin *job;

	if (tree->source != NULL)
	{
		appendStringInfo(json, "{\"op\":\"scan\",\"input\":%d}", first_input);
		return;
	}

	/* in post-order a tree's own join is its last */
	job = &joins[first_join + count_joins(tree) - 1];
	Assert(job->tree == tree);
	appendStringInfo(json, "{\"op\":\"join\",\"kind\":\"inner\",\"rows\":%.0f,\"left\":",
					 job->join->rows);
	append_tree(json, tree->left, joins, first_input, first_join);
	appendStringInfoString(json, ",\"right\":");
	append_tree(json, tree->right, joins, first_input + tree->left->ninputs,
				first_join + count_joins(tree->left));
	appendStringInfoString(json, ",\"keys\":[");
	append_keys(json, job);
	appendStringInfoString(json, "]}");
}

char *
gj_static_json(const GjPlan *plan, const GjCandidate *tree, const GjJobJoin *joins)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"inputs\":[");
	for (int i = 0; i < plan->ninputs; i++)
	{
		if (i > 0)
			appendStringInfoChar(&json, ',');
		append_input(&json, &plan->inputs[i]);
	}
	appendStringInfoString(&json, "],\"root\":{\"op\":\"project\",\"columns\":[");
	for (int i = 0; i < plan->noutputs; i++)
	{
		if (i > 0)
			appendStringInfoChar(&json, ',');
		append_reference(&json, &plan->outputs[i]);
	}
	appendStringInfoString(&json, "],\"child\":");
	append_tree(&json, tree, joins, 0, 0);
	appendStringInfoString(&json, "}}");
	return json.data;
}
