/*
 * daemon/connection.h - one socket connection to the daemon.
 *
 * No function here raises an error because of the daemon.  Functions return
 * false instead, and conn->failure keeps the first reason.  Our own errors
 * (interrupts, out of memory) are raised as usual.
 */
#ifndef DAEMON_CONNECTION_H
#define DAEMON_CONNECTION_H

#include "postgres.h"

#include "../shm/layout.h"
#include "util/clock.h"

/*
 * How often, at most, a bounded wait is extended by step_ms because the daemon
 * gets too little processor time.
 */
#define GJ_MAX_EXTENSIONS	9

/* Bytes of the buffer for a failure reason. */
#define GJ_REASON_SIZE 512

/* Outcome of a wait for the daemon. */
typedef enum GjWait
{
	GJ_WAIT_DONE,
	GJ_WAIT_TIMEOUT,			/* not an error: the caller may wait again */
	GJ_WAIT_FAILED				/* conn->failure has the reason */
} GjWait;

/* Whether, and how, a failure speaks against asking the daemon again soon. */
typedef enum GjFault
{
	GJ_FAULT_NONE,				/* not: the job or this process is at fault */
	GJ_FAULT_SILENT,			/* it cannot be reached, or does not answer */
	GJ_FAULT_BUSY,				/* it lacks memory or descriptors for the job */
	GJ_FAULT_FAILING,			/* it gave up, or broke off */
	GJ_NFAULTS
} GjFault;

typedef struct GjConnection
{
	int			fd;				/* -1: not connected */
	bool		counted;		/* AcquireExternalFD() was called */
	int			nfds;			/* of the last frame, not taken yet */
	int			fds[GJ_FRAME_MAX_FDS];
	struct gj_frame frame;		/* the last one received, validated */
	Size		received;		/* bytes of an incomplete frame */
	bool		stats_owed;		/* STATS requested but not received yet */
	char	   *body;			/* frame.length bytes, then a zero byte */
	Size		body_size;		/* allocated */
	MemoryContext context;		/* of body */
	char		socket[108];	/* path of the daemon's socket */
	pid_t		pid;			/* as seen here; 0: not visible */
	int			patience_ms;	/* interval of calls of answers(); 0: none */
	bool		committed;		/* a failure is an error: see daemon/wait.c */
	bool		(*answers) (struct GjConnection *conn); /* by gj_greet() */
	int			step_ms;		/* by which a wait is extended */
	uint64		wait_us;		/* spent waiting for the daemon */
	GjFault		fault;			/* of the failure */
	char		failure[GJ_REASON_SIZE];	/* empty while the connection is usable */
} GjConnection;

/* Initializes *conn.  The body buffer is allocated in context. */
extern void gj_connection_init(GjConnection *conn, MemoryContext context);

/*
 * Connects to the daemon's socket.  timeout_ms bounds the wait for a slot in
 * the daemon's listen backlog.  It also becomes step_ms, by which waits are
 * extended. The handshake is left to daemon/handshake.h.
 */
extern bool gj_connection_open(GjConnection *conn, const char *path,
							   int timeout_ms);

/* Closes the connection.  Safe to call at any time, and repeatedly. */
extern void gj_connection_close(GjConnection *conn);

/* Closes the descriptors of the last frame that are not taken yet. */
extern void gj_drop_fds(GjConnection *conn);

/* Takes descriptor i of the last frame.  The caller must close it. */
extern int	gj_take_fd(GjConnection *conn, int i);

/*
 * Records the reason, unless one is recorded already.  Always returns false.
 */
extern bool gj_fail(GjConnection *conn, const char *format,...)
			pg_attribute_printf(2, 3);

/* gj_fail() for a failure that is the daemon's. */
extern bool gj_fail_by(GjConnection *conn, GjFault fault, const char *format,...)
			pg_attribute_printf(3, 4);

/* errdetail() with the failure as a sentence, for use within ereport(). */
extern int	gj_failure_detail(const GjConnection *conn);

#endif							/* DAEMON_CONNECTION_H */
