/*
 * feed/page/prefetch.c - finds the next page of a scan and brings it into the
 * processor's cache.
 *
 * A table in shared buffers is in memory, but not in the processor's cache.
 * Reading a page then waits for memory several times for each tuple: for its
 * header, its columns, and the buffer's entry in the table of buffers.  The
 * page's lines are requested while the page before is processed.  The table of
 * buffers is not searched if the next page is in the buffer where it is
 * expected: tables are often read into buffers in the order of their pages, by
 * one process or by several at a time.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "compat.h"
#include "feed/page/page.h"
#include "options.h"

#define CACHE_LINE 64

/*
 * How many pages are left out after one that is not in a buffer.  Asking for
 * it costs a system call, and a table that is read from files has many.
 */
#define SKIPPED_PAGES 64

/* How many buffers after a page's are searched for the next page. */
#define NEIGHBOURS 4

/*
 * Does a shared buffer seem to have this block?  It is neither locked nor
 * pinned, so this is no more than a guess.
 */
static bool
seems_to_have(Buffer buffer, BlockNumber block)
{
	return buffer > 0 && buffer <= NBuffers &&
		GetBufferDescriptor(buffer - 1)->tag.blockNum == block;
}

/*
 * The buffer near another one that seems to have a block.  InvalidBuffer if
 * there is none.
 */
static Buffer
nearby(const GjPrefetch *prefetch, Buffer buffer, BlockNumber block)
{
	if (buffer <= 0)
		return InvalidBuffer;	/* of a temporary table */
	if (seems_to_have(buffer + prefetch->distance, block))
		return buffer + prefetch->distance;
	for (int i = 1; i <= NEIGHBOURS; i++)
		if (seems_to_have(buffer + i, block))
			return buffer + i;
	return InvalidBuffer;
}

/* Requests the lines of half a page. */
static void
request_lines(const char *from)
{
	for (int line = 0; line < BLCKSZ / 2; line += CACHE_LINE)
		__builtin_prefetch(from + line);
}

void
gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block, Buffer buffer)
{
	Buffer		expected;
	const char *page;

	prefetch->next = InvalidBuffer;
	prefetch->rest = NULL;
	if (block == InvalidBlockNumber || !gj_corrects(GJ_PREFETCH))
		return;
	if (prefetch->skip > 0)
	{
		prefetch->skip--;
		return;
	}
	expected = nearby(prefetch, buffer, block);
	if (!BufferIsValid(expected))
		expected = PrefetchBuffer(rel, MAIN_FORKNUM, block).recent_buffer;
	if (!BufferIsValid(expected))
	{
		prefetch->skip = SKIPPED_PAGES;
		return;
	}
	prefetch->distance = expected - buffer;
	prefetch->next = expected;

	/*
	 * The buffer is not pinned.  It may already hold another page, whose lines
	 * are then requested in vain.
	 */
	page = BufferGetPage(expected);
	request_lines(page);
	prefetch->rest = page + BLCKSZ / 2;
}

void
gj_prefetch_rest(GjPrefetch *prefetch)
{
	if (prefetch->rest == NULL)
		return;
	request_lines(prefetch->rest);
	prefetch->rest = NULL;
}

/*
 * The usage count up to which ReadBufferExtended() would raise it.  A scan must
 * keep its pages in the buffers as others do.
 */
static uint32
least_usage(BufferAccessStrategy strategy)
{
	return strategy == NULL ? BM_MAX_USAGE_COUNT : 1;
}

Buffer
gj_prefetched_page(const GjPrefetch *prefetch, Relation rel, BlockNumber block,
				   BufferAccessStrategy strategy)
{
	Buffer		buffer = prefetch->next;
	uint32		state;

	if (buffer <= 0)
		return InvalidBuffer;
	state = pg_atomic_read_u32(&GetBufferDescriptor(buffer - 1)->state);
	if (BUF_STATE_GET_USAGECOUNT(state) < least_usage(strategy) ||
		!gj_read_recent_buffer(rel, block, buffer, strategy))
		return InvalidBuffer;
	return buffer;
}
