/*
 * feed/long_values.h - writes values too long for a batch into a chain of extents.
 *
 * Each participant that feeds such values has a chain of extents.  The chain
 * stores the values one after another, without gaps, and a value may continue
 * in the next extent.  The batch contains a reference with the position of the
 * value's start.
 */
#ifndef FEED_LONG_VALUES_H
#define FEED_LONG_VALUES_H

#include "daemon/extent.h"

/* The write position of this participant's own chain. */
typedef struct GjChain
{
	GjExtent	extent;			/* base NULL: none */
	uint32		used;			/* bytes of data in it */
	uint32		extents;		/* number of extents handed over */
} GjChain;

/*
 * Appends a value to the participant's chain and fills in the reference to it.
 * Waits for extents if necessary.
 */
extern bool gj_chain_write(GjExtents *extents, GjChain *chain, int participant,
						   const char *value, uint64 length, struct gj_chain_ref *ref);

/* Hands over the last extent of the chain. */
extern bool gj_chain_finish(GjExtents *extents, GjChain *chain, int participant);

#endif							/* FEED_LONG_VALUES_H */
