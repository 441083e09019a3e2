/*
 * daemon/hung.h - why does the daemon not answer?
 */
#ifndef DAEMON_HUNG_H
#define DAEMON_HUNG_H

#include "postgres.h"

#include "../shm/layout.h"

/* Why the daemon hangs, from two looks at a daemon that does not answer. */
typedef enum GjHung
{
	GJ_HUNG_UNKNOWN,			/* look again, GJ_LOOK_INTERVAL_MS later */
	GJ_HUNG_STARVED,			/* it waits for processor time */
	GJ_HUNG_STOPPED,			/* its process is stopped, or traced */
	GJ_HUNG_STUCK				/* it has processor time, or asks for none */
} GjHung;

/* Minimum time between two looks: several heartbeats of a healthy daemon. */
#define GJ_LOOK_INTERVAL_MS		(4 * GJ_BEAT_MS)

/* One look: when it was taken, and the heartbeat count at that time. */
typedef struct GjLook
{
	uint64		at_us;			/* 0: there was none */
	uint64		beats;			/* 0: unknown */
	bool		stopped;		/* the process was stopped, or traced */
} GjLook;

/*
 * Looks at the daemon behind socket and compares the result with *before,
 * which is then replaced by this look.  pid is the daemon's process id in our
 * pid namespace, or 0 if it is not visible.
 */
extern GjHung gj_hung(const char *socket, pid_t pid, GjLook *before);

/*
 * Has the daemon done nothing at all since *before, which this look replaces?
 * It has not if there was no look before, or if a thread of it waits for the
 * processor or a disk.
 */
extern bool gj_stands_still(const char *socket, pid_t pid, GjLook *before);

#endif							/* DAEMON_HUNG_H */
