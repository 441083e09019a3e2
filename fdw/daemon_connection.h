/*
 * daemon_connection.h - one socket to the daemon, and frames on it.
 *
 * Nothing here raises an error for what the daemon does or fails to do:
 * functions return false, and the first reason stays in failure.  Errors of
 * our own side (interrupts, memory) are raised as everywhere.
 */
#ifndef GPUJOIN_DAEMON_CONNECTION_H
#define GPUJOIN_DAEMON_CONNECTION_H

#include "postgres.h"

#include "../shm/layout.h"
#include "clock.h"

/* How often a wait with an end is made step_ms longer, at most, because the
 * daemon is starved of processor time. */
#define GJ_MAX_EXTENSIONS	9

/* Bytes of the text that says why something failed. */
#define GJ_REASON_SIZE 512

/* How a wait for the daemon ends. */
typedef enum GjWait
{
	GJ_WAIT_DONE,
	GJ_WAIT_TIMEOUT,			/* no harm is done: wait again, or later */
	GJ_WAIT_FAILED				/* the reason is in the connection */
} GjWait;

typedef struct GjConnection
{
	int			fd;				/* -1: not connected */
	bool		counted;		/* holds a place of AcquireExternalFD */
	int			nfds;			/* of the last frame, not taken yet */
	int			fds[GJ_FRAME_MAX_FDS];
	struct gj_frame frame;		/* the last one received, validated */
	Size		received;		/* bytes of one that is not complete yet */
	bool		stats_owed;		/* STATS was asked for and has not come */
	char	   *body;			/* frame.length bytes, zero byte behind */
	Size		body_size;		/* allocated */
	MemoryContext context;		/* of body */
	char		socket[108];	/* where the daemon was found */
	pid_t		pid;			/* of the daemon as seen here; 0: not to be seen */
	int			patience_ms;	/* 0, or how often an endless wait calls answers */
	bool		(*answers) (struct GjConnection *conn); /* does it? set by gj_greet() */
	int			step_ms;		/* by which the wait for one that is starved of
								 * processor time grows */
	uint64		wait_us;		/* spent waiting for the daemon */
	uint32		failure_code;	/* enum gj_failure where the daemon said so */
	char		failure[GJ_REASON_SIZE];	/* empty while the connection is usable */
} GjConnection;

/* Prepares *conn; body lives in context. */
extern void gj_connection_init(GjConnection *conn, MemoryContext context);

/* Connects to the daemon's socket.  timeout_ms bounds the wait for a place in
 * the daemon's backlog, and is the step by which waits grow for a starved one.
 * What follows is up to daemon_handshake.h. */
extern bool gj_connection_open(GjConnection *conn, const char *path,
							   int timeout_ms);

/* Closes; may be called at any time and any number of times. */
extern void gj_connection_close(GjConnection *conn);

/* Sends a frame of body and, directly behind it, tail. */
extern bool gj_send(GjConnection *conn, enum gj_message type,
					const void *body, uint32 length,
					const void *tail, uint32 tail_length);

/* Receives the next frame into conn->frame and conn->body.  timeout_ms < 0
 * waits without bound (but for interrupts, and patience_ms).  A daemon that is
 * starved of processor time gets up to GJ_MAX_EXTENSIONS steps more, unless
 * timeout_ms is 0.  A FAILED frame is a failure.  A STATS frame that is owed is
 * skipped: whoever asked for it has given up. */
extern bool gj_receive(GjConnection *conn, int timeout_ms);

/* The same for whoever waits for STATS: no frame is skipped, and a timeout is
 * no failure, even in the middle of a frame.  at_us is a time of gj_now_us(). */
extern GjWait gj_receive_until(GjConnection *conn, uint64 at_us);

/* Receives a frame that must be of this type and at least this long. */
extern bool gj_expect(GjConnection *conn, enum gj_message type,
					  uint32 length, int timeout_ms);

/* Is something there to be read, without waiting? */
extern bool gj_readable(GjConnection *conn);

/* Takes descriptor i of the last frame; the caller closes it. */
extern int	gj_take_fd(GjConnection *conn, int i);

/* Records the first reason; always returns false. */
extern bool gj_fail(GjConnection *conn, const char *format,...)
			pg_attribute_printf(2, 3);

#endif							/* GPUJOIN_DAEMON_CONNECTION_H */
