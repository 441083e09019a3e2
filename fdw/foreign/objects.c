/*
 * foreign/objects.c - tells the daemon when a server or a user mapping is dropped: its
 * session would hold a slot at the source for ever.
 *
 * That is known when the command runs, and told after the commit.  Options that are altered
 * need no word: the next statement has others, and the daemon ends the session that had the
 * old ones if it made its connections with them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "foreign/foreign.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "foreign/wrapper.h"
#include "source/source.h"

/* A session that is to end, unless its subtransaction is rolled back. */
typedef struct Ending
{
	Oid			serverid;
	Oid			mapping;		/* InvalidOid: all */
	int			nesting;		/* of the subtransaction */
} Ending;

static object_access_hook_type previous_hook;
static List *endings;			/* of Ending, in TopTransactionContext */

static void
note(Oid serverid, Oid mapping)
{
	MemoryContext before;
	Ending	   *ending;

	if (!gj_is_ours(serverid))
		return;
	before = MemoryContextSwitchTo(TopTransactionContext);
	ending = palloc(sizeof(Ending));
	ending->serverid = serverid;
	ending->mapping = mapping;
	ending->nesting = GetCurrentTransactionNestLevel();
	endings = lappend(endings, ending);
	MemoryContextSwitchTo(before);
}

static Oid
server_of_mapping(Oid mapping)
{
	HeapTuple	tuple = SearchSysCache1(USERMAPPINGOID, ObjectIdGetDatum(mapping));
	Oid			serverid = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		serverid = ((Form_pg_user_mapping) GETSTRUCT(tuple))->umserver;
		ReleaseSysCache(tuple);
	}
	return serverid;
}

static void
object_access(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_hook != NULL)
		previous_hook(access, class, object, sub, arg);
	if (access != OAT_DROP)
		return;
	if (class == ForeignServerRelationId)
		note(object, InvalidOid);
	else if (class == UserMappingRelationId)
		note(server_of_mapping(object), object);
}

static void
at_end(XactEvent event, void *arg)
{
	ListCell   *lc;

	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE)
		foreach(lc, endings)
		{
			const Ending *ending = lfirst(lc);

			if (!gj_source_close(ending->serverid, ending->mapping))
				break;
		}
	if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_PREPARE || event == XACT_EVENT_ABORT)
		endings = NIL;			/* the memory ends with the transaction */
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
			endings = foreach_delete_current(endings, lc);
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
