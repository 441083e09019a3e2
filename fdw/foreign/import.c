/*
 * foreign/import.c - IMPORT FOREIGN SCHEMA: the definitions of tables as the source has them.
 *
 * What the source says of types and collations becomes part of commands, so it is
 * parsed and looked up here first.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/varlena.h"

#include "compat.h"
#include "foreign/wrapper.h"
#include "source/source.h"

typedef struct Wanted
{
	bool		collate;
	bool		not_null;
} Wanted;

static Wanted
read_options(const List *options)
{
	Wanted		wanted = {.collate = true, .not_null = true};
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, "import_collate") == 0)
			wanted.collate = defGetBoolean(def);
		else if (strcmp(def->defname, "import_not_null") == 0)
			wanted.not_null = defGetBoolean(def);
		else
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
					 errmsg("invalid option \"%s\"", def->defname),
					 errhint("Valid options in this context are: import_collate, import_not_null")));
	}
	return wanted;
}

static void
append_names(StringInfo json, const List *tables)
{
	ListCell   *lc;

	appendStringInfoChar(json, '[');
	foreach(lc, tables)
	{
		if (lc != list_head(tables))
			appendStringInfoString(json, ", ");
		escape_json(json, lfirst_node(RangeVar, lc)->relname);
	}
	appendStringInfoChar(json, ']');
}

static char *
members_of(const ImportForeignSchemaStmt *stmt)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "\"schema\": ");
	escape_json(&json, stmt->remote_schema);
	appendStringInfoString(&json, ", \"only\": ");
	if (stmt->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)
		append_names(&json, stmt->table_list);
	else
		appendStringInfoString(&json, "null");
	appendStringInfoString(&json, ", \"except\": ");
	append_names(&json, stmt->list_type == FDW_IMPORT_SCHEMA_EXCEPT ? stmt->table_list : NIL);
	return json.data;
}

static void
append_type(StringInfo command, const char *type, const char *column, const char *table)
{
	if (!gj_is_type_name(type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type %s of column \"%s\" of table \"%s\" does not exist in this database", type, column, table),
				 errhint("Create the type, or import without the table by LIMIT TO or EXCEPT.")));
	appendStringInfo(command, " %s", type);
}

static void
append_collation(StringInfo command, const char *collation, const char *column, const char *table)
{
	List	   *names = textToQualifiedNameList(cstring_to_text(collation));

	if (!OidIsValid(get_collation_oid(names, true)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("collation %s of column \"%s\" of table \"%s\" does not exist in this database", collation, column, table),
				 errhint("Create the collation, or import with the option import_collate 'false'.")));
	appendStringInfo(command, " COLLATE %s", NameListToQuotedString(names));
}

static void
append_option(StringInfo command, const char *name, const char *value)
{
	appendStringInfo(command, "%s %s", name, quote_literal_cstr(value));
}

static void
append_column(StringInfo command, JsonbContainer *column, const char *table, Wanted wanted)
{
	const char *name = gj_answer_text(column, "name");
	const char *collation = gj_answer_text(column, "collation");

	appendStringInfoString(command, quote_identifier(name));
	append_type(command, gj_answer_text(column, "type"), name, table);
	appendStringInfoString(command, " OPTIONS (");
	append_option(command, "column_name", name);
	appendStringInfoChar(command, ')');
	if (wanted.collate && collation[0] != '\0')
		append_collation(command, collation, name, table);
	if (wanted.not_null && gj_answer_bool(column, "not_null"))
		appendStringInfoString(command, " NOT NULL");
}

static char *
command_of(JsonbContainer *table, const ImportForeignSchemaStmt *stmt, Wanted wanted)
{
	const char *name = gj_answer_text(table, "name");
	JsonbContainer *columns = gj_answer_array(table, "columns");
	StringInfoData command;

	initStringInfo(&command);
	appendStringInfo(&command, "CREATE FOREIGN TABLE %s (\n", quote_identifier(name));
	for (uint32 i = 0; i < JsonContainerSize(columns); i++)
	{
		appendStringInfoString(&command, i > 0 ? ",\n  " : "  ");
		append_column(&command, gj_answer_element(columns, i), name, wanted);
	}
	appendStringInfo(&command, "\n) SERVER %s\nOPTIONS (", quote_identifier(stmt->server_name));
	append_option(&command, "schema_name", stmt->remote_schema);
	appendStringInfoString(&command, ", ");
	append_option(&command, "table_name", name);
	appendStringInfoString(&command, ")");
	return command.data;
}

List *
gj_foreign_import(ImportForeignSchemaStmt *stmt, Oid serverid)
{
	Wanted		wanted = read_options(stmt->options);
	Jsonb	   *answer = gj_source_request(serverid, GetUserId(), GJ_SOURCE_IMPORT, members_of(stmt));
	JsonbContainer *tables = gj_answer_array(&answer->root, "tables");
	List	   *commands = NIL;

	for (uint32 i = 0; i < JsonContainerSize(tables); i++)
		commands = lappend(commands, command_of(gj_answer_element(tables, i), stmt, wanted));
	return commands;
}
