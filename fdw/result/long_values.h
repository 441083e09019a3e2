/*
 * result/long_values.h - reads values too long for a batch from their chains.
 *
 * feed/long_values.h describes how they are written.
 */
#ifndef RESULT_LONG_VALUES_H
#define RESULT_LONG_VALUES_H

#include "daemon/job_session.h"

/*
 * How many extents of chains a reader maps at once.  Results may refer to
 * values in any order.
 */
#define GJ_CHAIN_MAPPED 8

/* A mapped extent of some participant's chain. */
typedef struct GjChainExtent
{
	GjExtent	extent;			/* base NULL: none */
	uint64		chain;
	uint32		bytes;			/* bytes of data in it */
	uint64		last_used;
} GjChainExtent;

typedef struct GjChainReader
{
	GjLink	   *link;
	MemoryContext context;		/* of the values */

	/* saves a result frame that arrives during the wait for an extent */
	bool		(*stash) (void *stash_arg);
	void	   *stash_arg;

	GjChainExtent mapped[GJ_CHAIN_MAPPED];
	uint64		uses;
} GjChainReader;

/*
 * Returns the value of a reference, allocated in the reader's context.  NULL
 * if the daemon fails.
 */
extern char *gj_chain_receive(GjChainReader *chains, const struct gj_chain_ref *ref);

/* Returns the mapped extents to the daemon. */
extern bool gj_chain_release(GjChainReader *chains);

#endif							/* RESULT_LONG_VALUES_H */
