/*
 * daemon/handshake.c - opens a connection with a handshake, HELLO and WELCOME.
 *
 * A new handshake also serves as the liveness check: it tells a daemon that is
 * busy with a long join from one that is stuck or stopped.  No time limit on
 * the join could tell them apart.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "daemon/connection.h"
#include "miscadmin.h"
#include "storage/proc.h"

#include "daemon/connection.h"

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
