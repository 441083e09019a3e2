/*
 * feed/page/prefetch.c - finds the next page of a scan and brings it into the
 * processor's cache.
 *
 * A table in shared buffers is in memory, but not in the processor's cache.
 * Reading a page then waits for memory several times for each tuple: for its
 * header, its columns, and the buffer's entry in the table of buffers.  The
 * page's lines are requested while the page before is processed.  Of wide tuples,
 * only the lines that are read are requested: all lines of a page take longer than
 * feeding few tuples.
 *
 * The table of buffers is not searched if the next page is in the buffer where it
 * is expected: tables are often read into buffers in the order of their pages, by
 * one process or by several at a time.
 */
#include "postgres.h"

#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"

#include "compat_heap.h"
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

bool
gj_seems_to_have(Buffer buffer, BlockNumber block)
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
	if (gj_seems_to_have(buffer + prefetch->distance, block))
		return buffer + prefetch->distance;
	for (int i = 1; i <= NEIGHBOURS; i++)
		if (gj_seems_to_have(buffer + i, block))
			return buffer + i;
	return InvalidBuffer;
}

/* Requests the lines of these bytes of a page. */
static inline void
request_lines(const char *page, int from, int end)
{
	for (int line = from & ~(CACHE_LINE - 1); line < end; line += CACHE_LINE)
		__builtin_prefetch(page + line);
}

/* The lines that the first bytes of a tuple lie in, at most. */
static inline int
lines_of(int bytes)
{
	return 1 + (bytes + CACHE_LINE - 2) / CACHE_LINE;
}

/*
 * The most lines of a page that are requested one by one.  Measured with 2 lines of
 * each tuple: a page of 3 tuples takes 0.6 us instead of 0.9, one of 16 takes 0.74
 * instead of 0.87, one of 32 takes 1.0 instead of 0.9.
 */
#define SPARSE_LINES (BLCKSZ / CACHE_LINE * 3 / 8)

/* Are only few lines read of a page with so many tuples? */
static bool
is_sparse(int tuples, int reach)
{
	return reach > 0 && tuples * lines_of(reach) <= SPARSE_LINES;
}

/*
 * Requests the lines of a page's tuples that are read.  The page is not pinned, and
 * its buffer may hold another one by now, or get it: what is read here is only used
 * to request lines of this buffer.
 */
static void
request_tuples(const char *page, int reach)
{
	const PageHeaderData *header = (const PageHeaderData *) page;
	int			lower = Min(header->pd_lower, SizeOfPageHeaderData + MaxHeapTuplesPerPage * sizeof(ItemIdData));
	int			tuples = (lower - (int) SizeOfPageHeaderData) / (int) sizeof(ItemIdData);

	for (int i = 0; i < tuples; i++)
	{
		int			offset = header->pd_linp[i].lp_off;

		request_lines(page, offset, Min(offset + reach, BLCKSZ));
	}
}

void
gj_prefetch_page(GjPrefetch *prefetch, Relation rel, BlockNumber block, Buffer buffer,
				 int reach)
{
	Buffer		expected;
	const char *page;
	int			tuples;

	prefetch->next = InvalidBuffer;
	prefetch->rest = prefetch->sparse = NULL;
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
	tuples = PageGetMaxOffsetNumber(BufferGetPage(buffer));	/* this one has about as many */
	if (is_sparse(tuples, reach))
	{
		request_lines(page, 0, SizeOfPageHeaderData + tuples * sizeof(ItemIdData));
		prefetch->sparse = page;
		prefetch->reach = reach;
		return;
	}
	request_lines(page, 0, BLCKSZ / 2);
	prefetch->rest = page;
}

void
gj_prefetch_rest(GjPrefetch *prefetch)
{
	if (prefetch->rest != NULL)
		request_lines(prefetch->rest, BLCKSZ / 2, BLCKSZ);
	if (prefetch->sparse != NULL)
		request_tuples(prefetch->sparse, prefetch->reach);
	prefetch->rest = prefetch->sparse = NULL;
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
	GjBufferState state;

	if (buffer <= 0)
		return InvalidBuffer;
	state = gj_buffer_state(GetBufferDescriptor(buffer - 1));
	if (BUF_STATE_GET_USAGECOUNT(state) < least_usage(strategy) ||
		!gj_read_recent_buffer(rel, block, buffer, strategy))
		return InvalidBuffer;
	return buffer;
}
