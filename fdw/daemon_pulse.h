/*
 * daemon_pulse.h - why does the daemon not answer?
 */
#ifndef GPUJOIN_DAEMON_PULSE_H
#define GPUJOIN_DAEMON_PULSE_H

#include "postgres.h"

#include "../shm/layout.h"

/* What two looks at a daemon that does not answer tell. */
typedef enum GjPulse
{
	GJ_PULSE_UNKNOWN,			/* look again, GJ_PULSE_MS later */
	GJ_PULSE_STARVED,			/* it waits for processor time */
	GJ_PULSE_STOPPED,			/* its process is stopped, or traced */
	GJ_PULSE_STUCK				/* it has processor time, or asks for none */
} GjPulse;

/* From one look to the next, at least: some beats of a healthy daemon. */
#define GJ_PULSE_MS		(4 * GJ_BEAT_MS)

/* A look: how often the daemon had beaten then. */
typedef struct GjLook
{
	uint64		at_us;			/* 0: there was none */
	uint64		beats;			/* 0: unknown */
} GjLook;

/*
 * Looks at the daemon behind socket and compares with *before, which becomes
 * this look.  pid is its process as this process sees it, 0: not at all.
 */
extern GjPulse gj_pulse(const char *socket, pid_t pid, GjLook *before);

#endif							/* GPUJOIN_DAEMON_PULSE_H */
