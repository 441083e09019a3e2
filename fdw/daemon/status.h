/*
 * daemon/status.h - the daemon's state, according to its status file and to the failures of its jobs.
 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "../shm/layout.h"
#include "daemon/connection.h"

/* ---- status file ---- */

typedef enum GjDaemon
{
	GJ_DAEMON_ABSENT,			/* none, or it is stopping */
	GJ_DAEMON_OTHER_VERSION,	/* of the protocol, the layout or the job */
	GJ_DAEMON_SILENT,			/* no heartbeat lately: stopped, stuck or starved */
	GJ_DAEMON_READY
} GjDaemon;

/*
 * The state of the daemon behind gj_socket.  If it is READY, fills in *status, a
 * validated private copy; else *status is undefined.  Takes microseconds.
 */
extern GjDaemon gj_daemon_state(struct gj_status *status);

/*
 * Reads the load of the daemon behind socket.  Returns false, with *load all
 * zero, if it is unknown.
 */
extern bool gj_daemon_load(const char *socket, struct gj_load *load);

/*
 * Opens the file "<socket>.<suffix>".  Returns -1 if there is none that can be
 * trusted.
 */
extern int	gj_open_beside(const char *socket, const char *suffix);

/* ---- kept columns ---- */

/* What names a table's present file. */
typedef struct GjTableFile
{
	Oid			tablespace;
	Oid			database;
	uint32		number;
} GjTableFile;

/*
 * The share of a table's blocks of which the daemon with this load keeps all these
 * columns, 0 to 1.  attnums has the numbers as pull_varattnos() gives them.
 */
extern double gj_kept_share(const struct gj_load *load, const GjTableFile *file,
							const Bitmapset *attnums);

/* Could the daemon with this load not keep what was last read of the table? */
extern bool gj_kept_refused(const struct gj_load *load, const GjTableFile *file);

/* ---- load, the part of the status file that changes continuously ---- */

/*
 * Reads the load from an open status file, and retries if it met a concurrent
 * write.  Returns false, with *load all zero, if the load is unknown.
 */
extern bool gj_load_read(int fd, struct gj_load *load);

/* ---- when a daemon that failed is asked again ---- */

/*
 * Why the daemon at socket is not to be asked now for a job that feeds this
 * many bytes, or NULL if it is.  The text is valid until the next call; *fault
 * is the kind of the failures.
 */
extern const char *gj_breaker_reason(const char *socket, double bytes, GjFault *fault);

/* A job failed after cost_us, from the first attempt to connect on. */
extern void gj_breaker_failed(const char *socket, double bytes, GjFault fault,
							  uint64 cost_us, const char *reason);

/* Another daemon has taken the place of the one that failed. */
extern void gj_breaker_forget(void);

/* A job of this many bytes has been executed. */
extern void gj_breaker_succeeded(const char *socket, double bytes);

/* ---- the daemon's current load, as published in its status file ---- */

/*
 * Reads the load from an open status file, and retries if it met a concurrent
 * write.  Returns false, with *load all zero, if the load is unknown.
 */
extern bool gj_load_read(int fd, struct gj_load *load);

#endif							/* DAEMON_STATUS_H */
