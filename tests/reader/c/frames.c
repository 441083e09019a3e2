/*
 * frames.c - tries daemon/frame.c and daemon/stats.c: the input is a number of file
 * descriptors, one byte, and what the daemon sends with them before it hangs
 * up.  The result is how many frames were received, and from bit 32 on how
 * many of them were statistics that were believed.
 */
#include "server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../fdw/daemon/connection.h"
#include "../../../fdw/daemon/stats.h"

#define MOST_FDS 64

static void
write_all(int sock, const uint8 *data, size_t size, int fds)
{
	union
	{
		struct cmsghdr align;
		char		space[CMSG_SPACE(sizeof(int) * MOST_FDS)];
	}			control;
	struct iovec iov = {.iov_base = unconstify(uint8 *, data), .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int			opened[MOST_FDS];

	if (size == 0)
		return;
	for (int i = 0; i < fds; i++)
		opened[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fds > 0)
	{
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * fds);
		memcpy(CMSG_DATA(c), opened, sizeof(int) * fds);
	}
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) != (ssize_t) size)
		abort();
	for (int i = 0; i < fds; i++)
		close(opened[i]);
}

/* Reads everything that EXPLAIN would print. */
static bool
believed(GjConnection *conn)
{
	char	   *body = palloc(conn->frame.length);
	GjStats		stats;
	volatile size_t read = 0;

	memcpy(body, conn->body, conn->frame.length);
	if (!gj_stats_read(&stats, body, conn->frame.length))
		return false;
	read += strlen(stats.total->provider) + strlen(stats.total->fallback);
	for (uint32 i = 0; i < stats.total->joins; i++)
	{
		const struct gj_phase_stats *phases = gj_stats_phases(&stats, i);

		read += strlen(stats.joins[i].algorithm) + strlen(stats.joins[i].reason) + stats.joins[i].us;
		for (uint32 p = 0; p < stats.joins[i].phases; p++)
			read += strlen(phases[p].name) + phases[p].actual_ns;
	}
	for (uint32 i = 0; i < stats.total->aggregates; i++)
		read += strlen(stats.aggregates[i].strategy) + stats.aggregates[i].us;
	for (uint32 i = 0; i < stats.total->filters; i++)
		read += strlen(stats.filters[i].reason) + stats.filters[i].dropped;
	for (uint32 i = 0; i < stats.total->participants; i++)
		read += stats.participants[i].return_us;
	return true;
}

/* What has come in one piece. */
static uint64
count_frame(GjConnection *conn)
{
	uint64		result = 1;

	if (conn->frame.type == GJ_STATS && believed(conn))
		result += UINT64_C(1) << 32;
	if (conn->nfds > 0)
		close(gj_take_fd(conn, 0));
	return result;
}

/* The same bytes in pieces, with an impatient reader: a timeout anywhere costs
 * nothing. */
static uint64
try_pieces(const uint8 *data, size_t size, size_t piece)
{
	GjConnection conn;
	int			ends[2];
	uint64		result = 0;
	GjWait		wait = GJ_WAIT_TIMEOUT;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		abort();
	gj_connection_init(&conn, NULL);
	conn.fd = ends[0];
	for (size_t at = 1; at < size && wait != GJ_WAIT_FAILED; at += piece)
	{
		write_all(ends[1], data + at, Min(piece, size - at), at == 1 ? data[0] % MOST_FDS : 0);
		while ((wait = gj_receive_until(&conn, 1)) == GJ_WAIT_DONE)
			result += count_frame(&conn);
	}
	close(ends[1]);
	while (gj_receive(&conn, -1))
		result += count_frame(&conn);
	gj_connection_close(&conn);
	return result;
}

/* An owed report is skipped, once. */
static void
try_owed(const uint8 *data, size_t size)
{
	GjConnection conn;
	int			ends[2];
	bool		skipped = false;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		abort();
	write_all(ends[1], data + 1, size - 1, data[0] % MOST_FDS);
	close(ends[1]);
	gj_connection_init(&conn, NULL);
	conn.fd = ends[0];
	conn.stats_owed = true;
	while (gj_receive(&conn, -1))
	{
		if (conn.frame.type == GJ_STATS && conn.stats_owed)
			abort();
		skipped |= !conn.stats_owed;
		if (conn.nfds > 0)
			close(gj_take_fd(&conn, 0));
	}
	if (skipped && conn.stats_owed)
		abort();
	gj_connection_close(&conn);
}

uint64
try_input(const uint8 *data, size_t size)
{
	GjConnection conn;
	int			ends[2];
	uint64		result = 0;

	if (size == 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
		abort();
	write_all(ends[1], data + 1, size - 1, data[0] % MOST_FDS);
	close(ends[1]);

	gj_connection_init(&conn, NULL);
	conn.fd = ends[0];
	while (gj_receive(&conn, -1))
		result += count_frame(&conn);
	if (conn.failure[0] == '\0' || strnlen(conn.failure, sizeof(conn.failure)) == sizeof(conn.failure))
		abort();
	for (const char *c = conn.failure; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			abort();
	gj_connection_close(&conn);
	if (try_pieces(data, size, 1 + size / 5) != result)
		abort();
	try_owed(data, size);
	return result;
}
