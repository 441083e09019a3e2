/*
 * daemon/wait.h - waits for the daemon's socket.
 *
 * Every wait is a WaitLatchOrSocket(), so a cancel, a termination, a timeout or
 * the postmaster's death takes effect at once, regardless of the daemon's
 * state.
 */
#ifndef DAEMON_WAIT_H
#define DAEMON_WAIT_H

#include "postgres.h"

#include "daemon/connection.h"
#include "daemon/hung.h"

/*
 * A bounded wait.  It is extended if the daemon gets too little processor
 * time.
 */
typedef struct GjDeadline
{
	uint64		at_us;			/* 0: never */
	bool		firm;			/* never extended */
	bool		quiet;			/* reaching it is not a failure */
	int			extensions;		/* so far */
	GjLook		look;			/* the latest look at the daemon */
} GjDeadline;

/* timeout_ms < 0: never.  timeout_ms = 0: now, and never extended. */
extern GjDeadline gj_deadline_in(int timeout_ms);

/*
 * Extends a deadline that has passed.  Returns false, with the reason
 * recorded, if it may not be extended.
 */
extern bool gj_is_put_off(GjConnection *conn, GjDeadline *deadline);

/*
 * Waits until the socket is ready for event: WL_SOCKET_READABLE or
 * WL_SOCKET_WRITEABLE.
 */
extern GjWait gj_wait_socket(GjConnection *conn, int event, GjDeadline *deadline);

#endif							/* DAEMON_WAIT_H */
