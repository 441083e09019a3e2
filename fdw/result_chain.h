/*
 * result_chain.h - values too long for a batch, as a reader of results gets
 * them.  feed_chain.h says how they are written.
 */
#ifndef GPUJOIN_RESULT_CHAIN_H
#define GPUJOIN_RESULT_CHAIN_H

#include "daemon_session.h"

/* Extents of chains that a reader maps at a time; results name values in any
 * order. */
#define GJ_CHAIN_MAPPED 8

/* An extent of any participant's chain, which a reader maps. */
typedef struct GjChainExtent
{
	GjExtent	extent;			/* base NULL: none */
	uint64		chain;
	uint32		bytes;			/* of its data */
	uint64		last_used;
} GjChainExtent;

typedef struct GjChainReader
{
	GjLink	   *link;
	MemoryContext context;		/* of the values */

	/* keeps a frame of results that comes while an extent is waited for */
	bool		(*stash) (void *stash_arg);
	void	   *stash_arg;

	GjChainExtent mapped[GJ_CHAIN_MAPPED];
	uint64		uses;
} GjChainReader;

/* The value that a reference stands for, allocated in the reader's context;
 * NULL where the daemon fails. */
extern char *gj_chain_receive(GjChainReader *chains, const struct gj_chain_ref *ref);

/* Gives back the extents that are mapped. */
extern bool gj_chain_release(GjChainReader *chains);

#endif							/* GPUJOIN_RESULT_CHAIN_H */
