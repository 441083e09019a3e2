/*
 * result/stats.c - asks the daemon for the statistics of a job.
 *
 * Statistics are best effort: the query's result does not depend on them.  If
 * the daemon does not answer in time, it still owes the frame, and the
 * connection skips it when it arrives (daemon/connection.h).
 */
#include "postgres.h"

#include "options.h"
#include "result/result.h"

bool
gj_receive_stats(GjLink *link, GjReader *reader)
{
	GjConnection *conn = &link->conn;
	uint64		deadline = gj_now_us() + (uint64) gj_connect_timeout * 1000;

	/* at most one outstanding request: a daemon that hangs reads none */
	if (!link->admitted || conn->stats_owed ||
		!gj_send(conn, GJ_STATS_GET, NULL, 0, NULL, 0))
		return false;
	conn->stats_owed = true;
	while (gj_receive_until(conn, deadline) == GJ_WAIT_DONE)
	{
		if (conn->frame.type == GJ_STATS)
		{
			conn->stats_owed = false;
			return true;
		}

		/* a result stream not yet read to its end is continued later */
		if (conn->frame.type == GJ_GRANT ? !gj_link_return_grant(link) :
			reader == NULL || !gj_reader_stash(reader))
			return false;
	}
	return false;
}
