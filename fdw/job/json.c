/*
 * job/json.c - writes the member "static" of the job, docs/internals/job.md.
 *
 * It is written when a job is opened, not when it is planned, because it takes
 * as long as the rest of planning the node.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/json.h"
#include "utils/lsyscache.h"

#include "job/job.h"

/*
 * Names are for display only: text that is not UTF-8 is replaced, never an
 * error.
 */
static char *
to_utf8(char *name)
{
	if (GetDatabaseEncoding() != PG_UTF8)
		for (char *c = name; *c != '\0'; c++)
			if (IS_HIGHBIT_SET(*c))
				*c = '?';
	return name;
}

char *
gj_table_name(Oid relid)
{
	const char *schema = get_namespace_name(get_rel_namespace(relid));
	const char *name = get_rel_name(relid);

	return to_utf8(psprintf("%s.%s", schema ? schema : "?", name ? name : "?"));
}

static void
append_name(StringInfo json, const GjInput *input)
{
	escape_json(json, input->name != NULL ? to_utf8(pstrdup(input->name)) :
				gj_table_name(input->relid));
}

/* Names of another server are looked up there. */
static void
append_remote_name(StringInfo json, const char *name)
{
	char	   *utf8 = pg_server_to_any(name, strlen(name), PG_UTF8);

	escape_json(json, utf8);
	if (utf8 != name)
		pfree(utf8);
}

static void
append_column(StringInfo json, const GjColumn *c, bool has_condition)
{
	appendStringInfo(json, "{\"attnum\":%d,\"type\":%u,\"typmod\":%d,\"collation\":%u,"
					 "\"role\":\"%s\",\"encoding\":\"%s\",\"width\":%d,\"align\":%d",
					 c->computed != NULL ? 0 : c->attnum, c->type, c->typmod, c->collation,
					 gj_is_key_form(c->form) ? "key" : "value",
					 c->encoding == GJ_ENC_FIXED ? "fixed" : "varlena",
					 c->width, c->align);
	if (has_condition)
		appendStringInfo(json, ",\"form\":%d,\"scale\":%d", c->form, c->scale);
	appendStringInfoChar(json, '}');
}

/* Bytes per row that is fed, in extents, not counting validity bitmaps. */
static int64
row_bytes(const GjInput *input)
{
	int64		bytes = 0;

	for (int i = 0; i < input->ncolumns; i++)
		bytes += gj_column_bytes(&input->columns[i]);
	return bytes;
}

static const char *
feed_word(GjFeed feed)
{
	switch (feed)
	{
		case GJ_FEED_PAGE:
			return "page";
		case GJ_FEED_MIRROR:
			return "mirror";
		case GJ_FEED_CHILD:
			break;
	}
	return "child";
}

static void
append_mirror(StringInfo json, const GjMirror *mirror, int ncolumns)
{
	bool		any = false;

	appendStringInfoString(json, ",\"mirror\":{\"schema\":");
	append_remote_name(json, mirror->schema);
	appendStringInfoString(json, ",\"table\":");
	append_remote_name(json, mirror->table);
	appendStringInfoString(json, ",\"columns\":[");
	for (int i = 0; i < ncolumns; i++)
	{
		if (i > 0)
			appendStringInfoChar(json, ',');
		append_remote_name(json, mirror->columns[i]);
	}
	appendStringInfoString(json, "],\"text\":[");
	for (int i = 0; i < ncolumns; i++)
	{
		if (!mirror->text[i])
			continue;
		appendStringInfo(json, "%s%d", any ? "," : "", i);
		any = true;
	}
	appendStringInfoString(json, "]}");
}

/* has_condition: with what the daemon needs to evaluate the table's conditions. */
static void
append_input(StringInfo json, const GjInput *input, bool has_condition)
{
	int			ncolumns = input->ncolumns + (has_condition ? input->nhidden : 0);

	appendStringInfo(json, "{\"database\":%u,\"relation\":%u,\"name\":",
					 MyDatabaseId, input->relid);
	append_name(json, input);
	appendStringInfo(json, ",\"feed\":\"%s\",\"rows\":%.0f,\"row_bytes\":" INT64_FORMAT ",\"columns\":[",
					 feed_word(input->feed), input->rows, row_bytes(input));
	for (int i = 0; i < ncolumns; i++)
	{
		GjColumn	column = input->columns[i];

		/* the other server may not have the domain */
		if (input->feed == GJ_FEED_MIRROR)
			column.type = getBaseTypeAndTypmod(column.type, &column.typmod);
		if (i > 0)
			appendStringInfoChar(json, ',');
		append_column(json, &column, has_condition);
	}
	appendStringInfoChar(json, ']');
	if (has_condition)
	{
		appendStringInfo(json, ",\"kept\":{\"hidden\":%d", input->nhidden);
		if (input->condition != NULL)
			appendStringInfo(json, ",\"condition\":%s", input->condition);
		appendStringInfoChar(json, '}');
	}
	if (input->feed == GJ_FEED_MIRROR)
		append_mirror(json, input->mirror, ncolumns);
	appendStringInfoChar(json, '}');
}

static void
append_reference(StringInfo json, const GjOutput *column)
{
	appendStringInfo(json, "{\"input\":%d,\"column\":%d}", column->input, column->column);
}

static const char *
class_word(GjKeyClass class)
{
	switch (class)
	{
		case GJ_CLASS_INT:
			return "int";
		case GJ_CLASS_BYTES:
			return "bytes";
		case GJ_CLASS_VARLENA:
			break;
	}
	return "varlena";
}

/* The daemon refuses a word that it does not know, and the native plan runs. */
static const char *
kind_word(JoinType kind)
{
	switch (kind)
	{
		case JOIN_INNER:
			return "inner";
		case JOIN_LEFT:
			return "left";
		case JOIN_FULL:
			return "full";
		case JOIN_SEMI:
			return "semi";
		case JOIN_ANTI:
			return "anti";
		default:
			return "unknown";
	}
}

static void
append_keys(StringInfo json, const GjJoin *join)
{
	for (int i = 0; i < join->nkeys; i++)
	{
		appendStringInfo(json, "%s{\"left\":", i > 0 ? "," : "");
		append_reference(json, &join->left[i]);
		appendStringInfoString(json, ",\"right\":");
		append_reference(json, &join->right[i]);
		appendStringInfo(json, ",\"class\":\"%s\"}", class_word(join->classes[i]));
	}
}

/* Begins a filter, whose child follows. */
static void
append_filter(StringInfo json, const char *predicate)
{
	appendStringInfo(json, "{\"op\":\"filter\",\"predicate\":%s,\"child\":", predicate);
}

/*
 * Writes the subtree over inputs first to first + n - 1.  Its n - 1 joins end
 * before position end of plan->joins, and its root join is the last of them.
 */
static void
append_tree(StringInfo json, const GjPlan *plan, int first, int n, int end)
{
	const GjJoin *join;
	int			left;

	if (n == 1)
	{
		appendStringInfo(json, "{\"op\":\"scan\",\"input\":%d}", first);
		return;
	}
	join = &plan->joins[end - 1];
	left = join->left_inputs;
	if (join->filter != NULL)
		append_filter(json, join->filter);
	appendStringInfo(json, "{\"op\":\"join\",\"kind\":\"%s\",\"rows\":%.0f,\"left\":",
					 kind_word(join->kind), join->rows);
	append_tree(json, plan, first, left, end - (n - left));
	appendStringInfoString(json, ",\"right\":");
	append_tree(json, plan, first + left, n - left, end - 1);
	appendStringInfoString(json, ",\"keys\":[");
	append_keys(json, join);
	appendStringInfoChar(json, ']');
	if (join->residual != NULL)
		appendStringInfo(json, ",\"residual\":%s", join->residual);
	appendStringInfoString(json, join->filter != NULL ? "}}" : "}");
}

/*
 * Writes the groups by all keys, one copy for each grouping set.  The copy of a
 * set without keys is also needed of no groups.
 */
static void
append_expanded(StringInfo json, const GjPlan *plan)
{
	const GjAggregate *aggregate = plan->aggregate;
	int			sets = plan->ninputs - 1;

	if (aggregate->set_filter != NULL)
		append_filter(json, aggregate->set_filter);
	appendStringInfo(json, "{\"op\":\"join\",\"kind\":\"%s\",\"rows\":%.0f,\"left\":",
					 aggregate->set_filter != NULL ? "right" : "inner",
					 aggregate->finest_groups * list_length(aggregate->sets));
	appendStringInfo(json, "{\"op\":\"aggregate\",\"id\":%d,\"rows\":%.0f,%s,\"child\":",
					 plan->ninputs, aggregate->finest_groups, aggregate->finest);
	append_tree(json, plan, 0, sets, plan->njoins);
	appendStringInfo(json, "},\"right\":{\"op\":\"scan\",\"input\":%d},\"keys\":[{\"left\":", sets);
	append_reference(json, &aggregate->finest_key);
	appendStringInfo(json, ",\"right\":{\"input\":%d,\"column\":0},\"class\":\"int\"}]}", sets);
	if (aggregate->set_filter != NULL)
		appendStringInfoChar(json, '}');
}

/* Writes the joins, and the aggregation above them if there is one. */
static void
append_root(StringInfo json, const GjPlan *plan)
{
	const GjAggregate *aggregate = plan->aggregate;

	if (aggregate == NULL)
	{
		append_tree(json, plan, 0, plan->ninputs, plan->njoins);
		return;
	}
	if (aggregate->filter != NULL)
		append_filter(json, aggregate->filter);
	appendStringInfo(json, "{\"op\":\"aggregate\",\"id\":%d,\"rows\":%.0f,%s,\"child\":",
					 plan->ninputs + (aggregate->finest != NULL), aggregate->groups, aggregate->members);
	if (aggregate->finest != NULL)
		append_expanded(json, plan);
	else
		append_tree(json, plan, 0, plan->ninputs, plan->njoins);
	appendStringInfoString(json, aggregate->filter != NULL ? "}}" : "}");
}

static void
append_filters(StringInfo json, const GjPlan *plan)
{
	for (int i = 0; i < plan->nfilters; i++)
	{
		appendStringInfo(json, "%s{\"source\":", i > 0 ? "," : ",\"filters\":[");
		append_reference(json, &plan->filters[i].source);
		appendStringInfoString(json, ",\"target\":");
		append_reference(json, &plan->filters[i].target);
		appendStringInfoChar(json, '}');
	}
	if (plan->nfilters > 0)
		appendStringInfoChar(json, ']');
}

char *
gj_static_json(const GjPlan *plan)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"inputs\":[");
	for (int i = 0; i < plan->ninputs; i++)
	{
		if (i > 0)
			appendStringInfoChar(&json, ',');
		append_input(&json, &plan->inputs[i],
					 gj_may_keep(plan, i) || plan->inputs[i].feed == GJ_FEED_MIRROR);
	}
	appendStringInfoChar(&json, ']');
	append_filters(&json, plan);
	appendStringInfoString(&json, ",\"root\":{\"op\":\"project\",\"columns\":[");
	for (int i = 0; i < plan->noutputs; i++)
	{
		if (i > 0)
			appendStringInfoChar(&json, ',');
		append_reference(&json, &plan->outputs[i]);
	}
	appendStringInfoString(&json, "],\"child\":");
	append_root(&json, plan);
	appendStringInfoString(&json, "}}");
	return json.data;
}
