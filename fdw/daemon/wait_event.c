/*
 * daemon/wait_event.c - what pg_stat_activity shows of a wait.
 *
 * Since 17, an extension names its own waits.  Before, all have one name.
 */
#include "postgres.h"

#include "compat.h"
#include "daemon/connection.h"

static const char *const names[GJ_NEVENTS] = {
	[GJ_EVENT_CONNECT] = "GpujoinConnect",
	[GJ_EVENT_ADMIT] = "GpujoinAdmit",
	[GJ_EVENT_FEED] = "GpujoinFeed",
	[GJ_EVENT_JOIN] = "GpujoinJoin",
	[GJ_EVENT_RESULT] = "GpujoinResult",
	[GJ_EVENT_PARTICIPANTS] = "GpujoinParticipants",
};

uint32
gj_wait_event(GjEvent event)
{
	static uint32 events[GJ_NEVENTS];	/* 0: not asked for yet */

	if (events[event] == 0)
		events[event] = gj_new_wait_event(names[event]);
	return events[event];
}
