/*
 * source/names.c - which foreign tables are ours, and what the source calls them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "source/source.h"

/* The SQL script has this name, too. */
#define HANDLER "gpujoin_fdw_handler"

/*
 * A wrapper is ours if its handler is.  The handler's schema and owner do not
 * matter: only superusers make functions in C.
 */
static bool
is_our_handler(Oid handler)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(handler));
	bool		ours = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(tuple);
		bool		isnull;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		ours = proc->prolang == ClanguageId && !isnull &&
			strcmp(TextDatumGetCString(source), HANDLER) == 0;
		ReleaseSysCache(tuple);
	}
	return ours;
}

bool
gj_is_ours(Oid serverid)
{
	const ForeignServer *server = GetForeignServerExtended(serverid, FSV_MISSING_OK);
	const ForeignDataWrapper *wrapper = server != NULL ?
		GetForeignDataWrapperExtended(server->fdwid, FDW_MISSING_OK) : NULL;

	return wrapper != NULL && OidIsValid(wrapper->fdwhandler) && is_our_handler(wrapper->fdwhandler);
}

bool
gj_is_mirrorable(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE && gj_is_ours(GetForeignServerIdByRelId(relid));
}

const char *
gj_option(const List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, name) == 0)
			return defGetString(def);
	}
	return NULL;
}

bool
gj_bool_option(const List *options, const char *name, bool otherwise)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		if (strcmp(def->defname, name) == 0)
			return defGetBoolean(def);
	}
	return otherwise;
}

char *
gj_remote_name(Oid relid, char **schema)
{
	return gj_remote_name_by(relid, GetForeignTable(relid)->options, schema);
}

char *
gj_remote_name_by(Oid relid, const List *options, char **schema)
{
	const char *name = gj_option(options, "table_name");
	const char *namespace = gj_option(options, "schema_name");

	*schema = namespace != NULL ? pstrdup(namespace) : get_namespace_name(get_rel_namespace(relid));
	return name != NULL ? pstrdup(name) : get_rel_name(relid);
}

char *
gj_remote_column(Oid relid, AttrNumber attnum)
{
	const char *name = gj_option(GetForeignColumnOptions(relid, attnum), "column_name");

	return name != NULL ? pstrdup(name) : get_attname(relid, attnum, false);
}
