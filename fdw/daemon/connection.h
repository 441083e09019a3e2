/*
 * daemon/connection.h - one socket connection to the daemon: connect, wait, frames.
 *
 * No function here raises an error because of the daemon.  Functions return
 * false instead, and conn->failure keeps the first reason.  Our own errors
 * (interrupts, out of memory) are raised as usual.
 */
#ifndef DAEMON_CONNECTION_H
#define DAEMON_CONNECTION_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "../shm/layout.h"
#include "util.h"

/* ---- why does the daemon not answer? ---- */

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

/* ---- connection ---- */

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
	GJ_FAULT_SOURCE,			/* not: a foreign server is at fault */
	GJ_NFAULTS
} GjFault;

/* What a backend waits for. */
typedef enum GjEvent
{
	GJ_EVENT_CONNECT,			/* a connection or its handshake */
	GJ_EVENT_ADMIT,				/* memory for the job */
	GJ_EVENT_FEED,				/* extents to fill */
	GJ_EVENT_JOIN,				/* the first rows */
	GJ_EVENT_RESULT,			/* further rows */
	GJ_EVENT_PARTICIPANTS,		/* other processes of the same query */
	GJ_NEVENTS
} GjEvent;

/* The event's number for a latch: daemon/wait_event.c. */
extern uint32 gj_wait_event(GjEvent event);

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
	StringInfo	held;			/* frames that wait for gj_send_held(); NULL: none does */
	MemoryContext context;		/* of body and held */
	char		socket[108];	/* path of the daemon's socket */
	pid_t		pid;			/* as seen here; 0: not visible */
	int			patience_ms;	/* interval of calls of answers(); 0: none */
	bool		committed;		/* a failure is an error: see daemon/wait.c */
	bool		(*answers) (struct GjConnection *conn); /* by gj_greet() */
	int			step_ms;		/* by which a wait is extended */
	GjEvent		event;			/* what it waits for now */
	uint64		wait_us;		/* spent waiting for the daemon */
	GjFault		fault;			/* of the failure */
	char		failure[GJ_REASON_SIZE];	/* empty while the connection is usable */
	char		sqlstate[6];	/* of GJ_FAULT_SOURCE, as the daemon sent it */
} GjConnection;

/* Initializes *conn.  The body buffer is allocated in context. */
extern void gj_connection_init(GjConnection *conn, MemoryContext context);

/*
 * Connects to the daemon's socket.  timeout_ms bounds the wait for a slot in
 * the daemon's listen backlog.  It also becomes step_ms, by which waits are
 * extended.  gj_greet() does this and the handshake.
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

/* ---- opens a connection to the daemon with a handshake ---- */

/*
 * Connects and negotiates the protocol, each within timeout_ms.  Afterwards
 * conn can check whether the daemon still answers.
 */
extern bool gj_greet(GjConnection *conn, const char *socket, int timeout_ms,
					 Size *extent_size);

/* ---- waits for the daemon's socket ---- */

/*
 * Every wait is a WaitLatchOrSocket(), so a cancel, a termination, a timeout or
 * the postmaster's death takes effect at once, regardless of the daemon's
 * state.
 */

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

/* ---- frames to and from the daemon ---- */

/* Sends one frame, whose payload is body followed by tail. */
extern bool gj_send(GjConnection *conn, enum gj_message type,
					const void *body, uint32 length,
					const void *tail, uint32 tail_length);

/*
 * Makes frames wait for gj_send_held(), which sends them together, so that the
 * daemon wakes once.  To be called before any answer to them is awaited.
 */
extern void gj_hold_frames(GjConnection *conn);
extern bool gj_send_held(GjConnection *conn);

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

#endif							/* DAEMON_CONNECTION_H */
