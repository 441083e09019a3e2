/*
 * daemon/connection.c - one socket connection to the daemon, and why it failed.
 *
 * The socket never blocks.
 */
#include "postgres.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"

#include "daemon/connection.h"

/* ---- the reason why a connection to the daemon is unusable ---- */

static void record(GjConnection *conn, GjFault fault, const char *format, va_list args)
			pg_attribute_printf(3, 0);

static void
record(GjConnection *conn, GjFault fault, const char *format, va_list args)
{
	if (conn->failure[0] != '\0')
		return;
	vsnprintf(conn->failure, sizeof(conn->failure), format, args);
	conn->fault = fault;
}

bool
gj_fail(GjConnection *conn, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	record(conn, GJ_FAULT_NONE, format, args);
	va_end(args);
	return false;
}

bool
gj_fail_by(GjConnection *conn, GjFault fault, const char *format,...)
{
	va_list		args;

	va_start(args, format);
	record(conn, fault, format, args);
	va_end(args);
	return false;
}

int
gj_failure_detail(const GjConnection *conn)
{
	return errdetail_internal("%c%s.", pg_toupper((unsigned char) conn->failure[0]),
							  conn->failure[0] != '\0' ? conn->failure + 1 : "");
}

/* ---- connection ---- */

void
gj_connection_init(GjConnection *conn, MemoryContext context)
{
	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
	conn->context = context;
}

void
gj_drop_fds(GjConnection *conn)
{
	for (int i = 0; i < conn->nfds; i++)
		if (conn->fds[i] >= 0)
			close(conn->fds[i]);
	conn->nfds = 0;
}

void
gj_connection_close(GjConnection *conn)
{
	gj_drop_fds(conn);
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	if (conn->counted)
		ReleaseExternalFD();
	conn->counted = false;
	conn->held = NULL;			/* an error may have come before they were sent */
}

int
gj_take_fd(GjConnection *conn, int i)
{
	int			fd = conn->fds[i];

	conn->fds[i] = -1;
	return fd;
}

/*
 * The daemon must run as our own user.  Any other user who bound the path
 * first would receive the rows.
 */
static bool
check_peer(GjConnection *conn)
{
	struct ucred cred;
	socklen_t	length = sizeof(cred);

	if (getsockopt(conn->fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
		return gj_fail(conn, "could not get the credentials of the daemon: %m");
	if (length != sizeof(cred) || cred.uid != geteuid())
		return gj_fail(conn, "the daemon runs as user id %u, not as the server's %u",
					   (unsigned) cred.uid, (unsigned) geteuid());
	conn->pid = cred.pid;
	return true;
}

bool
gj_connection_open(GjConnection *conn, const char *path, int timeout_ms)
{
	struct sockaddr_un address;
	GjDeadline	deadline = gj_deadline_in(timeout_ms);

	Assert(conn->fd < 0);
	conn->step_ms = timeout_ms;
	memset(&address, 0, sizeof(address));
	address.sun_family = AF_UNIX;
	if (path == NULL || path[0] == '\0')
		return gj_fail(conn, "gpujoin.socket is not set");
	if (strlen(path) >= sizeof(address.sun_path))
		return gj_fail(conn, "the path of the socket exceeds %zu bytes",
					   sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	strlcpy(conn->socket, path, sizeof(conn->socket));

	if (!AcquireExternalFD())
		return gj_fail(conn, "could not open a socket: %m");
	conn->counted = true;
	conn->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (conn->fd < 0)
		return gj_fail(conn, "could not open a socket: %m");

	while (connect(conn->fd, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return gj_fail(conn, "could not connect to the daemon: %m");

		/* the backlog is full, and no event tells us when it no longer is */
		if (gj_now_us() >= deadline.at_us && !gj_is_put_off(conn, &deadline))
			return false;
		if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					  5, gj_wait_event(conn->event)) & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	return check_peer(conn);
}
