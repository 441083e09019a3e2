/*
 * feed_prefetch.c - brings the next page of a scan into the processor's cache.
 *
 * A table in shared buffers is in memory, but not in the processor's cache.
 * Reading a page then waits for memory several times for each tuple: for its
 * header, its columns, and the buffer's entry in the table of buffers.  All of
 * these are requested while the page before is processed.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "feed_prefetch.h"

#define CACHE_LINE 64

/*
 * How many pages are left out after one that is not in a buffer.  Asking for
 * it costs a system call, and a table that is read from files has many.
 */
#define SKIPPED_PAGES 64

void
gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block)
{
	Buffer		buffer;
	const char *page;

	if (block == InvalidBlockNumber)
		return;
	if (prefetch->skip > 0)
	{
		prefetch->skip--;
		return;
	}
	buffer = PrefetchBuffer(rel, MAIN_FORKNUM, block).recent_buffer;
	if (!BufferIsValid(buffer))
	{
		prefetch->skip = SKIPPED_PAGES;
		return;
	}

	/*
	 * The buffer is not pinned.  It may already hold another page, whose lines
	 * are then requested in vain.
	 */
	page = BufferGetPage(buffer);
	for (int line = 0; line < BLCKSZ; line += CACHE_LINE)
		__builtin_prefetch(page + line);
}
