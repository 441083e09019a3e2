/*
 * source/source.h - foreign servers: names of their tables, and the daemon's
 * answers on them.
 *
 * The daemon has one session for each server and user mapping.  Everything here
 * raises the daemon's error, with its SQLSTATE, unless it says otherwise.
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/jsonb.h"

#include "../shm/layout.h"

/* ---- tables, as the source names them ---- */

/* The value of an option of a server, user mapping, table or column; NULL: it is not set. */
extern const char *gj_option(const List *options, const char *name);

/* The same of an option that is on or off. */
extern bool gj_bool_option(const List *options, const char *name, bool otherwise);

/* Is it a server of gpujoin_fdw? */
extern bool gj_is_ours(Oid serverid);

/* Is it a foreign table of such a server? */
extern bool gj_is_mirrorable(Oid relid);

/* The name of a foreign table at its source, and of the schema. */
extern char *gj_remote_name(Oid relid, char **schema);

/* The same by the table's options.  NULL where the table, or its schema, does not exist. */
extern char *gj_remote_name_by(Oid relid, const List *options, char **schema);

/* The name of a column at the source. */
extern char *gj_remote_column(Oid relid, AttrNumber attnum);

/* ---- one position of a server ---- */

/* How the daemon reads a table at a pin's position. */
typedef struct GjSourceTable
{
	bool		direct;			/* from the source, not from a mirror */
	char	   *reason;			/* direct: why */
	char	   *hint;			/* what to do about that; empty: nothing */
	double		rows;			/* of the table; -1: unknown */
} GjSourceTable;

/*
 * A position of a server's commit order.  The daemon keeps what is visible there
 * until the pin ends.  It belongs to the process that made it.
 */
typedef struct GjPin
{
	char		token[33];		/* empty: only shown */
	char		position[24];
	uint64		waited_us;		/* until the mirrors had reached the position */
	uint64		age_us;			/* of the position */
	List	   *tables;			/* of Oid */
	GjSourceTable *states;		/* of each of them */
} GjPin;

/*
 * The pin of a statement for all tables of a server that it reads as userid, with
 * the columns that it reads.  It ends with the statement.  At REPEATABLE READ and
 * above, the position is that of the transaction, with which the pin ends.
 */
extern const GjPin *gj_pin(EState *estate, Oid serverid, Oid userid);

/* How a table of the pin is read.  It is an error if the pin does not have it. */
extern const GjSourceTable *gj_pin_table(const GjPin *pin, Oid relid);

/*
 * For EXPLAIN without ANALYZE: how the tables would be read, without a wait and
 * without an error of the daemon.  NULL, with the reason, if that is not known.
 */
extern const GjPin *gj_pin_shown(EState *estate, Oid serverid, Oid userid, const char **reason);

/* ---- sizes ---- */

/*
 * The number of rows of a foreign table, and its bytes; -1: unknown.  It is no
 * error if the daemon or the source does not answer.
 */
extern double gj_source_rows(Oid relid, Oid userid, double *bytes);

/* ---- any other request ---- */

/*
 * Asks the daemon.  members are those of the request beside "source", separated by
 * commas, or NULL; without a server, there is no "source" either.
 */
extern Jsonb *gj_source_request(Oid serverid, Oid userid, enum gj_source_kind kind, const char *members);

/*
 * Tells the daemon, if there is one, that objects were dropped: it ends their sessions,
 * or mirrors.  body is that of a request CLOSE, in UTF8.  For use after a commit: there is no
 * error, and no wait for the answer.  Returns false if there is no daemon.
 */
extern bool gj_source_close(const char *body);

/* The code of an SQLSTATE that the daemon sent; that of any FDW error if it is not valid. */
extern int	gj_sqlstate_of(const char *sqlstate);

/*
 * The members of an answer.  A member that is missing or of another type is an
 * error.
 */
extern char *gj_answer_text(JsonbContainer *object, const char *name);
extern double gj_answer_number(JsonbContainer *object, const char *name);
extern int64 gj_answer_count(JsonbContainer *object, const char *name);
extern bool gj_answer_bool(JsonbContainer *object, const char *name);
extern JsonbContainer *gj_answer_array(JsonbContainer *object, const char *name);

/* An element of an array of objects. */
extern JsonbContainer *gj_answer_element(JsonbContainer *array, uint32 i);

#endif							/* SOURCE_SOURCE_H */
