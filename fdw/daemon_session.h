/*
 * daemon_session.h - one participant's place in one job of the daemon.
 */
#ifndef GPUJOIN_DAEMON_SESSION_H
#define GPUJOIN_DAEMON_SESSION_H

#include "feed_chain.h"
#include "daemon_extent.h"
#include "gpujoin.h"

typedef struct GjLink
{
	GjConnection conn;
	GjExtents	extents;
	bool		admitted;		/* OPEN or ATTACH was answered */
	bool		rewindable;		/* inputs are kept: it can run again */
	uint32		generation;		/* runs so far */
	int			participant;	/* ParallelWorkerNumber */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
	GjChain		chain;			/* of values that this participant feeds */
} GjLink;

/* Prepares *link, which holds nothing; its memory comes from context. */
extern void gj_link_init(GjLink *link, MemoryContext context);

/* Lets go of all: socket, descriptors, mappings.  The daemon sees the end of
 * the connection and frees the rest.  May be called at any time. */
extern void gj_link_close(GjLink *link);

/* Connects and agrees on the protocol. */
extern bool gj_link_connect(GjLink *link, const char *socket);

/* Opens a job for so many participants, of which this is one, and waits for
 * its admission. */
extern bool gj_link_open(GjLink *link, const GjPlan *plan, int participants,
						 bool rewindable);

/* Joins a job that another participant opened. */
extern bool gj_link_attach(GjLink *link, uint64 job, const uint8 *token);

/* All that this participant feeds is handed over. */
extern bool gj_link_fed(GjLink *link, uint64 rows, uint64 bytes, uint64 feed_us);

/* All participants have fed: let the join run, perhaps again; true once rows
 * will come. */
extern bool gj_link_run(GjLink *link);

/* gj_receive, but extents that were granted too late go back at once. */
extern bool gj_link_receive(GjLink *link, int timeout_ms);

/* Gives back the extents of the GRANT frame that was just received. */
extern bool gj_link_return_grant(GjLink *link);

#endif							/* GPUJOIN_DAEMON_SESSION_H */
