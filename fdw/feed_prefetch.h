/*
 * feed_prefetch.h - brings the next page of a scan into the processor's cache.
 */
#ifndef GPUJOIN_FEED_PREFETCH_H
#define GPUJOIN_FEED_PREFETCH_H

#include "storage/block.h"
#include "utils/relcache.h"

/* Starts with all fields zero. */
typedef struct GjPrefetch
{
	int			skip;			/* pages before the next attempt */
} GjPrefetch;

/*
 * Requests the cache lines of a page that the scan reads soon.  Does nothing
 * if block is InvalidBlockNumber.
 */
extern void gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block);

#endif							/* GPUJOIN_FEED_PREFETCH_H */
