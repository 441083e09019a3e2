/*
 * feed/kept/capture.c - sends whole blocks that the daemon may keep.
 *
 * A block may be kept if all its rows were visible to everybody, and its page had
 * one LSN, from before its rows were read until after they were copied.  An LSN
 * that is not on disk may be used again after a crash, so it proves nothing.
 *
 * The rows of a block are in one batch: if they do not fit, the batch ends
 * before them.  A block with a value too long for a batch is not captured.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "feed/kept/capture.h"

/* Most blocks that the frame about one batch can list. */
#define MOST_BLOCKS ((GJ_FRAME_MAX - sizeof(struct gj_captured)) / sizeof(struct gj_captured_block))

struct GjCaptureFeed
{
	GjPageFeed *whole;			/* of the present leaf */
	uint32		first;			/* number of its first block in the input */
	GjWriter	writer;
	GjCapture	blocks;			/* of its batch */
	MemoryContext context;
	XLogRecPtr	flushed;		/* what is on disk, at least */
};

GjCaptureFeed *
gj_capture_begin(GjFeeder *feeder, int input, const GjWriter *writer, int sharers)
{
	MemoryContext old = MemoryContextSwitchTo(feeder->run_context);
	GjCaptureFeed *capture = palloc0(sizeof(GjCaptureFeed));

	capture->context = feeder->run_context;
	gj_writer_init(&capture->writer, feeder->link, &feeder->chain, feeder->plan, input,
				   writer->ncolumns, sharers, writer->scratch);
	capture->writer.capture = &capture->blocks;
	capture->writer.expected = 0;
	MemoryContextSwitchTo(old);
	return capture;
}

void
gj_capture_leaf(GjCaptureFeed *capture, GjPageFeed *whole, uint32 first)
{
	capture->whole = whole;
	capture->first = first;
}

GjWriter *
gj_capture_writer(GjCaptureFeed *capture)
{
	return &capture->writer;
}

Page
gj_capture_copy(const GjCaptureFeed *capture)
{
	return capture->whole->copy;
}

static bool
is_flushed(GjCaptureFeed *capture, XLogRecPtr lsn)
{
	if (lsn == InvalidXLogRecPtr)
		return false;
	if (lsn > capture->flushed)
		capture->flushed = GetFlushRecPtr(NULL);
	return lsn <= capture->flushed;
}

/* Is the page, which has been pinned since then, as it was when its rows were found? */
static bool
is_unchanged(Buffer buffer, XLogRecPtr lsn)
{
	pg_read_barrier();
	return PageIsAllVisible(BufferGetPage(buffer)) && BufferGetLSNAtomic(buffer) == lsn;
}

/* Records that the batch has all rows of a block, from number first on. */
static bool
note(GjCaptureFeed *capture, BlockNumber block, XLogRecPtr lsn, uint32 first)
{
	GjCapture  *blocks = &capture->blocks;
	bool		ok = true;

	if (blocks->n == blocks->size)
	{
		blocks->size = Max(256, 2 * blocks->size);
		blocks->blocks = blocks->blocks == NULL ?
			MemoryContextAlloc(capture->context, blocks->size * sizeof(struct gj_captured_block)) :
			repalloc(blocks->blocks, blocks->size * sizeof(struct gj_captured_block));
	}
	blocks->blocks[blocks->n++] = (struct gj_captured_block)
	{
		.lsn = lsn, .block = capture->first + block, .first_row = first
	};
	if (blocks->n == MOST_BLOCKS)
	{
		ok = gj_writer_finish(&capture->writer);
		blocks->n = 0;			/* a batch without rows is not sent */
	}
	return ok;
}

/*
 * Writes the rows of a page that does not fit the current batch into the next
 * one.  That may wait for the daemon, so the page is copied and unpinned.
 */
static GjPut
write_next(GjCaptureFeed *capture, HeapScanDesc scan, Page page)
{
	GjPageFeed *whole = capture->whole;
	int			n = whole->rows->n;

	gj_page_rows_move(whole->rows, page, whole->copy);
	gj_page_unpin(scan);
	if (!gj_writer_next(&capture->writer))
		return GJ_PUT_FAILED;
	gj_page_rows_vectors(whole->rows, whole->vectors);
	return gj_writer_append(&capture->writer, whole->vectors, &n);
}

GjCaptured
gj_capture_block(GjCaptureFeed *capture, HeapScanDesc scan, BlockNumber block,
				 XLogRecPtr lsn, GjPrefetch *prefetch)
{
	GjPageFeed *whole = capture->whole;
	GjWriter   *writer = &capture->writer;
	Page		page = BufferGetPage(scan->rs_cbuf);
	uint32		first = writer->rows;
	bool		copied;
	int			n;
	GjPut		put = GJ_PUT_OK;

	if (!is_flushed(capture, lsn))
		return GJ_CAPTURE_NOT;

	/* no condition and no filter: nothing that could fail */
	(void) gj_page_rows_load(whole->rows, page, scan->rs_vistuples, scan->rs_ntuples);
	gj_prefetch_rest(prefetch);
	n = whole->rows->n;
	gj_page_rows_vectors(whole->rows, whole->vectors);
	if (n > 0)
		put = gj_writer_append(writer, whole->vectors, &n);
	if (put == GJ_PUT_FULL)
		memcpy(whole->copy, page, BLCKSZ);
	copied = put == GJ_PUT_FULL && is_unchanged(scan->rs_cbuf, lsn);
	if (copied)
	{
		gj_writer_cut(writer, first);
		first = 0;
		put = write_next(capture, scan, page);
	}
	if (put == GJ_PUT_FAILED)
		return GJ_CAPTURE_FAILED;
	if (put == GJ_PUT_OK && (copied || is_unchanged(scan->rs_cbuf, lsn)))
		return note(capture, block, lsn, first) ? GJ_CAPTURE_DONE : GJ_CAPTURE_FAILED;
	gj_writer_cut(writer, first);
	return copied ? GJ_CAPTURE_COPIED : GJ_CAPTURE_NOT;
}

bool
gj_capture_end(GjCaptureFeed *capture, GjWriter *writer, bool ok)
{
	ok = ok && gj_writer_finish(&capture->writer);
	writer->total_rows += capture->writer.total_rows;
	writer->total_bytes += capture->writer.total_bytes;
	writer->unfit |= capture->writer.unfit;
	return ok;
}
