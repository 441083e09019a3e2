/*
 * feed/kept/pages.c - sends the visibility map of a table.
 *
 * Only the opener of a job reads it, so that all participants feed the same
 * blocks, and after the query's snapshot was taken: a block whose bit is set
 * then has no row that the snapshot does not see.  PostgreSQL's pages have two
 * bits for each block; the daemon gets one of them.
 */
#include "postgres.h"

#include "access/visibilitymapdefs.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
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

/* Copies the pages of all groups.  Returns whether they can prove anything. */
static bool
read_map(Relation rel, uint32 blocks, uint32 groups, struct gj_group *map)
{
	SMgrRelation file = RelationGetSmgr(rel);
	BlockNumber pages = smgrexists(file, VISIBILITYMAP_FORKNUM) ?
		smgrnblocks(file, VISIBILITYMAP_FORKNUM) : 0;
	bool		any = false;

	for (uint32 i = 0; i < Min(pages, groups); i++)
	{
		CHECK_FOR_INTERRUPTS();
		any |= read_page(rel, i, Min(blocks - i * GJ_GROUP_BLOCKS, GJ_GROUP_BLOCKS), &map[i]) &&
			map[i].lsn != InvalidXLogRecPtr;
	}
	return any;
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

bool
gj_kept_send_pages(GjFeeder *feeder, GjLink *link, int input, bool *sent)
{
	Relation	rel = ((ScanState *) feeder->inputs[input])->ss_currentRelation;
	struct gj_pages body = {
		.input = input,
		.flags = gj_keep == GJ_KEEP_ALWAYS ? GJ_PAGES_ALWAYS : 0,
		.server_start = PgStartTime,
		.timeline = GetWALInsertionTimeLine(),
		.blocks = RelationGetNumberOfBlocks(rel)
	};
	struct gj_group *map;
	bool		ok = true;

	*sent = false;
	if (body.blocks < GJ_LEAST_KEPT_BLOCKS && gj_keep != GJ_KEEP_ALWAYS)
		return true;
	body.groups = (body.blocks + (uint64) GJ_GROUP_BLOCKS - 1) / GJ_GROUP_BLOCKS;
	if (body.groups == 0 || body.groups > GJ_MAX_GROUPS)
		return true;
	map = palloc0(body.groups * sizeof(struct gj_group));
	if (read_map(rel, body.blocks, body.groups, map))
	{
		gj_relation_file(rel, &body.tablespace, &body.database, &body.file);
		body.flushed = GetFlushRecPtr(NULL);
		ok = may_send(link, sizeof(body) + body.groups * sizeof(struct gj_group)) &&
			gj_send(&link->conn, GJ_PAGES, &body, sizeof(body), map,
					body.groups * sizeof(struct gj_group));
		*sent = true;
	}
	pfree(map);
	return ok;
}
