/*
 * feed/kept/prove.c - finds blocks that have not changed since they were kept.
 *
 * Every change of a page stamps it with a new LSN, so a page with the LSN that
 * the daemon remembers has not changed.  Reading it without a lock is enough: a
 * change that is under way is of a transaction that the snapshot does not see.
 *
 * The LSN takes little time once the page's buffer is known and its header is in
 * the processor's cache.  Both are prepared for pages further on.  Tables often
 * lie in buffers in the order of their pages; else the table of buffers is
 * searched, or the page is read ahead from the file.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "feed/kept/kept.h"
#include "feed/page/page.h"

/* How many pages ahead a buffer's descriptor and a page's header are requested. */
#define DESCRIPTORS_AHEAD 24
#define HEADERS_AHEAD 12

/* How many pages the kernel reads ahead, at least. */
#define READ_AHEAD 16

/* Where the block is if buffers have the order of the pages. */
static Buffer
expected(const GjTrail *trail, BlockNumber block)
{
	int64		buffer = (int64) trail->buffer + ((int64) block - (int64) trail->block);

	return !BufferIsValid(trail->buffer) || buffer <= 0 || buffer > NBuffers ?
		InvalidBuffer : (Buffer) buffer;
}

static void
request_descriptor(const GjTrail *trail, GjWork *work)
{
	work->buffer = expected(trail, work->block);
	if (BufferIsValid(work->buffer))
		__builtin_prefetch(GetBufferDescriptor(work->buffer - 1), 1);
}

/*
 * Searches the table of buffers, or has the page read ahead.  That is a system
 * call, which the kernel's own reading ahead makes needless for the pages that
 * follow one in no buffer.
 */
static Buffer
find(Relation rel, GjTrail *trail, BlockNumber block)
{
	Buffer		buffer;

	if (block < trail->ahead && block > trail->missing)
		return InvalidBuffer;
	buffer = PrefetchBuffer(rel, MAIN_FORKNUM, block).recent_buffer;
	if (!BufferIsValid(buffer))
	{
		trail->missing = block;
		trail->ahead = block + READ_AHEAD;
	}
	return buffer;
}

static void
request_header(Relation rel, GjTrail *trail, GjWork *work)
{
	if (!gj_seems_to_have(work->buffer, work->block))
		work->buffer = expected(trail, work->block);
	if (!gj_seems_to_have(work->buffer, work->block))
		work->buffer = find(rel, trail, work->block);
	if (!BufferIsValid(work->buffer))
		return;
	trail->block = work->block;
	trail->buffer = work->buffer;
	__builtin_prefetch(BufferGetPage(work->buffer));
}

/*
 * Pins the page.  One that is about to be evicted is read as usual, which counts
 * as a use.
 */
static Buffer
pin(HeapScanDesc scan, const GjWork *work)
{
	Relation	rel = scan->rs_base.rs_rd;

	if (BufferIsValid(work->buffer) &&
		BUF_STATE_GET_USAGECOUNT(pg_atomic_read_u32(&GetBufferDescriptor(work->buffer - 1)->state)) > 0 &&
		gj_read_recent_buffer(rel, work->block, work->buffer, scan->rs_strategy))
		return work->buffer;
	return ReadBufferExtended(rel, MAIN_FORKNUM, work->block, RBM_NORMAL, scan->rs_strategy);
}

int
gj_kept_prove_blocks(GjKept *kept, HeapScanDesc scan, GjTrail *trail, GjWork *work, int n)
{
	Relation	rel = scan->rs_base.rs_rd;
	int			described = 0;
	int			requested = 0;
	int			left = 0;

	for (int i = 0; i < n; i++)
	{
		Buffer		buffer;
		bool		same;

		CHECK_FOR_INTERRUPTS();
		for (; described < Min(n, i + DESCRIPTORS_AHEAD); described++)
			if (work[described].lsn != InvalidXLogRecPtr)
				request_descriptor(trail, &work[described]);
		for (; requested < Min(n, i + HEADERS_AHEAD); requested++)
			if (work[requested].lsn != InvalidXLogRecPtr)
				request_header(rel, trail, &work[requested]);
		if (work[i].lsn == InvalidXLogRecPtr)
		{
			work[left++] = work[i];
			continue;
		}
		buffer = pin(scan, &work[i]);
		same = BufferGetLSNAtomic(buffer) == work[i].lsn;
		ReleaseBuffer(buffer);
		if (same)
			gj_kept_prove(kept, work[i].block);
		else
			work[left++] = work[i];
	}
	return left;
}
