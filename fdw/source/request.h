/*
 * source/request.h - requests on foreign servers: the connection on which they are
 * sent, their JSON, and what is read of the answers.
 */
#ifndef SOURCE_REQUEST_H
#define SOURCE_REQUEST_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "utils/jsonb.h"

#include "../shm/layout.h"

/* ---- source/connection.c ---- */

/*
 * Connections of this process so far.  What the daemon holds for a connection ends
 * with it, so that what was got from an earlier one is lost.
 */
extern uint64 gj_source_connections(void);

/*
 * Sends a request and waits for the answer.  NULL, with the reason, if there is none;
 * reached says whether the daemon was there.  The request, which may have a password,
 * is overwritten.
 */
extern Jsonb *gj_source_ask(enum gj_source_kind kind, char *json, bool *reached, const char **reason);

/*
 * Ends a pin, without an error and without a wait.  others: this connection has
 * more of them.
 */
extern void gj_source_unpin(const char *token, bool others);

/* ---- source/request.c ---- */

/* gj_source_request() without an error of the daemon: NULL, with the reason, if there is one. */
extern Jsonb *gj_source_try(Oid serverid, Oid userid, enum gj_source_kind kind, const char *members,
							const char **reason);

/* ---- source/session.c: what a session remembers of sources ---- */

/* The last position that the session has got of a source; NULL: none. */
extern const char *gj_last_position(Oid serverid, Oid mapping);
extern void gj_remember_position(Oid serverid, Oid mapping, const char *position);

/* ---- source/describe.c: objects in requests ---- */

/* The user mapping of a server that applies to a user, or InvalidOid. */
extern Oid	gj_mapping_of(Oid serverid, Oid userid);

/* Why the user may not use the server; NULL: he may. */
extern const char *gj_why_not_asked(Oid serverid, Oid userid);

/* The permanent slot of the mapping of a server that applies to a user; empty: none. */
extern const char *gj_slot_of(Oid serverid, Oid userid);

/* Appends the member "source", and raises an error if the user may not use the server. */
extern void gj_append_source(StringInfo json, Oid serverid, Oid userid);

/* The user as which a statement reads a table: checkAsUser, or the current one. */
static inline Oid
gj_user_or_current(Oid user)
{
	return OidIsValid(user) ? user : GetUserId();
}

/* Appends the members "schema" and "table". */
extern void gj_append_names(StringInfo json, Oid relid);

/* Appends the columns of a table that have these numbers to an array. */
extern void gj_append_columns(StringInfo json, Oid relid, const Bitmapset *columns);

/* ---- source/columns.c ---- */

/* A table that a statement reads. */
typedef struct GjReadTable
{
	Oid			relid;
	Bitmapset  *columns;		/* attribute numbers */
} GjReadTable;

/* The tables of a server that a statement reads by this mapping, each once. */
extern List *gj_tables_read(EState *estate, Oid serverid, Oid mapping);

/* All columns of a table. */
extern Bitmapset *gj_all_columns(Oid relid);

/* ---- source/pin_request.c ---- */

/* A table at the source, and the foreign tables that are it. */
typedef struct GjRemote
{
	char	   *schema;
	char	   *name;
	List	   *tables;			/* of GjReadTable */
} GjRemote;

/* The tables at the source of a list of GjReadTable, each once. */
extern List *gj_remotes_of(const List *tables);

/*
 * The members of PIN beside "source".  token is that of a pin at whose position the new
 * one is to be, or NULL.
 */
extern char *gj_pin_members(const List *remotes, Oid serverid, Oid mapping, bool shown, const char *token);

/* ---- source/answer.c ---- */

/* Raises the error that an answer, or an element of one, has, if it has one. */
extern void gj_raise_answer(JsonbContainer *answer, Oid serverid);

/* If an answer is an error, its message, with the detail; else NULL. */
extern char *gj_answer_failure(const Jsonb *answer);

/* A text of the daemon as PostgreSQL writes details and hints; a command is left as it is. */
extern char *gj_as_sentence(const char *text);

#endif							/* SOURCE_REQUEST_H */
