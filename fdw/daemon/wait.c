/*
 * daemon/wait.c - waits for the daemon's socket.
 *
 * Waits for a join have no limit, because a join may take any time.
 * So now and then the backend asks whether the daemon still answers.  As long
 * as the native plan can still run, it gives up soon.  Once it is committed to
 * the daemon's rows, giving up is an error.  Then it asks only if the daemon
 * has done nothing for COMMITTED_PATIENCE times as long: neither slowness, nor
 * a stop that is shorter, ends the query.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/fd.h"
#include "storage/latch.h"

#include "daemon/connection.h"

#define COMMITTED_PATIENCE 10

GjDeadline
gj_deadline_in(int timeout_ms)
{
	GjDeadline	deadline = {.firm = timeout_ms == 0};

	if (timeout_ms >= 0)
		deadline.at_us = gj_now_us() + (uint64) timeout_ms * 1000;
	return deadline;
}

bool
gj_is_put_off(GjConnection *conn, GjDeadline *deadline)
{
	int			ms = 0;

	if (deadline->firm)
		return gj_fail_by(conn, GJ_FAULT_SILENT, "the daemon did not answer in time");
	switch (gj_hung(conn->socket, conn->pid, &deadline->look))
	{
		case GJ_HUNG_STOPPED:
			return gj_fail_by(conn, GJ_FAULT_SILENT, "the daemon does not answer: its process is stopped");
		case GJ_HUNG_STUCK:
			return gj_fail_by(conn, GJ_FAULT_SILENT, "the daemon does not answer, although it has processor time");
		case GJ_HUNG_STARVED:
			if (deadline->extensions++ >= GJ_MAX_EXTENSIONS)
				return gj_fail_by(conn, GJ_FAULT_SILENT, "the daemon gets too little processor time to answer");
			ms = Max(conn->step_ms, GJ_LOOK_INTERVAL_MS);
			break;
		case GJ_HUNG_UNKNOWN:
			ms = GJ_LOOK_INTERVAL_MS;
			break;
	}
	deadline->at_us = gj_now_us() + (uint64) ms * 1000;
	return true;
}

/*
 * Is there a descriptor for WaitLatchOrSocket()?  Without one it raises an
 * error, although the native plan could go on.  BasicOpenFile() makes room by
 * closing files that the server can open again.
 */
static bool
has_spare_fd(int fd)
{
	int			spare = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (spare < 0)
		spare = BasicOpenFile("/dev/null", O_RDONLY);
	if (spare < 0)
		return false;
	close(spare);
	return true;
}

/*
 * The wait has lasted for patience_ms, or much longer if committed.  Can the
 * daemon still be expected to answer?
 */
static bool
is_alive(GjConnection *conn, GjLook *look)
{
	if (conn->committed && !gj_stands_still(conn->socket, conn->pid, look))
		return true;
	return conn->answers(conn);
}

GjWait
gj_wait_socket(GjConnection *conn, int event, GjDeadline *deadline)
{
	uint64		start = gj_now_us();
	uint64		asked_us = start;	/* when it was last known to be alive */
	GjLook		look = {0};		/* the latest one, if committed */

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
				if (!gj_is_put_off(conn, deadline))
					return GJ_WAIT_FAILED;
				now = gj_now_us();
			}
			timeout = (long) ((deadline->at_us - Min(now, deadline->at_us) + 999) / 1000);
		}
		else if (conn->patience_ms > 0)
		{
			uint64		now = gj_now_us();
			uint64		ask_us = asked_us + (uint64) conn->patience_ms * 1000 *
				(look.at_us != 0 ? COMMITTED_PATIENCE : 1);

			/* a latch that is set now and then does not put the question off */
			if (now >= ask_us)
			{
				if (!is_alive(conn, &look))
					return GJ_WAIT_FAILED;
				asked_us = gj_now_us();
				continue;
			}
			timeout = (long) ((ask_us - now + 999) / 1000);
		}
		if (!has_spare_fd(conn->fd))
		{
			(void) gj_fail(conn, "no file descriptor is left to wait for the daemon");
			return GJ_WAIT_FAILED;
		}
		rc = WaitLatchOrSocket(MyLatch,
							   WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | event |
							   (timeout >= 0 ? WL_TIMEOUT : 0),
							   conn->fd, timeout, gj_wait_event(conn->event));
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
