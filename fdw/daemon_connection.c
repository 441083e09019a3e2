/*
 * daemon_connection.c - one socket connection to the daemon, and its frames.
 *
 * The socket never blocks.  Every wait is a WaitLatchOrSocket(), so a cancel,
 * a termination, a timeout or the postmaster's death takes effect at once,
 * regardless of the daemon's state.  Each frame is read once into private
 * memory and validated there.
 */
#include "postgres.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "daemon_connection.h"
#include "daemon_pulse.h"

bool
gj_fail(GjConnection *conn, const char *format,...)
{
	va_list		args;

	if (conn->failure[0] != '\0')
		return false;
	va_start(args, format);
	vsnprintf(conn->failure, sizeof(conn->failure), format, args);
	va_end(args);
	return false;
}

int
gj_failure_detail(const GjConnection *conn)
{
	return errdetail_internal("%c%s.", pg_toupper((unsigned char) conn->failure[0]),
							  conn->failure[0] != '\0' ? conn->failure + 1 : "");
}

void
gj_connection_init(GjConnection *conn, MemoryContext context)
{
	memset(conn, 0, sizeof(*conn));
	conn->fd = -1;
	conn->context = context;
}

static void
drop_fds(GjConnection *conn)
{
	for (int i = 0; i < conn->nfds; i++)
		if (conn->fds[i] >= 0)
			close(conn->fds[i]);
	conn->nfds = 0;
}

void
gj_connection_close(GjConnection *conn)
{
	drop_fds(conn);
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	if (conn->counted)
		ReleaseExternalFD();
	conn->counted = false;
}

int
gj_take_fd(GjConnection *conn, int i)
{
	int			fd = conn->fds[i];

	conn->fds[i] = -1;
	return fd;
}

/*
 * A bounded wait.  It is extended if the daemon gets too little processor
 * time.
 */
typedef struct Deadline
{
	uint64		at_us;			/* 0: never */
	bool		firm;			/* never extended */
	bool		quiet;			/* reaching it is not a failure */
	int			extensions;		/* so far */
	GjLook		look;			/* the latest look at the daemon */
} Deadline;

static Deadline
deadline_in(int timeout_ms)
{
	Deadline	deadline = {.firm = timeout_ms == 0};

	if (timeout_ms >= 0)
		deadline.at_us = gj_now_us() + (uint64) timeout_ms * 1000;
	return deadline;
}

/*
 * Extends a deadline that has passed.  Returns false, with the reason
 * recorded, if it may not be extended.
 */
static bool
is_put_off(GjConnection *conn, Deadline *deadline)
{
	int			ms = 0;

	if (deadline->firm)
		return gj_fail(conn, "the daemon did not answer in time");
	switch (gj_pulse(conn->socket, conn->pid, &deadline->look))
	{
		case GJ_PULSE_STOPPED:
			return gj_fail(conn, "the daemon does not answer: its process is stopped");
		case GJ_PULSE_STUCK:
			return gj_fail(conn, "the daemon does not answer, although it has processor time");
		case GJ_PULSE_STARVED:
			if (deadline->extensions++ >= GJ_MAX_EXTENSIONS)
				return gj_fail(conn, "the daemon gets too little processor time to answer");
			ms = Max(conn->step_ms, GJ_PULSE_MS);
			break;
		case GJ_PULSE_UNKNOWN:
			ms = GJ_PULSE_MS;
			break;
	}
	deadline->at_us = gj_now_us() + (uint64) ms * 1000;
	return true;
}

/* Waits until the socket is ready for event. */
static GjWait
wait_socket(GjConnection *conn, int event, Deadline *deadline)
{
	uint64		start = gj_now_us();
	uint64		asked_us = start;	/* when it was last known to answer */

	for (;;)
	{
		long		timeout = -1;
		int			rc;

		if (deadline->at_us != 0)
		{
			uint64		now = gj_now_us();

			if (now >= deadline->at_us)
			{
				if (deadline->quiet)
					return GJ_WAIT_TIMEOUT;
				if (!is_put_off(conn, deadline))
					return GJ_WAIT_FAILED;
				now = gj_now_us();
			}
			timeout = (long) ((deadline->at_us - Min(now, deadline->at_us) + 999) / 1000);
		}
		else if (conn->patience_ms > 0)
		{
			uint64		now = gj_now_us();
			uint64		ask_us = asked_us + (uint64) conn->patience_ms * 1000;

			/* a latch that is set now and then does not put the question off */
			if (now >= ask_us)
			{
				if (!conn->answers(conn))
					return GJ_WAIT_FAILED;
				asked_us = gj_now_us();
				continue;
			}
			timeout = (long) ((ask_us - now + 999) / 1000);
		}
		rc = WaitLatchOrSocket(MyLatch,
							   WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | event |
							   (timeout >= 0 ? WL_TIMEOUT : 0),
							   conn->fd, timeout, PG_WAIT_EXTENSION);
		if (rc & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if (rc & event)
		{
			conn->wait_us += gj_now_us() - start;
			return GJ_WAIT_DONE;
		}
	}
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
	Deadline	deadline = deadline_in(timeout_ms);

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
		if (gj_now_us() >= deadline.at_us && !is_put_off(conn, &deadline))
			return false;
		if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					  5, PG_WAIT_EXTENSION) & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	return check_peer(conn);
}

/* ---- receiving ---- */

/* Collects the descriptors that came with a frame's first byte. */
static bool
keep_fds(GjConnection *conn, struct msghdr *msg)
{
	bool		fits = (msg->msg_flags & MSG_CTRUNC) == 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c))
	{
		int			count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (int i = 0; i < count; i++)
		{
			int			fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (conn->nfds < GJ_FRAME_MAX_FDS)
				conn->fds[conn->nfds++] = fd;
			else
			{
				close(fd);
				fits = false;
			}
		}
	}
	if (!fits)
		return gj_fail(conn, "not all file descriptors of the daemon were received");
	return true;
}

/*
 * Reads until conn->received is end.  The byte at position begin is stored at
 * *to. After a timeout, the next call resumes where this one stopped.
 */
static GjWait
read_bytes(GjConnection *conn, char *to, Size begin, Size end, Deadline *deadline)
{
	while (conn->received < end)
	{
		bool		first = conn->received == 0;
		union
		{
			struct cmsghdr align;
			char		space[CMSG_SPACE(sizeof(int) * GJ_FRAME_MAX_FDS)];
		}			control;
		struct iovec iov = {
			.iov_base = to + (conn->received - begin),
			.iov_len = end - conn->received
		};
		struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
		ssize_t		n;

		/* the kernel drops descriptors that do not fit our control buffer */
		if (first)
		{
			msg.msg_control = control.space;
			msg.msg_controllen = sizeof(control.space);
		}
		CHECK_FOR_INTERRUPTS();
		n = recvmsg(conn->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
		if (n > 0)
		{
			conn->received += n;
			if (first && !keep_fds(conn, &msg))
				return GJ_WAIT_FAILED;
		}
		else if (n == 0)
		{
			gj_fail(conn, "the daemon closed the connection");
			return GJ_WAIT_FAILED;
		}
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			GjWait		wait = wait_socket(conn, WL_SOCKET_READABLE, deadline);

			if (wait != GJ_WAIT_DONE)
				return wait;
		}
		else if (errno != EINTR)
		{
			gj_fail(conn, "could not receive from the daemon: %m");
			return GJ_WAIT_FAILED;
		}
	}
	return GJ_WAIT_DONE;
}

/*
 * Records the daemon's reason, restricted to characters that are safe in every
 * encoding.
 */
static bool
failed_frame(GjConnection *conn)
{
	struct gj_failed failed;
	uint32		length;
	char	   *text = conn->body + sizeof(failed);

	if (conn->frame.length < sizeof(failed))
		return gj_fail(conn, "the daemon sent a malformed frame");
	memcpy(&failed, conn->body, sizeof(failed));
	length = Min(conn->frame.length - sizeof(failed), failed.length);
	length = Min(length, sizeof(conn->failure) - 1);
	for (uint32 i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	if (conn->failure[0] == '\0')
		conn->failure_code = failed.code;
	if (length == 0)
		return gj_fail(conn, "the daemon failed without giving a reason");
	return gj_fail(conn, "%.*s", (int) length, text);
}

/* Receives the next frame, or the rest of one received in part. */
static GjWait
receive(GjConnection *conn, Deadline *deadline)
{
	struct gj_frame *frame = &conn->frame;
	GjWait		wait;

	if (conn->failure[0] != '\0')
		return GJ_WAIT_FAILED;	/* the stream is unreadable from here on */
	if (conn->fd < 0)
	{
		gj_fail(conn, "there is no connection to the daemon");
		return GJ_WAIT_FAILED;
	}
	if (conn->received == 0)
		drop_fds(conn);
	wait = read_bytes(conn, (char *) frame, 0, sizeof(*frame), deadline);
	if (wait != GJ_WAIT_DONE)
		return wait;
	if (frame->magic != GJ_FRAME_MAGIC || frame->reserved != 0 ||
		frame->length > GJ_FRAME_MAX || frame->nfds != conn->nfds)
	{
		gj_fail(conn, "the daemon sent a malformed frame");
		return GJ_WAIT_FAILED;
	}

	if (conn->body == NULL || conn->body_size < frame->length + 1)
	{
		Size		size = Max(frame->length + 1, 1024);

		if (conn->body != NULL)
			pfree(conn->body);
		conn->body = NULL;
		conn->body = MemoryContextAlloc(conn->context, size);
		conn->body_size = size;
	}
	wait = read_bytes(conn, conn->body, sizeof(*frame),
					  sizeof(*frame) + frame->length, deadline);
	if (wait != GJ_WAIT_DONE)
		return wait;
	conn->body[frame->length] = '\0';
	conn->received = 0;

	if (frame->type == GJ_FAILED)
	{
		failed_frame(conn);
		return GJ_WAIT_FAILED;
	}
	return GJ_WAIT_DONE;
}

GjWait
gj_receive_until(GjConnection *conn, uint64 at_us)
{
	Deadline	deadline = {.at_us = at_us, .quiet = true};

	return receive(conn, &deadline);
}

bool
gj_receive(GjConnection *conn, int timeout_ms)
{
	Deadline	deadline = deadline_in(timeout_ms);

	for (;;)
	{
		if (receive(conn, &deadline) != GJ_WAIT_DONE)
			return false;
		if (conn->frame.type != GJ_STATS || !conn->stats_owed)
			return true;
		conn->stats_owed = false;
	}
}

bool
gj_expect(GjConnection *conn, enum gj_message type, uint32 length, int timeout_ms)
{
	if (!gj_receive(conn, timeout_ms))
		return false;
	if (conn->frame.type != type || conn->frame.length < length)
		return gj_fail(conn, "the daemon sent frame %u of %u bytes instead of frame %d",
					   conn->frame.type, conn->frame.length, (int) type);
	return true;
}

bool
gj_readable(GjConnection *conn)
{
	char		byte;

	return conn->fd >= 0 &&
		recv(conn->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != -1;
}

/* ---- sending ---- */

/* The daemon hung up.  It may have sent a reason before that. */
static bool
send_failed(GjConnection *conn)
{
	int			save_errno = errno;

	while (gj_readable(conn))
		if (!gj_receive(conn, 0))
			return false;
	errno = save_errno;
	return gj_fail(conn, "could not send to the daemon: %m");
}

static bool
send_bytes(GjConnection *conn, const char *from, Size length)
{
	Deadline	never = deadline_in(-1);

	while (length > 0)
	{
		ssize_t		n;

		n = send(conn->fd, from, length, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n >= 0)
		{
			from += n;
			length -= n;
		}
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			CHECK_FOR_INTERRUPTS();
			if (wait_socket(conn, WL_SOCKET_WRITEABLE, &never) != GJ_WAIT_DONE)
				return false;
		}
		else if (errno != EINTR)
			return send_failed(conn);
	}
	return true;
}

bool
gj_send(GjConnection *conn, enum gj_message type,
		const void *body, uint32 length, const void *tail, uint32 tail_length)
{
	struct gj_frame frame = {
		.magic = GJ_FRAME_MAGIC,
		.length = length + tail_length,
		.type = type,
	};
	char		small[256];
	Size		head = sizeof(frame) + length;

	if (conn->fd < 0)
		return gj_fail(conn, "there is no connection to the daemon");
	Assert(head <= sizeof(small));
	memcpy(small, &frame, sizeof(frame));
	if (length > 0)
		memcpy(small + sizeof(frame), body, length);
	return send_bytes(conn, small, head) &&
		(tail_length == 0 || send_bytes(conn, tail, tail_length));
}
