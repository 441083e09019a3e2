/*
 * daemon/frame.h - frames to and from the daemon.
 */
#ifndef DAEMON_FRAME_H
#define DAEMON_FRAME_H

#include "postgres.h"

#include "daemon/connection.h"

/* Sends one frame, whose payload is body followed by tail. */
extern bool gj_send(GjConnection *conn, enum gj_message type,
					const void *body, uint32 length,
					const void *tail, uint32 tail_length);

/*
 * Receives the next frame into conn->frame and conn->body.  If timeout_ms < 0,
 * the wait is bounded only by interrupts and patience_ms.  Unless timeout_ms
 * is 0, a daemon that gets too little processor time is given up to
 * GJ_MAX_EXTENSIONS extensions.  A FAILED frame counts as a failure.  A STATS
 * frame that is still owed is skipped, because its requester has given up.
 */
extern bool gj_receive(GjConnection *conn, int timeout_ms);

/*
 * Like gj_receive(), for a caller that waits for STATS: it skips no frame, and
 * a timeout is not a failure, even in the middle of a frame.  at_us is on the
 * clock of gj_now_us().
 */
extern GjWait gj_receive_until(GjConnection *conn, uint64 at_us);

/* Receives a frame, which must have this type and at least this length. */
extern bool gj_expect(GjConnection *conn, enum gj_message type,
					  uint32 length, int timeout_ms);

/* Can data be read without waiting? */
extern bool gj_readable(GjConnection *conn);

#endif							/* DAEMON_FRAME_H */
