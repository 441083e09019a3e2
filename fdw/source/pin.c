/*
 * source/pin.c - the positions that statements and transactions see of foreign servers.
 *
 * A pin is found by the memory context with which it ends: that of the statement, or
 * of the transaction at REPEATABLE READ and above.  There, a statement that reads
 * other tables than those before gets one more pin at the same position.
 */
#include "postgres.h"

#include "access/xact.h"
#include "foreign/foreign.h"
#include "lib/ilist.h"
#include "utils/memutils.h"

#include "source/request.h"
#include "source/source.h"

typedef struct Held
{
	GjPin		pin;			/* first: callers have its address */
	Oid			serverid;
	Oid			mapping;
	bool		shown;			/* for EXPLAIN: there is no pin in the daemon */
	MemoryContext owner;
	List	   *tables;			/* of GjReadTable */
	List	   *remotes;		/* of GjRemote: the same tables */
	uint64		connection;		/* on which it was made */
	dlist_node	node;
	MemoryContextCallback callback;
} Held;

/* Those of this process. */
static dlist_head all = DLIST_STATIC_INIT(all);

static bool
has_others(uint64 connection)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all)
	{
		Held	   *held = dlist_container(Held, node, iter.cur);

		if (held->connection == connection && held->pin.token[0] != '\0')
			return true;
	}
	return false;
}

/* The statement or the transaction has ended. */
static void
release(void *arg)
{
	Held	   *held = arg;

	dlist_delete(&held->node);
	if (held->pin.token[0] != '\0' && held->connection == gj_source_connections())
		gj_source_unpin(held->pin.token, has_others(held->connection));
}

static Held *
new_held(MemoryContext owner, Oid serverid, Oid mapping, List *tables)
{
	Held	   *held = palloc0(sizeof(Held));

	held->serverid = serverid;
	held->mapping = mapping;
	held->owner = owner;
	held->tables = tables;
	held->remotes = gj_remotes_of(tables);
	held->callback.func = release;
	held->callback.arg = held;
	dlist_push_head(&all, &held->node);
	MemoryContextRegisterResetCallback(owner, &held->callback);
	return held;
}

static bool
has_all(const Held *held, List *tables)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		const GjReadTable *wanted = lfirst(lc);
		bool		found = false;
		ListCell   *other;

		foreach(other, held->tables)
		{
			const GjReadTable *table = lfirst(other);

			found = found || (table->relid == wanted->relid && bms_is_subset(wanted->columns, table->columns));
		}
		if (!found)
			return false;
	}
	return true;
}

/* A pin with all the tables, or with any if they are NIL. */
static Held *
find(MemoryContext owner, Oid serverid, Oid mapping, bool shown, List *tables)
{
	dlist_iter	iter;

	dlist_foreach(iter, &all)
	{
		Held	   *held = dlist_container(Held, node, iter.cur);

		if (held->owner == owner && held->serverid == serverid && held->mapping == mapping &&
			held->shown == shown && (shown || held->pin.token[0] != '\0') && has_all(held, tables))
			return held;
	}
	return NULL;
}

static void
check_not_lost(const Held *held)
{
	if (held->connection == gj_source_connections())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("the position of foreign server \"%s\" is lost",
					GetForeignServer(held->serverid)->servername),
			 errdetail("The connection to gpujoind that held it has ended."),
			 IsolationUsesXactSnapshot() ? errhint("Run the transaction again.") : errhint("Run the statement again.")));
}

/* ---- the answer ---- */

static void
copy_text(char *to, Size size, const char *from, const char *characters)
{
	Size		length = strlen(from);

	if (length >= size || strspn(from, characters) != length)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("gpujoind sent a position that is not valid")));
	strcpy(to, from);
}

static void
read_answer(Held *held, const Jsonb *answer)
{
	JsonbContainer *root = (JsonbContainer *) &answer->root;
	JsonbContainer *array;
	GjPin	   *pin = &held->pin;
	ListCell   *lc;

	/* first of all, so that it is released if anything else is wrong */
	if (!held->shown)
		copy_text(pin->token, sizeof(pin->token), gj_answer_text(root, "token"), "0123456789abcdef");
	copy_text(pin->position, sizeof(pin->position), gj_answer_text(root, "position"), "0123456789ABCDEF/");
	pin->waited_us = gj_answer_count(root, "waited_us");
	pin->age_us = gj_answer_count(root, "age_us");
	array = gj_answer_array(root, "tables");
	if ((int) JsonContainerSize(array) != list_length(held->remotes))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("gpujoind sent %u tables instead of %d", JsonContainerSize(array), list_length(held->remotes))));
	pin->states = palloc0(Max(list_length(held->tables), 1) * sizeof(GjSourceTable));
	foreach(lc, held->remotes)
	{
		JsonbContainer *table = gj_answer_element(array, foreach_current_index(lc));
		GjSourceTable state = {
			.direct = gj_answer_bool(table, "direct"),
			.reason = gj_answer_text(table, "reason"),
			.hint = gj_answer_text(table, "hint"),
			.rows = gj_answer_number(table, "rows")
		};
		ListCell   *other;

		foreach(other, ((GjRemote *) lfirst(lc))->tables)
		{
			pin->states[list_length(pin->tables)] = state;
			pin->tables = lappend_oid(pin->tables, ((GjReadTable *) lfirst(other))->relid);
		}
	}
}

/* Asks for a pin.  It is at the position of the first one, if there is one. */
static Held *
request(MemoryContext owner, EState *estate, Oid serverid, Oid userid, Oid mapping, const Held *first)
{
	MemoryContext before = MemoryContextSwitchTo(owner);
	Held	   *held = new_held(owner, serverid, mapping, gj_tables_read(estate, serverid, mapping));
	const Jsonb *answer;

	MemoryContextSwitchTo(before);
	answer = gj_source_request(serverid, userid, GJ_SOURCE_PIN, gj_pin_members(held->remotes, serverid, mapping, false, first != NULL ? first->pin.token : NULL));
	MemoryContextSwitchTo(owner);
	held->connection = gj_source_connections();
	read_answer(held, answer);
	MemoryContextSwitchTo(before);
	if (first != NULL && strcmp(held->pin.position, first->pin.position) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("tables of foreign server \"%s\" cannot be read at the transaction's position",
						GetForeignServer(serverid)->servername)));
	gj_remember_position(serverid, mapping, held->pin.position);
	return held;
}

const GjPin *
gj_pin(EState *estate, Oid serverid, Oid userid)
{
	bool		whole_transaction = IsolationUsesXactSnapshot();
	MemoryContext owner;
	MemoryContext before;
	Oid			mapping;
	Held	   *held;

	/* a row that is checked again after a lock is of the same statement */
	while (estate->es_epq_active != NULL)
		estate = estate->es_epq_active->parentestate;
	owner = whole_transaction ? TopTransactionContext : estate->es_query_cxt;
	before = MemoryContextSwitchTo(estate->es_query_cxt);
	mapping = GetUserMapping(userid, serverid)->umid;

	/* a statement's pin has all its tables; earlier pins of a transaction need not */
	held = find(owner, serverid, mapping, false,
				whole_transaction ? gj_tables_read(estate, serverid, mapping) : NIL);
	if (held == NULL)
	{
		const Held *first = find(owner, serverid, mapping, false, NIL);

		if (first != NULL)
			check_not_lost(first);
		held = request(owner, estate, serverid, userid, mapping, first);
	}
	check_not_lost(held);
	MemoryContextSwitchTo(before);
	return &held->pin;
}

const GjSourceTable *
gj_pin_table(const GjPin *pin, Oid relid)
{
	ListCell   *lc;

	foreach(lc, pin->tables)
		if (lfirst_oid(lc) == relid)
			return &pin->states[foreach_current_index(lc)];
	elog(ERROR, "table %u is not one of those that the statement reads", relid);
}

const GjPin *
gj_pin_shown(EState *estate, Oid serverid, Oid userid, const char **reason)
{
	MemoryContext owner = estate->es_query_cxt;
	MemoryContext before = MemoryContextSwitchTo(owner);
	Oid			mapping = gj_mapping_of(serverid, userid);
	Held	   *held = find(owner, serverid, mapping, true, NIL);

	*reason = NULL;
	if (held == NULL)
	{
		Held	   *new = palloc0(sizeof(Held));
		Jsonb	   *answer;

		new->shown = true;
		new->serverid = serverid;
		new->mapping = mapping;
		new->tables = gj_tables_read(estate, serverid, mapping);
		new->remotes = gj_remotes_of(new->tables);
		answer = gj_source_try(serverid, userid, GJ_SOURCE_PIN, gj_pin_members(new->remotes, serverid, mapping, true, NULL), reason);
		if (answer != NULL)
		{
			held = new_held(owner, serverid, mapping, new->tables);
			held->shown = true;
			read_answer(held, answer);
		}
	}
	MemoryContextSwitchTo(before);
	return held != NULL ? &held->pin : NULL;
}
