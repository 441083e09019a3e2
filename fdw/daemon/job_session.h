/*
 * daemon/job_session.h - one participant's connection to a job of the daemon, and the extents that it holds.
 */
#ifndef DAEMON_JOB_SESSION_H
#define DAEMON_JOB_SESSION_H

#include "postgres.h"

#include "daemon/connection.h"
#include "job/job.h"

/* ---- shared-memory extents held by this process ---- */

/*
 * Upper bound of the extents that a process maps at once: those granted, one
 * being written, one of a chain, the filters of the input being fed, and the
 * result batches in flight with extents of chains.
 */
#define GJ_MAX_MAPPED (GJ_FRAME_MAX_FDS + GJ_MAX_INPUT_FILTERS + 16)

typedef struct GjExtent
{
	uint64		id;
	char	   *base;			/* NULL: none */
} GjExtent;

typedef struct GjExtents
{
	GjConnection *conn;
	Size		size;			/* of each of this daemon's extents */
	int			wanted;			/* requested, not answered yet: sum of wants */
	int			nwants;			/* requests not answered yet */
	uint8		wants[GJ_FRAME_MAX_FDS];	/* their extents, the oldest first */
	bool		scarce;			/* a request was met in part: request none ahead */
	int			nready;			/* granted, not taken yet */
	GjExtent	ready[GJ_FRAME_MAX_FDS];
	char	   *mapped[GJ_MAX_MAPPED];	/* all mappings; NULL: free entry */
} GjExtents;

extern void gj_extents_init(GjExtents *extents, GjConnection *conn, Size size);

/* Removes all mappings.  May be called at any time. */
extern void gj_extents_close(GjExtents *extents);

/*
 * Verifies and maps the extent behind fd.  Closes fd on success and on
 * failure.
 */
extern bool gj_extent_map(GjExtents *extents, int fd, uint64 id, bool writable,
						  GjExtent *extent);

extern void gj_extent_unmap(GjExtents *extents, GjExtent *extent);

/* Unmaps an extent and returns it to the daemon. */
extern bool gj_extent_release(GjExtents *extents, GjExtent *extent);

/*
 * Populates this process's page table for length bytes from offset on with one system
 * call, unless they are so few that faults take no longer.
 */
extern void gj_extent_touch(GjExtent *extent, Size offset, Size length, bool writable);

/*
 * Takes a granted extent to write to, and waits for one if necessary.
 * Requests more, so that a further "ahead" extents are granted or requested,
 * unless the daemon has shown that it lacks memory.
 */
extern bool gj_extent_take(GjExtents *extents, int ahead, GjExtent *extent);

/* Processes the GRANT frame just received. */
extern bool gj_extent_granted(GjExtents *extents);

/* Returns all extents that are granted but not taken. */
extern bool gj_extent_return_ready(GjExtents *extents);

/* Bytes of data that fit one extent of a chain. */
static inline uint64
gj_chain_capacity(const GjExtents *extents)
{
	return extents->size - GJ_CHAIN_DATA_OFF;
}

/* ---- job session ---- */

typedef struct GjLink
{
	GjConnection conn;
	GjExtents	extents;
	int			queue_ms;		/* for which the daemon may let the job wait for memory */
	bool		admitted;		/* the daemon answered OPEN or ATTACH */
	uint32		early;			/* bytes of PAGES sent before that */
	bool		rewindable;		/* inputs are kept for another run */
	uint32		generation;		/* runs so far */
	int			participant;	/* ParallelWorkerNumber */
	uint64		job;
	uint8		token[GJ_TOKEN_SIZE];
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
 * Opens a job for the given number of participants, this one included.
 * gj_link_admitted() sends this, with the PAGES that follow, and waits for the answer.
 */
extern bool gj_link_open(GjLink *link, const GjPlan *plan, const GjRuntime *runtime,
						 int participants, bool rewindable);

/* Waits until the daemon admits the job, unless it has. */
extern bool gj_link_admitted(GjLink *link);

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
