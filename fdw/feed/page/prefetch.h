/*
 * feed/page/prefetch.h - finds the next page of a scan and brings it into the
 * processor's cache.
 */
#ifndef FEED_PAGE_PREFETCH_H
#define FEED_PAGE_PREFETCH_H

#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

/* Starts with all fields zero. */
typedef struct GjPrefetch
{
	int			skip;			/* pages before the next attempt */
	Buffer		next;			/* probably has the next page; invalid: unknown */
	int			distance;		/* from the buffer of the page before it */
	const char *rest;			/* its half that was not requested; or NULL */
} GjPrefetch;

/*
 * Requests half of the cache lines of a page that the scan reads next, after
 * the one in buffer.  Does nothing if block is InvalidBlockNumber.
 */
extern void gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block,
							 Buffer buffer);

/*
 * Requests the other half.  A processor may ignore requests if too many are
 * pending, so this comes some time after the first half.
 */
extern void gj_prefetch_rest(GjPrefetch *prefetch);

/*
 * Pins the page that was requested last, if its buffer is known.  Returns
 * InvalidBuffer if it is not.
 */
extern Buffer gj_prefetched_page(const GjPrefetch *prefetch, Relation rel,
								 BlockNumber block, BufferAccessStrategy strategy);

#endif							/* FEED_PAGE_PREFETCH_H */
