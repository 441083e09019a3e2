/*
 * daemon/frame.c - receives and sends frames.
 *
 * Each frame is read once into private memory and validated there.
 */
#include "postgres.h"

#include <sys/socket.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "daemon/connection.h"

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
		return gj_fail_by(conn, GJ_FAULT_FAILING, "not all file descriptors of the daemon were received");
	return true;
}

/*
 * Reads until conn->received is end.  The byte at position begin is stored at
 * *to. After a timeout, the next call resumes where this one stopped.
 */
static GjWait
read_bytes(GjConnection *conn, char *to, Size begin, Size end, GjDeadline *deadline)
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
			gj_fail_by(conn, GJ_FAULT_FAILING, "the daemon closed the connection");
			return GJ_WAIT_FAILED;
		}
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			GjWait		wait = gj_wait_socket(conn, WL_SOCKET_READABLE, deadline);

			if (wait != GJ_WAIT_DONE)
				return wait;
		}
		else if (errno != EINTR)
		{
			gj_fail_by(conn, GJ_FAULT_FAILING, "could not receive from the daemon: %m");
			return GJ_WAIT_FAILED;
		}
	}
	return GJ_WAIT_DONE;
}

static GjFault
fault_of(uint32 code)
{
	switch (code)
	{
		case GJ_FAIL_BUSY:
		case GJ_FAIL_BUDGET:
		case GJ_FAIL_SHARE:
		case GJ_FAIL_RESOURCES:
			return GJ_FAULT_BUSY;
		case GJ_FAIL_UNSUPPORTED:
		case GJ_FAIL_ARITHMETIC:
			return GJ_FAULT_NONE;	/* this job's values or nodes */
		case GJ_FAIL_SOURCE:
			return GJ_FAULT_SOURCE;
		default:
			return GJ_FAULT_FAILING;
	}
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
	memcpy(conn->sqlstate, failed.sqlstate, sizeof(conn->sqlstate) - 1);	/* the rest is 0 */
	length = Min(conn->frame.length - sizeof(failed), failed.length);
	length = Min(length, sizeof(conn->failure) - 1);
	for (uint32 i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	if (length == 0)
		return gj_fail_by(conn, GJ_FAULT_FAILING, "the daemon failed without giving a reason");
	return gj_fail_by(conn, fault_of(failed.code), "%.*s", (int) length, text);
}

/* Receives the next frame, or the rest of one received in part. */
static GjWait
receive(GjConnection *conn, GjDeadline *deadline)
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
	Assert(conn->held == NULL);
	if (conn->received == 0)
		gj_drop_fds(conn);
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
	GjDeadline	deadline = {.at_us = at_us, .quiet = true};

	return receive(conn, &deadline);
}

bool
gj_receive(GjConnection *conn, int timeout_ms)
{
	GjDeadline	deadline = gj_deadline_in(timeout_ms);

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
	return gj_fail_by(conn, GJ_FAULT_FAILING, "could not send to the daemon: %m");
}

/* Leaves out the first n bytes of parts.  Returns how many parts have some left. */
static int
skip_bytes(struct iovec *parts, int count, Size n)
{
	int			left = 0;

	for (int i = 0; i < count; i++)
	{
		Size		skipped = Min(n, parts[i].iov_len);

		n -= skipped;
		if (skipped == parts[i].iov_len)
			continue;
		parts[left].iov_base = (char *) parts[i].iov_base + skipped;
		parts[left++].iov_len = parts[i].iov_len - skipped;
	}
	return left;
}

/* Sends parts together, so that the daemon wakes once. */
static bool
send_parts(GjConnection *conn, struct iovec *parts, int count)
{
	GjDeadline	never = gj_deadline_in(-1);

	while (count > 0)
	{
		struct msghdr msg = {.msg_iov = parts, .msg_iovlen = count};
		ssize_t		n = sendmsg(conn->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			count = skip_bytes(parts, count, n);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
		{
			CHECK_FOR_INTERRUPTS();
			if (gj_wait_socket(conn, WL_SOCKET_WRITEABLE, &never) != GJ_WAIT_DONE)
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
	struct iovec parts[] = {
		{.iov_base = &frame, .iov_len = sizeof(frame)},
		{.iov_base = unconstify(void *, body), .iov_len = length},
		{.iov_base = unconstify(void *, tail), .iov_len = tail_length},
	};

	if (conn->fd < 0)
		return gj_fail(conn, "there is no connection to the daemon");
	if (conn->held == NULL)
		return send_parts(conn, parts, lengthof(parts));
	for (Size i = 0; i < lengthof(parts); i++)
		appendBinaryStringInfo(conn->held, parts[i].iov_base, parts[i].iov_len);
	return true;
}

void
gj_hold_frames(GjConnection *conn)
{
	MemoryContext old = MemoryContextSwitchTo(conn->context);

	Assert(conn->held == NULL);
	conn->held = makeStringInfo();
	MemoryContextSwitchTo(old);
}

bool
gj_send_held(GjConnection *conn)
{
	StringInfo	held = conn->held;
	struct iovec part;
	bool		ok;

	if (held == NULL)
		return true;
	conn->held = NULL;
	part = (struct iovec) {.iov_base = held->data, .iov_len = held->len};
	ok = send_parts(conn, &part, 1);
	pfree(held->data);
	pfree(held);
	return ok;
}
