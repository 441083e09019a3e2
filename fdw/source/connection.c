/*
 * source/connection.c - the connection on which this process asks the daemon about
 * foreign servers.
 *
 * There is one, from the first request on.  An error or a cancel in the middle of a
 * request closes it, because its answer would be taken for that of the next one.
 * At most one request is unanswered at a time.  Some are sent where nobody can wait or
 * handle an error, so that their answer is read by the next request.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "daemon/connection.h"
#include "options.h"
#include "source/request.h"
#include "source/source.h"

static GjConnection connection = {.fd = -1};
static uint64 connections;
static uint32 owed;				/* the kind of a request whose answer has not been
								 * read; 0: none */
static bool pins_left;			/* pins have ended, and the daemon does not know */

uint64
gj_source_connections(void)
{
	return connections;
}

static void
disconnect(void)
{
	gj_connection_close(&connection);
	connections++;				/* the pins are lost from here on */
	owed = 0;
	pins_left = false;
}

/* Reads the answer to a request. */
static bool
receive_answer(uint32 kind)
{
	struct gj_source answer;

	if (!gj_expect(&connection, GJ_SOURCE, sizeof(answer), -1))
		return false;
	memcpy(&answer, connection.body, sizeof(answer));
	if (answer.kind != kind || connection.frame.length - sizeof(answer) != answer.length)
		return gj_fail(&connection, "the daemon sent an answer of kind %u with %u of %u bytes",
					   answer.kind, (unsigned) (connection.frame.length - sizeof(answer)), answer.length);
	return true;
}

static bool
send_request(enum gj_source_kind kind, const char *json, uint32 length)
{
	struct gj_source_get request = {.kind = kind, .length = length};

	return gj_send(&connection, GJ_SOURCE_GET, &request, sizeof(request), json, length);
}

/* Is there a connection that can be used? */
static bool
is_connected(void)
{
	if (connection.fd < 0)
		return false;
	if (gj_socket == NULL || strcmp(connection.socket, gj_socket) != 0 ||
		(owed != 0 && !receive_answer(owed)))
		return false;
	owed = 0;

	/* the daemon has ended it, or sends what was not asked for */
	return !gj_readable(&connection);
}

static bool
connect_daemon(void)
{
	static MemoryContext context = NULL;
	Size		extent_size;

	if (is_connected())
		return true;
	disconnect();
	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "gpujoin foreign servers", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(context);
	gj_connection_init(&connection, context);
	if (!gj_greet(&connection, gj_socket, gj_connect_timeout, &extent_size))
		return false;

	/* a request may take any time, so now and then ask whether the daemon is alive */
	connection.patience_ms = gj_connect_timeout;
	return true;
}

Jsonb *
gj_source_ask(enum gj_source_kind kind, char *json, bool *reached, const char **reason)
{
	char	   *const utf8 = pg_server_to_any(json, strlen(json), PG_UTF8);
	const Size	length = strlen(utf8);
	volatile bool answered = false;
	volatile bool connected = false;
	Jsonb	   *result = NULL;

	if (length > GJ_FRAME_MAX - sizeof(struct gj_source_get))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("request to gpujoind exceeds %zu bytes", GJ_FRAME_MAX - sizeof(struct gj_source_get))));
	PG_TRY();
	{
		connected = connect_daemon();
		answered = connected && send_request(kind, utf8, length) && receive_answer(kind);
	}
	PG_CATCH();
	{
		disconnect();
		PG_RE_THROW();
	}
	PG_END_TRY();
	*reached = connected;

	/* a request may have a password */
	explicit_bzero(utf8, length);
	if (answered)
	{
		const char *text = connection.body + sizeof(struct gj_source);
		char	   *local = pg_any_to_server(text, strlen(text), PG_UTF8);

		result = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(local)));
	}
	else
	{
		*reason = pstrdup(connection.failure);
		disconnect();
	}
	return result;
}

void
gj_source_unpin(const char *token, bool others)
{
	char		json[64];
	int			length;

	if (connection.fd < 0)
		return;
	length = snprintf(json, sizeof(json), "{\"token\":\"%s\"}", token);

	/*
	 * The socket's buffer has room, because no more than one answer is owed.  If
	 * one is, the pin ends with the connection, which the last pin closes.
	 */
	HOLD_INTERRUPTS();
	if (!others && (owed != 0 || pins_left))
		disconnect();
	else if (owed != 0)
		pins_left = true;
	else if (send_request(GJ_SOURCE_UNPIN, json, length))
		owed = GJ_SOURCE_UNPIN;
	else
		disconnect();
	RESUME_INTERRUPTS();
}

bool
gj_source_close(const char *body)
{
	MemoryContext before = CurrentMemoryContext;
	const uint32 held_off = InterruptHoldoffCount;
	volatile bool told = false;

	PG_TRY();
	{
		told = connect_daemon() && send_request(GJ_SOURCE_CLOSE, body, strlen(body));
	}
	PG_CATCH();
	{
		/* the transaction has been committed, so there is nobody to tell */
		MemoryContextSwitchTo(before);
		FlushErrorState();
		InterruptHoldoffCount = held_off;
	}
	PG_END_TRY();
	if (told)
		owed = GJ_SOURCE_CLOSE;
	else
		disconnect();
	return told;
}
