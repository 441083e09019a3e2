/*
 * daemon/job_session.h - one participant's connection to a job of the daemon.
 */
#ifndef DAEMON_JOB_SESSION_H
#define DAEMON_JOB_SESSION_H

#include "daemon/extent.h"
#include "feed/long_values.h"
#include "gpujoin.h"

typedef struct GjLink
{
	GjConnection conn;
	GjExtents	extents;
	bool		admitted;		/* the daemon answered OPEN or ATTACH */
	bool		rewindable;		/* inputs are kept for another run */
	uint32		generation;		/* runs so far */
	int			participant;	/* ParallelWorkerNumber */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	GjChain		chain;			/* of values fed by this participant */
} GjLink;

/* Initializes *link to hold nothing.  It allocates from context. */
extern void gj_link_init(GjLink *link, MemoryContext context);

/*
 * Releases the socket, the descriptors and the mappings.  The daemon notices
 * the end of the connection and frees the rest.  May be called at any time.
 */
extern void gj_link_close(GjLink *link);

/* Connects and negotiates the protocol. */
extern bool gj_link_connect(GjLink *link, const char *socket);

/*
 * Opens a job for the given number of participants, this one included, and
 * waits until the daemon admits it.  parameters are their values, separated by
 * commas.
 */
extern bool gj_link_open(GjLink *link, const GjPlan *plan, const char *parameters,
						 GjAlgorithm algorithm, int participants, bool rewindable);

/* Joins a job that another participant opened. */
extern bool gj_link_attach(GjLink *link, uint64 job, const uint8 *token);

/* Tells the daemon that this participant has fed all of its rows. */
extern bool gj_link_fed(GjLink *link, uint64 rows, uint64 bytes, uint64 feed_us);

/*
 * Lets the join run, for the first time or again, once all participants have
 * fed their rows.  Returns true once the daemon has promised rows.
 */
extern bool gj_link_run(GjLink *link);

/*
 * Like gj_receive(), but returns extents that were granted too late at once.
 */
extern bool gj_link_receive(GjLink *link, int timeout_ms);

/* Returns the extents of the GRANT frame just received. */
extern bool gj_link_return_grant(GjLink *link);

#endif							/* DAEMON_JOB_SESSION_H */
