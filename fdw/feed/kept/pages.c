/*
 * feed/kept/pages.c - sends the visibility maps of tables.
 *
 * Only the opener of a job reads it, so that all participants feed the same
 * blocks, and after the query's snapshot was taken: a block whose bit is set
 * then has no row that the snapshot does not see.  PostgreSQL's pages have two
 * bits for each block; the daemon gets one of them.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/visibilitymapdefs.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "feed/kept/kept.h"
#include "options.h"

#define MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define MAP_WORDS (MAP_BYTES / sizeof(uint64))

StaticAssertDecl(MAP_BYTES * BITS_PER_BYTE / BITS_PER_HEAPBLOCK == GJ_GROUP_BLOCKS,
				 "a group has the blocks of one page of the visibility map");
StaticAssertDecl(BITS_PER_HEAPBLOCK == 2 && VISIBILITYMAP_ALL_VISIBLE == 1,
				 "the even bits of the visibility map say that a block is all-visible");

/* The even bits of a word, together. */
static uint32
even_bits(uint64 word)
{
	word &= UINT64CONST(0x5555555555555555);
	word = (word | word >> 1) & UINT64CONST(0x3333333333333333);
	word = (word | word >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	word = (word | word >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	word = (word | word >> 8) & UINT64CONST(0x0000ffff0000ffff);
	word = word | word >> 16;
	return (uint32) word;
}

/* Clears the bits from block n on: the map of a table that was truncated may have some. */
static void
clear_from(uint8 *bitmap, uint32 n)
{
	if (n / 8 >= GJ_GROUP_BITMAP)
		return;
	bitmap[n / 8] &= (1 << (n % 8)) - 1;
	memset(&bitmap[n / 8 + 1], 0, GJ_GROUP_BITMAP - n / 8 - 1);
}

/* Copies one page.  Returns whether a block of it is all-visible. */
static bool
read_page(Relation rel, BlockNumber number, uint32 blocks, struct gj_group *group)
{
	Buffer		buffer = ReadBufferExtended(rel, VISIBILITYMAP_FORKNUM, number,
											RBM_ZERO_ON_ERROR, NULL);
	Page		page = BufferGetPage(buffer);
	uint64		words[MAP_WORDS] = {0};
	uint64		any = 0;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!PageIsNew(page))
	{
		group->lsn = BufferGetLSNAtomic(buffer);
		memcpy(words, PageGetContents(page), MAP_BYTES);
	}
	UnlockReleaseBuffer(buffer);
	for (Size i = 0; i < MAP_WORDS; i++)
	{
		uint32		bits = even_bits(words[i]);

		memcpy(&group->visible[i * sizeof(bits)], &bits, sizeof(bits));
		any |= bits;
	}
	clear_from(group->visible, blocks);
	return any != 0;
}

/*
 * The pages of a map.  PostgreSQL remembers their number, and forgets it when the map
 * grows; to ask for a file's existence opens it.
 */
static BlockNumber
map_length(SMgrRelation file)
{
	BlockNumber *known = &file->smgr_cached_nblocks[VISIBILITYMAP_FORKNUM];

	if (*known == InvalidBlockNumber)
		*known = smgrexists(file, VISIBILITYMAP_FORKNUM) ?
			smgrnblocks(file, VISIBILITYMAP_FORKNUM) : 0;
	return *known;
}

/* Copies the pages of all groups.  Returns whether they can prove anything. */
static bool
read_map(Relation rel, uint32 blocks, uint32 groups, struct gj_group *map)
{
	BlockNumber pages = map_length(RelationGetSmgr(rel));
	bool		any = false;

	for (uint32 i = 0; i < Min(pages, groups); i++)
	{
		CHECK_FOR_INTERRUPTS();
		any |= read_page(rel, i, Min(blocks - i * GJ_GROUP_BLOCKS, GJ_GROUP_BLOCKS), &map[i]) &&
			map[i].lsn != InvalidXLogRecPtr;
	}
	return any;
}

/* ---- the leaves of an input ---- */

/* What is sent for one leaf. */
typedef struct LeafPages
{
	struct gj_pages body;
	struct gj_group *map;
	const GjColumn *columns;
	char	   *name;
	MemoryContext context;		/* of all that */
} LeafPages;

uint64
gj_kept_rows(Relation rel, uint32 blocks)
{
	double		rows = rel->rd_rel->reltuples;
	BlockNumber pages = rel->rd_rel->relpages;
	double		visible;

	/* no VACUUM or ANALYZE has counted them: the types of the columns say how wide rows are */
	if (rows < 0 || pages == 0)
		table_relation_estimate_size(rel, NULL, &pages, &rows, &visible);
	if (pages == 0)
		return 0;
	return Max(1, (uint64) (Max(0, rows) / pages * blocks));
}

/* Reads what is sent for a leaf.  Returns NULL if that proves nothing. */
static LeafPages *
read_leaf(const GjFeeder *feeder, int input, const GjPart *part, uint32 blocks)
{
	Relation	rel = ((ScanState *) part->child)->ss_currentRelation;
	const GjInput *in = &feeder->plan->inputs[input];
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpujoin pages",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	LeafPages  *pages = palloc0(sizeof(LeafPages));
	uint32		groups = (blocks + (uint64) GJ_GROUP_BLOCKS - 1) / GJ_GROUP_BLOCKS;
	bool		any;

	pages->context = context;
	pages->map = palloc0(groups * sizeof(struct gj_group));
	any = read_map(rel, blocks, groups, pages->map);
	if (any)
	{
		pages->columns = gj_part_columns(feeder, input, part, in->ncolumns + in->nhidden);
		pages->name = gj_table_name(RelationGetRelid(rel));
		pages->body = (struct gj_pages)
		{
			.input = input,
				.flags = gj_keep == GJ_KEEP_ALWAYS ? GJ_PAGES_ALWAYS : 0,
				.server_start = PgStartTime,
				.timeline = GetWALInsertionTimeLine(),
				.relation = RelationGetRelid(rel),
				.blocks = blocks,
				.groups = groups,
				.flushed = GetFlushRecPtr(NULL),
				.rows = gj_kept_rows(rel, blocks),
				.columns = in->ncolumns + in->nhidden,
				.length = strlen(pages->name)
		};
		gj_relation_file(rel, &pages->body.tablespace, &pages->body.database, &pages->body.file);
	}
	MemoryContextSwitchTo(old);
	if (!any)
		MemoryContextDelete(context);
	return any ? pages : NULL;
}

/*
 * Waits until the daemon has admitted the job, if this is more than it takes before.
 * Small maps are sent at once, so that a query waits once for both answers.
 */
static bool
may_send(GjLink *link, Size bytes)
{
	if (link->early + bytes > GJ_MAX_EARLY_PAGES)
		return gj_link_admitted(link);
	link->early += bytes;
	return true;
}

static bool
send_leaf(GjLink *link, LeafPages *pages)
{
	const struct gj_pages *body = &pages->body;
	Size		maps = body->groups * sizeof(struct gj_group);
	Size		length = maps + body->columns * sizeof(int16) + body->length;
	char	   *rest = MemoryContextAlloc(pages->context, length);
	char	   *at = rest + maps;
	bool		ok;

	memcpy(rest, pages->map, maps);
	for (uint32 i = 0; i < body->columns; i++)
	{
		int16		attnum = pages->columns[i].attnum;

		memcpy(at, &attnum, sizeof(attnum));
		at += sizeof(attnum);
	}
	memcpy(at, pages->name, body->length);
	ok = may_send(link, sizeof(*body) + length) &&
		gj_send(&link->conn, GJ_PAGES, body, sizeof(*body), rest, length);
	MemoryContextDelete(pages->context);
	return ok;
}

/* How many blocks of a leaf may be kept.  0: it is fed as if there were no daemon's memory. */
static uint32
kept_blocks(const GjPart *part, uint32 blocks)
{
	if (!gj_kept_allowed_part(part) || blocks > GJ_MAX_GROUPS * (uint64) GJ_GROUP_BLOCKS ||
		(blocks < GJ_LEAST_KEPT_BLOCKS && gj_keep != GJ_KEEP_ALWAYS))
		return 0;
	return blocks;
}

bool
gj_kept_send_pages(GjFeeder *feeder, GjLink *link, int input, bool *sent)
{
	const GjParts *parts = feeder->parts[input];
	LeafPages  *last = NULL;	/* is sent when it is known whether others follow */
	uint64		groups = 0;
	uint64		others = 0;

	*sent = false;
	for (int i = 0; i < parts->n; i++)
	{
		const GjPart *part = &parts->parts[i];
		uint32		blocks = !part->paged ? 0 :
			RelationGetNumberOfBlocks(((ScanState *) part->child)->ss_currentRelation);
		uint32		kept = kept_blocks(part, blocks);
		LeafPages  *pages = NULL;

		CHECK_FOR_INTERRUPTS();
		if (kept > 0 && groups + kept / GJ_GROUP_BLOCKS + 1 <= GJ_MAX_INPUT_GROUPS)
			pages = read_leaf(feeder, input, part, kept);
		if (pages == NULL)
		{
			others += blocks;
			continue;
		}
		groups += pages->body.groups;
		if (last != NULL)
		{
			last->body.flags |= GJ_PAGES_MORE;
			if (!send_leaf(link, last))
				return false;
		}
		last = pages;
	}
	if (last == NULL)
		return true;
	last->body.others = Min(others, PG_UINT32_MAX);
	*sent = true;
	return send_leaf(link, last);
}
