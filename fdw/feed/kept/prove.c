/*
 * feed/kept/prove.c - finds blocks that have not changed since they were kept.
 *
 * Every change of a page stamps it with a new LSN, so a page with the LSN that
 * the daemon remembers has not changed.  Reading it without the content lock is
 * enough: a change that is under way is of a transaction that the snapshot does not
 * see, and it has cleared PD_ALL_VISIBLE before it stamps the page, so that no
 * half of a new LSN is taken for the old one.
 *
 * Most of the time goes into finding the memory of a page: its buffer's descriptor,
 * the address of its header, which is in no cache of the processor, and the header. So
 * both are requested for a batch of pages before any of them is read, because
 * such requests proceed at the same time as long as no lock comes between them.  The
 * buffer's header lock, which reading the LSN takes, also keeps the page in the buffer,
 * so that it need not be pinned.
 *
 * A page is expected in the buffer where this session found it last, or next to the page
 * before it; else the table of buffers is searched, or the page is read ahead from the
 * file.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat_heap.h"
#include "feed/kept/kept.h"
#include "feed/page/page.h"

/* How many pages are requested together. */
#define BATCH 16

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

/* Requests the descriptors of the buffers that pages are probably in. */
static void
request_descriptors(const GjTrail *trail, const Buffer *hints, GjWork *work, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (work[i].lsn == InvalidXLogRecPtr)
			continue;
		work[i].buffer = hints != NULL ? hints[work[i].block] : InvalidBuffer;
		if (!BufferIsValid(work[i].buffer))
			work[i].buffer = expected(trail, work[i].block);
		if (BufferIsValid(work[i].buffer))
			__builtin_prefetch(GetBufferDescriptor(work[i].buffer - 1), 1);
	}
}

/* Requests the headers of pages. */
static void
request_headers(Relation rel, GjTrail *trail, Buffer *hints, GjWork *work, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (work[i].lsn == InvalidXLogRecPtr)
			continue;
		if (!gj_seems_to_have(work[i].buffer, work[i].block))
			work[i].buffer = expected(trail, work[i].block);
		if (!gj_seems_to_have(work[i].buffer, work[i].block))
			work[i].buffer = find(rel, trail, work[i].block);
		if (!BufferIsValid(work[i].buffer))
			continue;
		trail->block = work[i].block;
		trail->buffer = work[i].buffer;
		if (hints != NULL)
			hints[work[i].block] = work[i].buffer;
		__builtin_prefetch(BufferGetPage(work[i].buffer));
	}
}

static bool
has_lsn(Page page, XLogRecPtr lsn)
{
	bool		same = PageGetLSN(page) == lsn;

	pg_read_barrier();
	return same && PageIsAllVisible(page);
}

/*
 * Looks at a page in the buffer where it probably is.  Returns false if it is not
 * there, or is about to be evicted: then it is to be read as usual, which counts as a
 * use.
 */
static bool
look(Relation rel, const GjWork *work, bool *same)
{
	BufferDesc *desc;
	Page		page;
	GjBufferState state;
	bool		found;

	if (!BufferIsValid(work->buffer))
		return false;
	desc = GetBufferDescriptor(work->buffer - 1);
	page = BufferGetPage(work->buffer);
	(void) *(volatile char *) page; /* a page fault must not come while others spin */
	state = LockBufHdr(desc);
	found = (state & BM_VALID) != 0 && BUF_STATE_GET_USAGECOUNT(state) > 0 &&
		gj_buffer_has(desc, rel, work->block);
	if (found)
		*same = has_lsn(page, work->lsn);
	gj_unlock_buffer(desc, state);
	return found;
}

/* Looks at a page wherever it is. */
static bool
read_and_look(HeapScanDesc scan, const GjWork *work, Buffer *hints)
{
	Buffer		buffer = ReadBufferExtended(scan->rs_base.rs_rd, MAIN_FORKNUM, work->block,
											RBM_NORMAL, scan->rs_strategy);
	bool		same = BufferGetLSNAtomic(buffer) == work->lsn;

	pg_read_barrier();
	same = same && PageIsAllVisible(BufferGetPage(buffer));
	if (hints != NULL)
		hints[work->block] = buffer;
	ReleaseBuffer(buffer);
	return same;
}

int
gj_kept_prove_blocks(GjKept *kept, HeapScanDesc scan, uint32 blocks, GjTrail *trail,
					 GjWork *work, int n)
{
	Relation	rel = scan->rs_base.rs_rd;
	Buffer	   *hints = gj_kept_hints(rel, blocks);
	int			hits = 0;
	int			left = 0;

	request_descriptors(trail, hints, work, Min(n, 2 * BATCH));
	request_headers(rel, trail, hints, work, Min(n, BATCH));
	for (int i = 0; i < n; i++)
	{
		GjWork		block = work[i];
		bool		same;

		if (i % BATCH == 0)
		{
			CHECK_FOR_INTERRUPTS();
			if (n > i + 2 * BATCH)
				request_descriptors(trail, hints, work + i + 2 * BATCH, Min(n - i - 2 * BATCH, BATCH));
			if (n > i + BATCH)
				request_headers(rel, trail, hints, work + i + BATCH, Min(n - i - BATCH, BATCH));
		}
		if (block.lsn != InvalidXLogRecPtr)
		{
			if (look(rel, &block, &same))
				hits++;
			else
				same = read_and_look(scan, &block, hints);
			if (same)
			{
				gj_kept_prove(kept, block.block);
				continue;
			}
		}
		work[left++] = block;
	}
	gj_count_hits(rel, hits, scan->rs_strategy);
	return left;
}
