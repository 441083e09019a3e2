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

#include "compat.h"
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
	HeapScanDesc scan;
	GjPageFeed *passing;
	GjPageFeed *whole;
	GjWriter   *writer;			/* of rows that pass */
	GjCaptureFeed *capture;		/* of whole blocks; NULL: none are sent */
	uint32		end;			/* blocks of the scan */
	uint32		claim;			/* blocks to claim at a time */
	pg_atomic_uint32 *next;		/* not claimed yet, by anybody */
	pg_atomic_uint32 own_next;	/* that, if no other process feeds the input */
	double		rows_per_block; /* of this participant's share */
	GjTrail		trail;
	GjPrefetch	prefetch;
	bool		filtered;		/* the filters were asked for */
	bool		visible;		/* see gj_read_heap_page() */
	GjTupleCounts tuples;
	GjBlockCounts blocks;
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

/* Claims blocks from - to - 1.  Returns false if there are none left. */
static bool
claim(KeptScan *s, BlockNumber *from, BlockNumber *to)
{
	*from = pg_atomic_fetch_add_u32(s->next, s->claim);
	*to = Min(*from + s->claim, s->end);
	return *from < s->end;
}

/* Claims all blocks up to end that nobody has claimed, which are served. */
static void
skip_to(KeptScan *s, BlockNumber end)
{
	uint32		next = pg_atomic_read_u32(s->next);

	while (next < end)
		if (pg_atomic_compare_exchange_u32(s->next, &next, end))
		{
			s->blocks.kept += end - next;
			return;
		}
}

/* ---- feeding blocks ---- */

/* More rows are expected than the writers were told. */
static void
expect(KeptScan *s, uint32 blocks)
{
	GjWriter   *writer = s->capture != NULL ? gj_capture_writer(s->capture) : s->writer;

	writer->expected += blocks * s->rows_per_block;
}

static bool
feed_block(KeptScan *s, BlockNumber block, BlockNumber next)
{
	HeapScanDesc scan = s->scan;
	Relation	rel = scan->rs_base.rs_rd;
	Buffer		buffer = gj_prefetched_page(&s->prefetch, rel, block, scan->rs_strategy);
	XLogRecPtr	lsn;

	s->blocks.fed++;
	if (s->capture == NULL)
	{
		gj_read_heap_page(scan, block, buffer, &s->visible);
		gj_prefetch_page(&s->prefetch, rel, next, scan->rs_cbuf, s->passing->rows->reach);
		return gj_page_write(s->passing, s->writer, scan, &s->prefetch, &s->tuples);
	}
	gj_pin_page(scan, block, buffer);
	gj_prefetch_page(&s->prefetch, rel, next, scan->rs_cbuf, s->whole->rows->reach);
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
				return gj_page_write(s->passing, s->writer, scan, &s->prefetch, &s->tuples);
			case GJ_CAPTURE_COPIED:
				return gj_page_write_copy(s->passing, s->writer, scan,
										  gj_capture_copy(s->capture), &s->tuples);
		}
	s->visible = false;
	gj_read_heap_page(scan, block, InvalidBuffer, &s->visible);
	return gj_page_write(s->passing, s->writer, scan, &s->prefetch, &s->tuples);
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

	if (s->filtered ||
		row_by_row <= Max(UNFILTERED_BLOCKS, s->kept->blocks / UNFILTERED_SHARE))
		return true;
	s->filtered = true;
	gj_page_unpin(s->scan);
	if (!gj_key_filters_get(feeder->link, feeder->plan, s->input, feeder->filters))
		return false;
	gj_page_feed_add_keys(feeder, s->input, s->passing);
	return true;
}

/* Feeds the first n blocks of work. */
static bool
feed_blocks(KeptScan *s, int n)
{
	if (!filter_keys(s))
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

/* Begins a mixed group. */
static bool
enter(KeptScan *s, uint32 group)
{
	const struct gj_blocks *map = &s->kept->map;
	uint32		length = Min(s->end - group * GJ_GROUP_BLOCKS, GJ_GROUP_BLOCKS);
	uint32		served;

	if (s->kept->group == group)
		return true;
	if (!gj_kept_enter(s->feeder, s->input, group))
		return false;
	served = map->lsns + gj_kept_count(map->kept);
	expect(s, length - Min(served, length));
	return true;
}

/* Deals with claimed blocks of one group. */
static bool
deal(KeptScan *s, uint32 group, BlockNumber from, BlockNumber to)
{
	int			n;
	int			left = 0;

	switch (s->kept->states[group])
	{
		case GJ_GROUP_KEPT:
			s->blocks.kept += to - from;
			skip_to(s, Min(s->end, (group + 1) * GJ_GROUP_BLOCKS));
			return true;
		case GJ_GROUP_MIXED:
			if (!enter(s, group))
				return false;
			n = collect(s, from, to);
			left = gj_kept_prove_blocks(s->kept, s->scan, &s->trail, s->work, n);
			s->blocks.proved += n - left;
			break;
		default:
			for (BlockNumber block = from; block < to; block++)
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

/* The rows of a block that are expected to be fed. */
static double
rows_per_block(const KeptScan *s, const GjInput *in)
{
	Relation	rel = s->scan->rs_base.rs_rd;

	if (s->capture != NULL && rel->rd_rel->relpages > 0)
		return Max(0, rel->rd_rel->reltuples) / rel->rd_rel->relpages;
	return in->rows * in->passing / Max(1, s->kept->blocks);
}

/* What the writers are to expect of this participant, before any mixed group. */
static void
expect_all(KeptScan *s, const GjInput *in, int sharers)
{
	uint32		fed = 0;

	for (uint32 i = 0; i < s->kept->groups; i++)
		if (s->kept->states[i] == GJ_GROUP_FED)
			fed += Min(s->kept->blocks - i * GJ_GROUP_BLOCKS, GJ_GROUP_BLOCKS);
	s->rows_per_block = rows_per_block(s, in) / sharers;
	s->writer->expected = 0;
	expect(s, fed);
}

static GjKeptFeed *
create_feed(ScanState *scan, const GjInput *in, int ncolumns)
{
	GjKeptFeed *feed = palloc(sizeof(GjKeptFeed));

	feed->passing = gj_page_feed_create(scan, in->columns, ncolumns, scan->ps.plan->qual);
	feed->whole = gj_page_feed_create(scan, in->columns, ncolumns, NIL);
	return feed;
}

static bool
run(KeptScan *s, GjKeptFeed *feed, GjWriter *writer)
{
	const GjPlan *plan = s->feeder->plan;
	const GjInput *in = &plan->inputs[s->input];
	bool		is_shared = s->feeder->shared != NULL && in->partial;
	int			sharers = is_shared ? plan->workers + 1 : 1;
	bool		ok;

	pg_atomic_init_u32(&s->own_next, 0);
	s->next = is_shared ? &s->feeder->shared->next_block[s->input] : &s->own_next;
	s->passing = feed->passing;
	s->whole = feed->whole;
	s->writer = writer;
	s->end = Min(s->kept->blocks, s->scan->rs_nblocks);
	s->claim = claim_size(s->kept->blocks, is_shared);
	s->visible = true;
	if (s->kept->capture)
		s->capture = gj_capture_begin(s->feeder, s->input, feed->whole, writer, sharers);
	expect_all(s, in, sharers);
	ok = feed_claims(s);
	gj_page_unpin(s->scan);
	if (s->capture != NULL)
		ok = gj_capture_end(s->capture, writer, ok);
	return ok;
}

bool
gj_feed_kept(GjFeeder *feeder, int input, GjWriter *writer)
{
	SeqScanState *child = (SeqScanState *) feeder->inputs[input];
	GjKeptFeed *feed = feeder->kept_feeds[input];
	KeptScan   *s = MemoryContextAllocZero(feeder->run_context, sizeof(KeptScan));
	bool		ok = true;

	if (feed == NULL)
		feed = feeder->kept_feeds[input] =
			create_feed(&child->ss, &feeder->plan->inputs[input], writer->ncolumns);
	if (feed->passing->rows == NULL || feed->whole->rows == NULL)
		return gj_fail(&feeder->link->conn, "the page feed cannot read a column");

	s->feeder = feeder;
	s->input = input;
	s->kept = feeder->kept[input];
	s->scan = gj_page_scan(child);
	if (child->ss.ps.instrument != NULL)
		InstrStartNode(child->ss.ps.instrument);
	gj_page_feed_bind(feeder, input, feed->passing, &child->ss);
	if (!feed->passing->rows->none)
		ok = run(s, feed, writer);
	gj_page_account(child, s->scan, &s->tuples);
	feeder->blocks[input] = s->blocks;
	if (feeder->shared != NULL)
		gj_shared_count_blocks(feeder->shared, input, &s->blocks);
	else
		gj_add_blocks(&gj_session_blocks, &s->blocks);
	pfree(s);
	return ok;
}
