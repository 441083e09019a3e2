/*
 * feed_chain.h - values too long for a batch, as a participant writes them.
 *
 * Each participant that feeds such values has a chain of extents, which hold
 * the values one behind another, without gaps; a value may go on in the next
 * extent.  In its batch stands a reference that says where it begins.
 */
#ifndef GPUJOIN_FEED_CHAIN_H
#define GPUJOIN_FEED_CHAIN_H

#include "daemon_extent.h"

/* The end of this participant's own chain, which it writes. */
typedef struct GjChain
{
	GjExtent	extent;			/* base NULL: none */
	uint32		used;			/* bytes of its data */
	uint32		extents;		/* that are handed over */
} GjChain;

/*
 * Appends a value to the participant's chain, and fills the reference to it.
 * Waits for extents.
 */
extern bool gj_chain_write(GjExtents *extents, GjChain *chain, int participant,
						   const char *value, uint64 length, struct gj_chain_ref *ref);

/* Hands over the last extent of the chain. */
extern bool gj_chain_finish(GjExtents *extents, GjChain *chain, int participant);

#endif							/* GPUJOIN_FEED_CHAIN_H */
