/*
 * source/pin_request.c - the request for the position of a statement: its tables, and
 * what the options of tables and servers say of them.
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/guc.h"

#include "options.h"
#include "source/request.h"
#include "source/source.h"

/* How long a statement waits until the mirrors are fresh enough, unless the server's option says else. */
#define DEFAULT_TIMEOUT_MS 2000

/* Longer times are not told the daemon. */
#define MOST_MS (24 * 60 * 60 * 1000)

List *
gj_remotes_of(const List *tables)
{
	List	   *remotes = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		GjReadTable *table = lfirst(lc);
		GjRemote   *remote = NULL;
		char	   *schema;
		char	   *name = gj_remote_name(table->relid, &schema);
		ListCell   *other;

		foreach(other, remotes)
		{
			GjRemote   *r = lfirst(other);

			if (strcmp(r->schema, schema) == 0 && strcmp(r->name, name) == 0)
				remote = r;
		}
		if (remote == NULL)
		{
			remote = palloc0(sizeof(GjRemote));
			remote->schema = schema;
			remote->name = name;
			remotes = lappend(remotes, remote);
		}
		remote->tables = lappend(remote->tables, table);
	}
	return remotes;
}

static int
freshness_of(const ForeignServer *server, Oid relid)
{
	const char *value = gj_freshness;
	int			ms;

	if (value == NULL || value[0] == '\0')
		value = gj_option(GetForeignTable(relid)->options, "freshness");
	if (value == NULL)
		value = gj_option(server->options, "freshness");
	if (value == NULL || !gj_parse_freshness(value, &ms))
		return GJ_FRESHNESS_LATEST;
	return ms;
}

/* What the options of tables and their server say of a request. */
typedef struct Wanted
{
	int			freshness;		/* ms, or GJ_FRESHNESS_LATEST */
	bool		mirror;			/* any table */
} Wanted;

/* Appends a table with the columns that are read of it. */
static void
append_remote(StringInfo json, const GjRemote *remote, const ForeignServer *server, Wanted *wanted)
{
	bool		mirror = false;
	ListCell   *lc;

	appendStringInfoString(json, "{\"columns\": [");
	foreach(lc, remote->tables)
	{
		const GjReadTable *table = lfirst(lc);

		gj_append_columns(json, table->relid, table->columns);
		wanted->freshness = Min(wanted->freshness, freshness_of(server, table->relid));
		mirror = mirror || gj_bool_option(GetForeignTable(table->relid)->options, "mirror",
										  gj_bool_option(server->options, "mirror", true));
	}
	appendStringInfo(json, "], \"mirror\": %s, ", mirror ? "true" : "false");
	gj_append_names(json, ((GjReadTable *) linitial(remote->tables))->relid);
	appendStringInfoChar(json, '}');
	wanted->mirror = wanted->mirror || mirror;
}

char *
gj_pin_members(const List *remotes, Oid serverid, Oid mapping, bool shown, const char *token)
{
	const ForeignServer *server = GetForeignServer(serverid);
	const char *option = gj_option(server->options, "freshness_timeout");
	const char *before = gj_last_position(serverid, mapping);
	int			timeout = DEFAULT_TIMEOUT_MS;
	Wanted		wanted = {.freshness = MOST_MS};
	StringInfoData json;
	ListCell   *lc;

	if (option != NULL && !parse_int(option, &timeout, GUC_UNIT_MS, NULL))
		elog(ERROR, "option freshness_timeout of foreign server \"%s\" is not valid", server->servername);
	initStringInfo(&json);
	appendStringInfoString(&json, "\"tables\": [");
	foreach(lc, remotes)
	{
		if (lc != list_head(remotes))
			appendStringInfoString(&json, ", ");
		append_remote(&json, lfirst(lc), server, &wanted);
	}
	appendStringInfo(&json, "], \"freshness_ms\": %d, \"timeout_ms\": %d, \"mix\": %s, \"mirror\": %s, \"show\": %s",
					 wanted.freshness, Min(timeout, MOST_MS),
					 gj_bool_option(server->options, "mix", false) ? "true" : "false",
					 wanted.mirror ? "true" : "false", shown ? "true" : "false");
	if (token != NULL)
		appendStringInfo(&json, ", \"token\": \"%s\"", token);
	else if (before != NULL)
		appendStringInfo(&json, ", \"not_before\": \"%s\"", before);
	return json.data;
}
