/*
 * feed/kept/scan.c - feeds the blocks of a table that the daemon does not have.
 *
 * All participants claim blocks from one counter, so that exactly one of them
 * deals with each block.  A participant first proves what it has claimed, and
 * feeds the rest: whole blocks that may be kept for the next job
 * (feed/kept/capture.c), and the rows of the others that pass the table's
 * conditions and the filters, as from any other scan.
 *
 * The scan is begun like any other, which checks privileges and takes locks, but
 * does not choose the blocks.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat_heap.h"
#include "feed/kept/capture.h"
#include "feed/kept/kept.h"
#include "feed/page/page.h"

/* A participant claims 1/CLAIMS of the table at a time, within these bounds. */
#define CLAIMS 2048
#define LEAST_CLAIM 64
#define MOST_CLAIM 512

/*
 * A participant that feeds no more than this part of the table's blocks row by
 * row, or no more than this number of blocks, does so without the filters of its
 * keys: to make one takes the daemon longer than these rows take.
 */
#define UNFILTERED_SHARE 64
#define UNFILTERED_BLOCKS 64

/* Made once, and used by all scans of an input. */
struct GjKeptFeed
{
	GjPageFeed *passing;		/* rows that pass */
	GjPageFeed *whole;			/* all rows */
};

/* A scan of this participant. */
typedef struct KeptScan
{
	GjFeeder   *feeder;
	int			input;
	GjKept	   *kept;
	GjWriter   *writer;			/* of rows that pass */
	GjCaptureFeed *capture;		/* of whole blocks; NULL: none are sent */
	uint32		all;			/* blocks of all leaves */
	uint32		end;			/* the number after that of the last one */
	uint32		claim;			/* blocks to claim at a time */
	pg_atomic_uint32 *next;		/* not claimed yet, by anybody */
	pg_atomic_uint32 own_next;	/* that, if no other process feeds the input */
	int			sharers;
	double		passing_rows;	/* expected per block that is fed, of those that pass */
	GjBlockCounts blocks;

	/* the leaf that is being fed */
	int			number;			/* in kept->leaves; -1: none */
	const GjKeptLeaf *leaf;
	SeqScanState *child;
	HeapScanDesc scan;
	uint32		length;			/* blocks of it that are scanned */
	MemoryContext context;		/* of feed, if it is used for this scan only */
	GjKeptFeed *feed;			/* NULL: no block was fed yet */
	GjTrail		trail;
	GjPrefetch	prefetch;
	bool		visible;		/* see gj_read_heap_page() */
	GjTupleCounts tuples;
	GjWork		work[MOST_CLAIM];
} KeptScan;

/* ---- claiming blocks ---- */

static uint32
claim_size(uint32 blocks, bool is_shared)
{
	uint32		size = is_shared ? LEAST_CLAIM : MOST_CLAIM;

	while (size < MOST_CLAIM && size < blocks / CLAIMS)
		size *= 2;
	return size;
}

/*
 * Claims blocks from - to - 1 of the input.  Returns false if there are none left.
 */
static bool
claim(KeptScan *s, BlockNumber *from, BlockNumber *to)
{
	*from = pg_atomic_fetch_add_u32(s->next, s->claim);
	*to = Min(*from + s->claim, s->end);
	return *from < s->end;
}

/* Claims all blocks up to end that nobody has claimed.  Returns how many those were. */
static uint32
skip_to(KeptScan *s, BlockNumber end)
{
	uint32		next = pg_atomic_read_u32(s->next);

	while (next < end)
		if (pg_atomic_compare_exchange_u32(s->next, &next, end))
			return end - next;
	return 0;
}

/* ---- from leaf to leaf ---- */

static uint32
first_block(const GjKeptLeaf *leaf)
{
	return leaf->first * GJ_GROUP_BLOCKS;
}

static void
leave_leaf(KeptScan *s)
{
	if (s->leaf == NULL)
		return;
	gj_page_unpin(s->scan);
	gj_page_account(s->child, s->scan, &s->tuples);
	if (s->context != NULL)
		MemoryContextDelete(s->context);
	s->context = NULL;
	s->leaf = NULL;
	s->feed = NULL;
}

/* Begins the scan of the leaf that has a block.  Blocks come in ascending order. */
static bool
enter_leaf(KeptScan *s, BlockNumber block)
{
	const GjKept *kept = s->kept;
	int			number = s->number;

	while (number + 1 < kept->nleaves && first_block(&kept->leaves[number + 1]) <= block)
		number++;
	if (number == s->number)
		return true;
	if (!gj_kept_leave(s->feeder, s->input))
		return false;
	leave_leaf(s);
	s->number = number;
	s->leaf = &kept->leaves[number];
	s->child = (SeqScanState *) s->leaf->part->child;
	s->scan = gj_page_scan(s->child);
	s->length = Min(s->leaf->blocks, s->scan->rs_nblocks);
	s->trail = (GjTrail) {0};
	s->prefetch = (GjPrefetch) {0};
	s->visible = true;
	s->tuples = (GjTupleCounts) {0};
	if (s->child->ss.ps.instrument != NULL)
		InstrStartNode(s->child->ss.ps.instrument);
	return true;
}

static GjKeptFeed *
create_feed(const KeptScan *s)
{
	ScanState  *scan = &s->child->ss;
	int			ncolumns = s->writer->ncolumns;
	const GjColumn *columns = gj_part_columns(s->feeder, s->input, s->leaf->part, ncolumns);
	GjKeptFeed *feed = palloc(sizeof(GjKeptFeed));

	feed->passing = gj_page_feed_create(scan, columns, ncolumns, scan->ps.plan->qual);
	feed->whole = gj_page_feed_create(scan, columns, ncolumns, NIL);
	return feed;
}

/* Prepares to feed blocks of the leaf.  The feed of an input that is one table is kept. */
static bool
begin_feed(KeptScan *s)
{
	GjFeeder   *feeder = s->feeder;
	MemoryContext old = CurrentMemoryContext;

	if (s->feed != NULL)
		return true;
	s->feed = feeder->kept_feeds[s->input];
	if (s->feed == NULL)
	{
		if (feeder->parts[s->input]->leaves)
		{
			s->context = AllocSetContextCreate(feeder->run_context, "gpujoin leaf",
											   ALLOCSET_DEFAULT_SIZES);
			MemoryContextSwitchTo(s->context);
		}
		s->feed = create_feed(s);
		MemoryContextSwitchTo(old);
		if (s->context == NULL)
			feeder->kept_feeds[s->input] = s->feed;
	}
	if (s->feed->passing->rows == NULL || s->feed->whole->rows == NULL)
		return gj_fail(&feeder->link->conn, "the page feed cannot read a column");
	gj_page_feed_bind(feeder, s->input, s->feed->passing, &s->child->ss);
	if (s->capture != NULL)
		gj_capture_leaf(s->capture, s->feed->whole, first_block(s->leaf));
	return true;
}

/* ---- feeding blocks ---- */

/*
 * More rows are expected than the writers were told: this participant's share of those of some
 * of the blocks of a leaf from first on, which are fed.
 */
static void
expect(KeptScan *s, const GjKeptLeaf *leaf, uint32 first, uint32 length, uint32 fed)
{
	Relation	rel = ((const ScanState *) leaf->part->child)->ss_currentRelation;
	uint32		capture = leaf->capture <= first ? 0 : Min(leaf->capture - first, length);
	double		captured = length == 0 ? 0 : (double) fed * capture / length;

	s->writer->expected += (fed - captured) * s->passing_rows / s->sharers;
	if (captured > 0)
		gj_capture_writer(s->capture)->expected +=
			captured / leaf->blocks * gj_kept_rows(rel, leaf->blocks) / s->sharers;
}

static bool
feed_block(KeptScan *s, BlockNumber block, BlockNumber next)
{
	HeapScanDesc scan = s->scan;
	GjPageFeed *passing = s->feed->passing;
	Relation	rel = scan->rs_base.rs_rd;
	Buffer		buffer = gj_prefetched_page(&s->prefetch, rel, block, scan->rs_strategy);
	XLogRecPtr	lsn;

	s->blocks.fed++;
	if (block >= s->leaf->capture)
	{
		gj_read_heap_page(scan, block, buffer, &s->visible);
		gj_prefetch_page(&s->prefetch, rel, next, scan->rs_cbuf, passing->rows->reach);
		return gj_page_write(passing, s->writer, scan, &s->prefetch, &s->tuples);
	}
	gj_pin_page(scan, block, buffer);
	gj_prefetch_page(&s->prefetch, rel, next, scan->rs_cbuf, s->feed->whole->rows->reach);
	if (PageIsAllVisible(BufferGetPage(scan->rs_cbuf)) && gj_find_visible_tuples(scan, &lsn))
		switch (gj_capture_block(s->capture, scan, block, lsn, &s->prefetch))
		{
			case GJ_CAPTURE_DONE:
				s->blocks.captured++;
				s->tuples.tuples += scan->rs_ntuples;
				s->tuples.fed += scan->rs_ntuples;
				return true;
			case GJ_CAPTURE_FAILED:
				return false;
			case GJ_CAPTURE_NOT:
				return gj_page_write(passing, s->writer, scan, &s->prefetch, &s->tuples);
			case GJ_CAPTURE_COPIED:
				return gj_page_write_copy(passing, s->writer, scan,
										  gj_capture_copy(s->capture), &s->tuples);
		}
	s->visible = false;
	gj_read_heap_page(scan, block, InvalidBuffer, &s->visible);
	return gj_page_write(passing, s->writer, scan, &s->prefetch, &s->tuples);
}

/*
 * Gets the filters of the input's keys once they are worth it.  This may wait for
 * other participants, so no page is pinned meanwhile.
 */
static bool
filter_keys(KeptScan *s)
{
	GjFeeder   *feeder = s->feeder;
	uint32		row_by_row = s->blocks.fed - s->blocks.captured;

	if (feeder->parts[s->input]->filtered ||
		row_by_row <= Max(UNFILTERED_BLOCKS, s->all / UNFILTERED_SHARE))
		return true;
	gj_page_unpin(s->scan);
	if (!gj_get_filters(feeder, s->input))
		return false;
	gj_page_feed_add_keys(feeder, s->input, s->feed->passing);
	return true;
}

/* Feeds the first n blocks of work. */
static bool
feed_blocks(KeptScan *s, int n)
{
	if (n > 0 && !begin_feed(s))
		return false;
	if (n > 0 && s->feed->passing->rows->none)
		return true;			/* no row passes */
	if (n > 0 && !filter_keys(s))
		return false;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!gj_feed_goes_on(s->feeder) ||
			!feed_block(s, s->work[i].block,
						i + 1 < n ? s->work[i + 1].block : InvalidBlockNumber))
			return false;
		if (unlikely(!s->writer->scratch->isReset))
			MemoryContextReset(s->writer->scratch);
	}
	return true;
}

/* Collects the blocks of a mixed group that are not simply served.  Returns their number. */
static int
collect(KeptScan *s, BlockNumber from, BlockNumber to)
{
	int			n = 0;

	for (BlockNumber block = from; block < to; block++)
	{
		GjWork		work = {.block = block, .buffer = InvalidBuffer};

		if (gj_kept_block(s->kept, block, &work.lsn) == GJ_BLOCK_SERVED)
			s->blocks.kept++;
		else
			s->work[n++] = work;
	}
	return n;
}

/* Begins a mixed group.  length: the blocks of the leaf in it. */
static bool
enter(KeptScan *s, uint32 group, uint32 length)
{
	const struct gj_blocks *map = &s->kept->map;
	uint32		served;

	if (s->kept->group == group)
		return true;
	if (!gj_kept_enter(s->feeder, s->input, group))
		return false;
	served = map->lsns + gj_kept_count(map->kept);
	expect(s, s->leaf, group * GJ_GROUP_BLOCKS - first_block(s->leaf), length, length - Min(served, length));
	return true;
}

/* Deals with claimed blocks of one group, from - to - 1.  All are numbers in the input. */
static bool
deal(KeptScan *s, uint32 group, BlockNumber from, BlockNumber to)
{
	uint32		first = group * GJ_GROUP_BLOCKS;	/* of the group */
	uint32		base;
	uint32		length;			/* of the group */
	int			n;
	int			left = 0;

	if (!enter_leaf(s, first))
		return false;
	base = first_block(s->leaf);
	length = s->length <= first - base ? 0 : Min(s->length - (first - base), GJ_GROUP_BLOCKS);
	if (to > first + length)
	{
		/* no leaf has the blocks up to the next group */
		(void) skip_to(s, Min(s->end, first + GJ_GROUP_BLOCKS));
		to = first + length;
	}
	if (from >= to)
		return true;
	switch (s->kept->states[group])
	{
		case GJ_GROUP_KEPT:
			s->blocks.kept += to - from + skip_to(s, first + length);
			return true;
		case GJ_GROUP_MIXED:
			if (!enter(s, group, length))
				return false;
			n = collect(s, from - base, to - base);
			left = gj_kept_prove_blocks(s->kept, s->scan, s->leaf->blocks, &s->trail, s->work, n);
			s->blocks.proved += n - left;
			break;
		default:
			for (BlockNumber block = from - base; block < to - base; block++)
				s->work[left++] = (GjWork) {.block = block};
			break;
	}
	return feed_blocks(s, left);
}

static bool
feed_claims(KeptScan *s)
{
	BlockNumber from;
	BlockNumber to;

	while (claim(s, &from, &to))
	{
		CHECK_FOR_INTERRUPTS();
		if (!gj_feed_goes_on(s->feeder))
			return false;
		while (from < to)
		{
			uint32		group = from / GJ_GROUP_BLOCKS;
			BlockNumber end = Min(to, (group + 1) * GJ_GROUP_BLOCKS);

			if (!deal(s, group, from, end))
				return false;
			from = end;
		}
	}
	return gj_kept_leave(s->feeder, s->input);
}

/* ---- the scan ---- */

/* The blocks of all leaves. */
static uint32
all_blocks(const GjKept *kept)
{
	uint32		blocks = 0;

	for (int i = 0; i < kept->nleaves; i++)
		blocks += kept->leaves[i].blocks;
	return blocks;
}

static bool
any_captured(const GjKept *kept)
{
	for (int i = 0; i < kept->nleaves; i++)
		if (kept->leaves[i].capture > 0)
			return true;
	return false;
}

/* What the writers are to expect of this participant, before any mixed group. */
static void
expect_all(KeptScan *s)
{
	const GjKept *kept = s->kept;

	s->writer->expected = 0;
	for (int i = 0; i < kept->nleaves; i++)
	{
		const GjKeptLeaf *leaf = &kept->leaves[i];

		for (uint32 first = 0; first < leaf->blocks; first += GJ_GROUP_BLOCKS)
		{
			uint32		length = Min(leaf->blocks - first, GJ_GROUP_BLOCKS);

			if (kept->states[leaf->first + first / GJ_GROUP_BLOCKS] == GJ_GROUP_FED)
				expect(s, leaf, first, length, length);
		}
	}
}

static bool
run(KeptScan *s)
{
	const GjPlan *plan = s->feeder->plan;
	const GjInput *in = &plan->inputs[s->input];
	const GjKept *kept = s->kept;
	const GjKeptLeaf *last = &kept->leaves[kept->nleaves - 1];
	bool		is_shared = s->feeder->shared != NULL && in->partial;
	bool		ok;

	pg_atomic_init_u32(&s->own_next, 0);
	s->next = is_shared ? &s->feeder->shared->next_block[s->input] : &s->own_next;
	s->sharers = is_shared ? plan->workers + 1 : 1;
	s->number = -1;
	s->end = first_block(last) + last->blocks;
	s->all = all_blocks(kept);
	s->claim = claim_size(s->all, is_shared);
	s->passing_rows = in->rows * in->passing / Max(1, s->all);
	if (any_captured(kept))
		s->capture = gj_capture_begin(s->feeder, s->input, s->writer, s->sharers);
	expect_all(s);
	ok = feed_claims(s);
	leave_leaf(s);
	if (s->capture != NULL)
		ok = gj_capture_end(s->capture, s->writer, ok);
	return ok;
}

bool
gj_feed_kept(GjFeeder *feeder, int input, GjWriter *writer)
{
	KeptScan   *s = MemoryContextAllocZero(feeder->run_context, sizeof(KeptScan));
	bool		ok;

	s->feeder = feeder;
	s->input = input;
	s->kept = feeder->kept[input];
	s->writer = writer;
	ok = run(s);
	feeder->blocks[input] = s->blocks;
	if (feeder->shared != NULL)
		gj_shared_count_blocks(feeder->shared, input, &s->blocks);
	else
		gj_add_blocks(&gj_session_blocks, &s->blocks);
	pfree(s);
	return ok;
}
