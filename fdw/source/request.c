/*
 * source/request.c - any request on a foreign server, with the daemon's errors.
 */
#include "postgres.h"

#include "foreign/foreign.h"

#include "source/request.h"
#include "source/source.h"

/* There is no daemon, or it did not answer. */
static void
raise_silence(Oid serverid, bool reached, const char *reason)
{
	const ForeignServer *server = OidIsValid(serverid) ? GetForeignServerExtended(serverid, FSV_MISSING_OK) : NULL;

	ereport(ERROR,
			(errcode(reached ? ERRCODE_CONNECTION_FAILURE : ERRCODE_SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION),
			 reached ? errmsg("gpujoind did not answer") : errmsg("could not connect to gpujoind"),
			 errdetail_internal("%s", gj_as_sentence(reason)),
			 reached ? 0 : errhint("Foreign tables are read by gpujoind: start it, or set gpujoin.socket to its socket."),
			 server != NULL ? errcontext("foreign server \"%s\"", server->servername) : 0));
}

static char *
body_of(Oid serverid, Oid userid, const char *members)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoChar(&json, '{');
	if (OidIsValid(serverid))
		gj_append_source(&json, serverid, userid);
	if (members != NULL)
		appendStringInfo(&json, "%s%s", json.len > 1 ? ", " : "", members);
	appendStringInfoChar(&json, '}');
	return json.data;
}

Jsonb *
gj_source_request(Oid serverid, Oid userid, enum gj_source_kind kind, const char *members)
{
	bool		reached;
	const char *reason;
	Jsonb	   *answer = gj_source_ask(kind, body_of(serverid, userid, members), &reached, &reason);

	if (answer == NULL)
		raise_silence(serverid, reached, reason);
	gj_raise_answer(&answer->root, serverid);
	return answer;
}

Jsonb *
gj_source_try(Oid serverid, Oid userid, enum gj_source_kind kind, const char *members, const char **reason)
{
	bool		reached;
	Jsonb	   *answer;

	*reason = OidIsValid(serverid) ? gj_why_not_asked(serverid, userid) : NULL;
	if (*reason != NULL)
		return NULL;
	answer = gj_source_ask(kind, body_of(serverid, userid, members), &reached, reason);
	if (answer != NULL)
		*reason = gj_answer_failure(answer);
	return *reason == NULL ? answer : NULL;
}
