/*
 * daemon/job_session.c - the protocol of a job, up to its first row.
 *
 * Every failure here is harmless: no row has been returned yet, so the caller
 * can still run the native plan.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/json.h"

#include "daemon/connection.h"
#include "daemon/job_session.h"
#include "job/job.h"
#include "options.h"

/* ---- opens a connection with a handshake, HELLO and WELCOME ---- */

/*
 * A new handshake also serves as the liveness check: it tells a daemon that is
 * busy with a long join from one that is stuck or stopped.  No time limit on
 * the join could tell them apart.
 */

static bool answers(GjConnection *conn);

bool
gj_greet(GjConnection *conn, const char *socket, int timeout_ms, Size *extent_size)
{
	struct gj_hello hello = {
		.protocol_version = GJ_PROTOCOL_VERSION,
		.layout_version = GJ_LAYOUT_VERSION,
		.leader_pid = MyProcPid,
		.database = MyDatabaseId,
		.system_identifier = GetSystemIdentifier()
	};
	struct gj_welcome welcome;

	if (MyProc->lockGroupLeader != NULL)
		hello.leader_pid = MyProc->lockGroupLeader->pid;
	if (!gj_connection_open(conn, socket, timeout_ms) ||
		!gj_send(conn, GJ_HELLO, &hello, sizeof(hello), NULL, 0) ||
		!gj_expect(conn, GJ_WELCOME, sizeof(welcome), timeout_ms))
		return false;
	memcpy(&welcome, conn->body, sizeof(welcome));
	if (conn->frame.length != sizeof(welcome))
		return gj_fail(conn, "the daemon sent a WELCOME frame of %u bytes", conn->frame.length);
	if (welcome.protocol_version != GJ_PROTOCOL_VERSION ||
		welcome.layout_version != GJ_LAYOUT_VERSION)
		return gj_fail(conn, "the daemon has protocol %u and layout %u, the extension has %d and %d",
					   welcome.protocol_version, welcome.layout_version,
					   GJ_PROTOCOL_VERSION, GJ_LAYOUT_VERSION);
	if (welcome.extent_size < GJ_EXTENT_MIN_SIZE ||
		welcome.extent_size > GJ_EXTENT_MAX_SIZE ||
		welcome.extent_size % 4096 != 0)
		return gj_fail(conn, "the daemon reports an invalid extent size");
	*extent_size = welcome.extent_size;
	conn->answers = answers;
	return true;
}

/*
 * Does the daemon behind conn still complete a handshake?  It has
 * conn->patience_ms to do so, and more if it gets too little processor time.
 * Otherwise conn fails with the reason.
 */
static bool
answers(GjConnection *conn)
{
	GjConnection other;
	Size		extent_size;
	volatile bool greeted = false;

	gj_connection_init(&other, conn->context);
	PG_TRY();
	{
		greeted = gj_greet(&other, conn->socket, conn->patience_ms, &extent_size);
	}
	PG_FINALLY();
	{
		gj_connection_close(&other);
	}
	PG_END_TRY();
	if (other.body != NULL)
		pfree(other.body);
	return greeted || gj_fail_by(conn, GJ_FAULT_SILENT, "%s", other.failure);
}

/* ---- job session ---- */

void
gj_link_init(GjLink *link, MemoryContext context)
{
	memset(link, 0, sizeof(*link));
	gj_connection_init(&link->conn, context);
	gj_extents_init(&link->extents, &link->conn, 0);
	link->participant = ParallelWorkerNumber;
	link->queue_ms = gj_queue_timeout;
}

void
gj_link_close(GjLink *link)
{
	gj_extents_close(&link->extents);
	gj_connection_close(&link->conn);
	link->admitted = false;
	link->early = 0;
}

bool
gj_link_return_grant(GjLink *link)
{
	return gj_extent_granted(&link->extents) &&
		gj_extent_return_ready(&link->extents);
}

bool
gj_link_receive(GjLink *link, int timeout_ms)
{
	for (;;)
	{
		if (!gj_receive(&link->conn, timeout_ms))
			return false;
		if (link->conn.frame.type != GJ_GRANT)
			return true;
		if (!gj_link_return_grant(link))
			return false;
	}
}

static bool
expect(GjLink *link, enum gj_message type, uint32 length, int timeout_ms)
{
	GjConnection *conn = &link->conn;

	if (!gj_link_receive(link, timeout_ms))
		return false;
	if (conn->frame.type != type || conn->frame.length != length)
		return gj_fail(conn, "the daemon sent frame %u of %u bytes instead of frame %d",
					   conn->frame.type, conn->frame.length, (int) type);
	return true;
}

bool
gj_link_connect(GjLink *link, const char *socket)
{
	Size		extent_size;

	if (!gj_greet(&link->conn, socket, gj_connect_timeout, &extent_size))
	{
		link->conn.fault = GJ_FAULT_SILENT;
		return false;
	}
	link->conn.patience_ms = gj_connect_timeout;
	link->conn.event = GJ_EVENT_ADMIT;
	gj_extents_init(&link->extents, &link->conn, extent_size);
	return true;
}

static bool
admitted(GjLink *link, int timeout_ms)
{
	struct gj_admitted body;

	if (!expect(link, GJ_ADMITTED, sizeof(body), timeout_ms))
		return false;
	memcpy(&body, link->conn.body, sizeof(body));
	if (gj_exceeds_job_memory(body.reserved_bytes))
		return gj_fail(&link->conn, "the job needs " UINT64_FORMAT " MB of memory, more than gpujoin.max_job_memory allows",
					   body.reserved_bytes >> 20);
	link->job = body.job;
	memcpy(link->token, body.token, sizeof(body.token));
	link->admitted = true;
	link->conn.event = GJ_EVENT_FEED;
	return true;
}

/*
 * The part of the daemon's memory that the session's user may reserve.  A
 * superuser could change the setting anyway.  SET ROLE changes neither the user
 * nor its part.
 */
static void
set_share(struct gj_open *body)
{
	body->role = GetSessionUserId();
	body->role_share = superuser_arg(body->role) ? GJ_WHOLE_SHARE :
		(uint32) (gj_role_share * GJ_WHOLE_SHARE + 0.5);
}

/* The member "runtime" of the job, docs/internals/job.md. */
static char *
runtime_json(const GjPlan *plan, const GjRuntime *runtime)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"generation\":1,\"parameters\":[%s],\"snapshot\":\"\",\"lsn\":\"\"",
					 runtime->parameters);
	if (runtime->algorithm != GJ_ALGORITHM_AUTO)
		appendStringInfo(&json, ",\"algorithm\":\"%s\"", gj_algorithm_name(runtime->algorithm));
	if (runtime->tokens != NULL)
	{
		for (int i = 0; i < plan->ninputs; i++)
		{
			appendStringInfoString(&json, i > 0 ? "," : ",\"mirrors\":[");
			if (runtime->tokens[i] != NULL)
				escape_json(&json, runtime->tokens[i]);
			else
				appendStringInfoString(&json, "null");
		}
		appendStringInfoChar(&json, ']');
	}
	if (runtime->sample > 0)
		appendStringInfo(&json, ",\"sample\":{\"rows\":" INT64_FORMAT ",\"seed\":" INT64_FORMAT "}",
						 runtime->sample, runtime->seed);
	appendStringInfoChar(&json, '}');
	return json.data;
}

bool
gj_link_open(GjLink *link, const GjPlan *plan, const GjRuntime *runtime,
			 int participants, bool rewindable)
{
	StringInfoData json;
	struct gj_open body = {
		.queue_timeout_ms = plan->promised ? 0 : link->queue_ms,
		.flags = rewindable ? GJ_OPEN_REWIND : 0,
		.participants = participants,
		.participant = link->participant
	};
	bool		ok;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"version\":%d,\"static\":%s,\"runtime\":%s}",
					 GJ_JOB_VERSION, gj_static_json(plan), runtime_json(plan, runtime));
	body.json_length = json.len;
	set_share(&body);
	link->rewindable = rewindable;
	gj_hold_frames(&link->conn);
	ok = gj_send(&link->conn, GJ_OPEN, &body, sizeof(body), json.data, json.len);
	pfree(json.data);
	return ok;
}

bool
gj_link_admitted(GjLink *link)
{
	if (!gj_send_held(&link->conn))
		return false;
	return link->admitted ||
		admitted(link, Min(link->queue_ms, INT_MAX / 2) +
				 Min(gj_connect_timeout, INT_MAX / 2));
}

bool
gj_link_attach(GjLink *link, uint64 job, const uint8 *token)
{
	struct gj_attach body = {.job = job, .participant = link->participant};

	memcpy(body.token, token, GJ_TOKEN_SIZE);
	return gj_send(&link->conn, GJ_ATTACH, &body, sizeof(body), NULL, 0) &&
		admitted(link, gj_connect_timeout);
}

bool
gj_link_fed(GjLink *link, uint64 rows, uint64 bytes, uint64 feed_us)
{
	struct gj_fed body = {
		.rows = rows,
		.bytes = bytes,
		.feed_us = feed_us,
		.wait_us = link->conn.wait_us
	};

	return gj_extent_return_ready(&link->extents) &&
		gj_send(&link->conn, GJ_FED, &body, sizeof(body), NULL, 0) &&
		expect(link, GJ_FED_OK, 0, -1);
}

/* Returns unread the batches of an earlier run that are still in flight. */
static bool
drop_result(GjLink *link)
{
	GjConnection *conn = &link->conn;
	struct gj_result result;
	GjExtent	extent;

	if (conn->frame.type == GJ_END)
		return true;
	if (conn->frame.type != GJ_RESULT || conn->frame.length != sizeof(result) ||
		conn->nfds != 1)
		return gj_fail(conn, "the daemon sent an unexpected frame %u",
					   conn->frame.type);
	memcpy(&result, conn->body, sizeof(result));
	return gj_extent_map(&link->extents, gj_take_fd(conn, 0), result.extent, false,
						 &extent) &&
		gj_extent_release(&link->extents, &extent);
}

bool
gj_link_run(GjLink *link)
{
	struct gj_run body = {.generation = ++link->generation};
	GjConnection *conn = &link->conn;

	conn->committed = false;
	conn->event = GJ_EVENT_JOIN;
	if (!gj_send(conn, GJ_RUN, &body, sizeof(body), NULL, 0))
		return false;
	while (gj_link_receive(link, -1))
	{
		if (conn->frame.type == GJ_RUNNING && conn->frame.length == 0)
			return true;
		if (link->generation == 1)
			return gj_fail(conn, "the daemon sent frame %u instead of frame %d",
						   conn->frame.type, (int) GJ_RUNNING);
		if (!drop_result(link))
			return false;
	}
	return false;
}
