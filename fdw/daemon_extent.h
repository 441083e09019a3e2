/*
 * daemon_extent.h - extents as this process holds them: verified, mapped, counted.
 */
#ifndef GPUJOIN_DAEMON_EXTENT_H
#define GPUJOIN_DAEMON_EXTENT_H

#include "daemon_connection.h"

/* More than a process can hold at once: those granted, one being written, one
 * of a chain, and the batches of a result in flight with extents of chains. */
#define GJ_MAX_MAPPED (GJ_FRAME_MAX_FDS + 16)

typedef struct GjExtent
{
	uint64		id;
	char	   *base;			/* NULL: none */
} GjExtent;

typedef struct GjExtents
{
	GjConnection *conn;
	Size		size;			/* of every extent of this daemon */
	int			wanted;			/* asked for, not granted yet */
	int			nready;			/* granted, not taken yet */
	GjExtent	ready[GJ_FRAME_MAX_FDS];
	char	   *mapped[GJ_MAX_MAPPED];	/* all mappings; NULL: free place */
} GjExtents;

extern void gj_extents_init(GjExtents *extents, GjConnection *conn, Size size);

/* Unmaps whatever is mapped; may be called at any time. */
extern void gj_extents_close(GjExtents *extents);

/* Verifies and maps the extent behind fd, and closes fd in any case. */
extern bool gj_extent_map(GjExtents *extents, int fd, uint64 id, bool writable,
						  GjExtent *extent);

extern void gj_extent_unmap(GjExtents *extents, GjExtent *extent);

/* Unmaps an extent and gives it back. */
extern bool gj_extent_release(GjExtents *extents, GjExtent *extent);

/* Brings length bytes into this process's page table in one go. */
extern void gj_extent_touch(GjExtent *extent, Size length, bool writable);

/* Takes a granted extent to write to, waiting for one where needed, and asks
 * so that ahead more are granted or on their way. */
extern bool gj_extent_take(GjExtents *extents, int ahead, GjExtent *extent);

/* Asks so that count are granted or on their way. */
extern bool gj_extent_want(GjExtents *extents, int count);

/* Processes a GRANT frame that was just received. */
extern bool gj_extent_granted(GjExtents *extents);

/* Gives back all that is granted and not taken. */
extern bool gj_extent_return_ready(GjExtents *extents);

/* Bytes of data that an extent of a chain takes. */
static inline uint64
gj_chain_capacity(const GjExtents *extents)
{
	return extents->size - GJ_CHAIN_DATA_OFF;
}

#endif							/* GPUJOIN_DAEMON_EXTENT_H */
