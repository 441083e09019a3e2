/*
 * feed/kept/capture.h - sends whole blocks that the daemon may keep.
 */
#ifndef FEED_KEPT_CAPTURE_H
#define FEED_KEPT_CAPTURE_H

#include "postgres.h"

#include "access/heapam.h"
#include "storage/bufpage.h"

#include "feed/feed.h"
#include "feed/page/page.h"
#include "feed/writer.h"

typedef struct GjCaptureFeed GjCaptureFeed;

/* What became of a block. */
typedef enum GjCaptured
{
	GJ_CAPTURE_DONE,
	GJ_CAPTURE_NOT,				/* feed its rows; the page is still pinned */
	GJ_CAPTURE_COPIED,			/* the same, from gj_capture_copy() */
	GJ_CAPTURE_FAILED			/* the connection has the reason */
} GjCaptured;

/* Begins to capture blocks of an input.  writer is that of its other rows. */
extern GjCaptureFeed *gj_capture_begin(GjFeeder *feeder, int input, const GjWriter *writer,
									   int sharers);

/*
 * The blocks that follow are those of a leaf, which whole reads.  In the input, they
 * are numbered from first on.  A batch may have blocks of several leaves.
 */
extern void gj_capture_leaf(GjCaptureFeed *capture, GjPageFeed *whole, uint32 first);

/*
 * Writes all rows of the scan's page, which gj_find_visible_tuples() has found at
 * this LSN, if the block may be kept.
 */
extern GjCaptured gj_capture_block(GjCaptureFeed *capture, HeapScanDesc scan,
								   BlockNumber block, XLogRecPtr lsn, GjPrefetch *prefetch);

/* The copy of the page that was unpinned. */
extern Page gj_capture_copy(const GjCaptureFeed *capture);

extern GjWriter *gj_capture_writer(GjCaptureFeed *capture);

/*
 * Hands over what is left, if ok, and adds what was written to the other writer's
 * totals.
 */
extern bool gj_capture_end(GjCaptureFeed *capture, GjWriter *writer, bool ok);

#endif							/* FEED_KEPT_CAPTURE_H */
