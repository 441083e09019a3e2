/*
 * compat_heap.h - scans of heap pages and buffers, as far as they depend on the PostgreSQL
 * version.
 */
#ifndef GPUJOIN_COMPAT_HEAP_H
#define GPUJOIN_COMPAT_HEAP_H

#include "compat.h"

/*
 * Pins a block of a relation that may be in this buffer.  Returns false if it
 * is not.  Unlike ReadBufferExtended(), it does not search the table of
 * buffers, and does not change the buffer's usage count.
 */
static inline bool
gj_read_recent_buffer(Relation rel, BlockNumber block, Buffer buffer,
					  BufferAccessStrategy strategy)
{
#if PG_VERSION_NUM >= 160000
	if (!ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, block, buffer))
		return false;
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(strategy), IOOP_HIT, 1, 0);
#else
	pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(strategy), IOOP_HIT);
#endif
#else
	if (!ReadRecentBuffer(rel->rd_node, MAIN_FORKNUM, block, buffer))
		return false;
#endif
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	return true;
}

/* The state of a shared buffer: since 19, 64 bits. */
#if PG_VERSION_NUM >= 190000
typedef uint64 GjBufferState;
#define gj_buffer_state(desc) pg_atomic_read_u64(&(desc)->state)
#define gj_unlock_buffer(desc, state) ((void) (state), UnlockBufHdr(desc))
#else
typedef uint32 GjBufferState;
#define gj_buffer_state(desc) pg_atomic_read_u32(&(desc)->state)
#define gj_unlock_buffer(desc, state) UnlockBufHdr(desc, state)
#endif

/* Does a shared buffer, whose header is locked, have the block of a relation? */
static inline bool
gj_buffer_has(BufferDesc *desc, Relation rel, BlockNumber block)
{
	BufferTag	tag;

#if PG_VERSION_NUM >= 160000
	InitBufferTag(&tag, &rel->rd_locator, MAIN_FORKNUM, block);
	return BufferTagsEqual(&tag, &desc->tag);
#else
	INIT_BUFFERTAG(tag, rel->rd_node, MAIN_FORKNUM, block);
	return BUFFERTAGS_EQUAL(tag, desc->tag);
#endif
}

/* Counts n pages of a relation that were found in shared buffers. */
static inline void
gj_count_hits(Relation rel, int n, BufferAccessStrategy strategy)
{
	pgBufferUsage.shared_blks_hit += n;
	if (pgstat_should_count_relation(rel))
	{
#if PG_VERSION_NUM >= 160000
		rel->pgstat_info->counts.blocks_fetched += n;
		rel->pgstat_info->counts.blocks_hit += n;
#else
		rel->pgstat_info->t_counts.t_blocks_fetched += n;
		rel->pgstat_info->t_counts.t_blocks_hit += n;
#endif
	}
#if PG_VERSION_NUM >= 180000
	pgstat_count_io_op(IOOBJECT_RELATION, IOContextForStrategy(strategy), IOOP_HIT, n, 0);
#elif PG_VERSION_NUM >= 160000
	pgstat_count_io_op_n(IOOBJECT_RELATION, IOContextForStrategy(strategy), IOOP_HIT, n);
#endif
}

/*
 * Pins a page of a heap scan and unpins the previous one.  buffer has the page
 * and is pinned already, or is invalid.
 */
static inline void
gj_pin_page(HeapScanDesc scan, BlockNumber block, Buffer buffer)
{
	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = BufferIsValid(buffer) ? buffer :
		ReadBufferExtended(scan->rs_base.rs_rd, MAIN_FORKNUM, block, RBM_NORMAL,
						   scan->rs_strategy);
	scan->rs_cblock = block;
}

/*
 * Finds the tuples of the page that a heap scan has pinned, if all of them are
 * visible to everybody, and the page's LSN.  Returns false, without having found
 * any, if it is another page.  Up to 16, heapgetpage() calls a function for each
 * tuple even then, which only serializable transactions need.
 */
static inline bool
gj_find_visible_tuples(HeapScanDesc scan, XLogRecPtr *lsn)
{
	Page		page = BufferGetPage(scan->rs_cbuf);
	bool		visible;

	/* there is nothing to prune on a page whose tuples are all visible */
	LockBuffer(scan->rs_cbuf, BUFFER_LOCK_SHARE);
	visible = PageIsAllVisible(page);
	if (visible)
	{
		int			lines = PageGetMaxOffsetNumber(page);
		int			n = 0;

#if PG_VERSION_NUM < 170000
		TestForOldSnapshot(scan->rs_base.rs_snapshot, scan->rs_base.rs_rd, page);
#endif
		for (OffsetNumber line = FirstOffsetNumber; line <= lines; line++)
		{
			scan->rs_vistuples[n] = line;
			n += ItemIdIsNormal(PageGetItemId(page, line));
		}
		scan->rs_ntuples = n;
		*lsn = BufferGetLSNAtomic(scan->rs_cbuf);
	}
	LockBuffer(scan->rs_cbuf, BUFFER_LOCK_UNLOCK);
	return visible;
}

/*
 * Reads a page of a heap scan and the line pointers of its visible tuples.
 * The scan pins it and unpins the previous page.  buffer has the page and is
 * pinned already, or is invalid.  *visible says whether the page before had
 * visible tuples only, which the next one is expected to have too.
 *
 * Since 17, core's own function reads ahead and keeps those pages pinned,
 * which is not allowed while we wait for the daemon.
 */
static inline void
gj_read_heap_page(HeapScanDesc scan, BlockNumber block, Buffer buffer, bool *visible)
{
#if PG_VERSION_NUM >= 170000
	gj_pin_page(scan, block, buffer);
	heap_prepare_pagescan(&scan->rs_base);
#else
	bool		may_be_visible = *visible && !IsolationIsSerializable() &&
		!scan->rs_base.rs_snapshot->takenDuringRecovery;
	XLogRecPtr	lsn;

	if (may_be_visible)
	{
		gj_pin_page(scan, block, buffer);
		if (gj_find_visible_tuples(scan, &lsn))
			return;
	}
	heapgetpage(&scan->rs_base, block);
	*visible = PageIsAllVisible(BufferGetPage(scan->rs_cbuf));
	if (!may_be_visible && BufferIsValid(buffer))
		ReleaseBuffer(buffer);
#endif
}

static inline TableScanDesc
gj_begin_scan(Relation rel, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 190000
	return table_beginscan(rel, snapshot, 0, NULL, SO_NONE);
#else
	return table_beginscan(rel, snapshot, 0, NULL);
#endif
}

/* Begins a process's part of a parallel scan of a whole table. */
static inline void
gj_begin_parallel_scan(HeapScanDesc scan, ParallelBlockTableScanDesc parallel)
{
#if PG_VERSION_NUM >= 190000
	table_block_parallelscan_startblock_init(scan->rs_base.rs_rd, scan->rs_parallelworkerdata, parallel,
											 InvalidBlockNumber, InvalidBlockNumber);
#else
	table_block_parallelscan_startblock_init(scan->rs_base.rs_rd, scan->rs_parallelworkerdata, parallel);
#endif
}

#endif							/* GPUJOIN_COMPAT_HEAP_H */
