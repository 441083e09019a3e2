/*
 * foreign/objects.c - tells the daemon what was dropped: a server or a user mapping, whose
 * session would hold a slot at the source for ever; a foreign table, whose mirror nobody
 * reads any more; a database with all of these.
 *
 * That is known when the command runs, and told after the commit.  A mapping's options
 * are told, too: a daemon that was started meanwhile has no session, and must connect to
 * remove the slot.  Options that are altered need no word: the next statement has others,
 * and the daemon ends the session that had the old ones if it made its connections with
 * them.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "mb/pg_wchar.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "foreign/wrapper.h"
#include "source/request.h"
#include "source/source.h"

/* What is to be told, unless the subtransaction is rolled back. */
typedef struct Ending
{
	char	   *body;			/* of the request; may have a password */
	char	   *server;			/* its name; NULL: it has no permanent slot */
	char	   *slot;			/* that remains at the source if nobody drops it */
	int			nesting;		/* of the subtransaction */
} Ending;

static object_access_hook_type previous_hook;
static List *endings;			/* of Ending, in TopTransactionContext */

static Ending *
add_ending(const char *body)
{
	MemoryContext before = MemoryContextSwitchTo(TopTransactionContext);
	Ending	   *ending = palloc0(sizeof(Ending));

	ending->body = pg_server_to_any(body, strlen(body), PG_UTF8);
	if (ending->body == body)
		ending->body = pstrdup(body);
	ending->nesting = GetCurrentTransactionNestLevel();
	endings = lappend(endings, ending);
	MemoryContextSwitchTo(before);
	return ending;
}

static void
note_database(Oid database)
{
	add_ending(psprintf("{\"database\": %u}", database));
}

static void
note_server(Oid serverid)
{
	if (gj_is_ours(serverid))
		add_ending(psprintf("{\"server\": %u}", serverid));
}

static void
note_mapping(Oid object)
{
	HeapTuple	tuple = SearchSysCache1(USERMAPPINGOID, ObjectIdGetDatum(object));
	Oid			serverid;
	Oid			userid;
	StringInfoData json;
	Ending	   *ending;
	const char *slot;

	if (!HeapTupleIsValid(tuple))
		return;
	serverid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umserver;
	userid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umuser;
	ReleaseSysCache(tuple);
	if (!gj_is_ours(serverid))
		return;
	initStringInfo(&json);
	appendStringInfo(&json, "{\"server\": %u, \"mapping\": %u", serverid, object);
	if (gj_why_not_asked(serverid, userid) == NULL)
	{
		appendStringInfoString(&json, ", ");
		gj_append_source(&json, serverid, userid);
	}
	appendStringInfoChar(&json, '}');
	ending = add_ending(json.data);
	explicit_bzero(json.data, json.len);
	slot = gj_slot_of(serverid, userid);
	if (slot[0] != '\0')
	{
		ending->server = MemoryContextStrdup(TopTransactionContext, GetForeignServer(serverid)->servername);
		ending->slot = MemoryContextStrdup(TopTransactionContext, slot);
	}
}

/* Does a foreign table lead to this table of the source?  It may be dropped at this moment. */
static bool
leads_to(HeapTuple table, TupleDesc desc, const char *schema, const char *name)
{
	Oid			relid = ((Form_pg_foreign_table) GETSTRUCT(table))->ftrelid;
	bool		isnull;
	Datum		options = heap_getattr(table, Anum_pg_foreign_table_ftoptions, desc, &isnull);
	char	   *its_schema;
	const char *its_name = gj_remote_name_by(relid, isnull ? NIL : untransformRelOptions(options), &its_schema);

	return its_name != NULL && its_schema != NULL &&
		strcmp(its_name, name) == 0 && strcmp(its_schema, schema) == 0;
}

/* Is there another foreign table that leads to the same table of the source? */
static bool
has_twin(Oid relid, Oid serverid, const char *schema, const char *name)
{
	Relation	catalog = table_open(ForeignTableRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		found = false;

	ScanKeyInit(&key, Anum_pg_foreign_table_ftserver, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(serverid));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	while (!found && HeapTupleIsValid(tuple = systable_getnext(scan)))
		found = ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftrelid != relid &&
			leads_to(tuple, RelationGetDescr(catalog), schema, name);
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

static void
note_table(Oid relid)
{
	Oid			serverid;
	char	   *schema;
	const char *name;
	StringInfoData json;

	if (!gj_is_mirrorable(relid))
		return;
	serverid = GetForeignServerIdByRelId(relid);
	name = gj_remote_name(relid, &schema);
	if (has_twin(relid, serverid, schema, name))
		return;
	initStringInfo(&json);
	appendStringInfo(&json, "{\"server\": %u, \"tables\": [{", serverid);
	gj_append_names(&json, relid);
	appendStringInfoString(&json, "}]}");
	add_ending(json.data);
}

static void
object_access(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook != NULL)
		previous_hook(access, class, object, sub, arg);
	if (access != OAT_DROP || sub != 0)
		return;
	if (class == ForeignServerRelationId)
		note_server(object);
	else if (class == UserMappingRelationId)
		note_mapping(object);
	else if (class == RelationRelationId)
		note_table(object);
	else if (class == DatabaseRelationId)
		note_database(object);
}

/* Tells the daemon.  Once it does not answer, nothing more is tried. */
static void
tell(void)
{
	bool		told = true;
	ListCell   *lc;

	foreach(lc, endings)
	{
		const Ending *ending = lfirst(lc);

		told = told && gj_source_close(ending->body);
		if (!told && ending->slot != NULL)
			ereport(WARNING,
					(errmsg("gpujoind could not be told that a user mapping of foreign server \"%s\" was dropped", ending->server),
					 errdetail("Its replication slot \"%s\" may remain at the source, and hold back WAL there.", ending->slot),
					 errhint("Execute SELECT pg_drop_replication_slot('%s') at the source.", ending->slot)));
	}
}

static void
at_end(XactEvent event, void *arg)
{
	ListCell   *lc;

	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_PREPARE && event != XACT_EVENT_ABORT)
		return;
	if (event != XACT_EVENT_ABORT)
		tell();
	foreach(lc, endings)
	{
		const Ending *ending = lfirst(lc);

		explicit_bzero(ending->body, strlen(ending->body));
	}
	endings = NIL;				/* the memory ends with the transaction */
}

static void
at_end_of_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	int			nesting = GetCurrentTransactionNestLevel();
	ListCell   *lc;

	if (event != SUBXACT_EVENT_COMMIT_SUB && event != SUBXACT_EVENT_ABORT_SUB)
		return;
	foreach(lc, endings)
	{
		Ending	   *ending = lfirst(lc);

		if (ending->nesting < nesting)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			ending->nesting = nesting - 1;
		else
		{
			explicit_bzero(ending->body, strlen(ending->body));
			endings = foreach_delete_current(endings, lc);
		}
	}
}

void
gj_install_object_hook(void)
{
	previous_hook = object_access_hook;
	object_access_hook = object_access;
	RegisterXactCallback(at_end, NULL);
	RegisterSubXactCallback(at_end_of_subtransaction, NULL);
}
