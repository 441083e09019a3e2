/*
 * feed/kept/kept.h - feeds inputs whose columns the daemon keeps from one job to the next.
 *
 * The daemon serves a block while PostgreSQL's pages prove that it has not
 * changed and that all its rows are visible to everybody (docs/internals/protocol.md).
 * Everything else is fed.
 */
#ifndef FEED_KEPT_KEPT_H
#define FEED_KEPT_KEPT_H

#include "postgres.h"

#include "access/heapam.h"
#include "access/xlogdefs.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "utils/relcache.h"

#include "feed/feed.h"
#include "feed/parts.h"
#include "feed/writer.h"

/* A leaf of an input, or its only table. */
typedef struct GjKeptLeaf
{
	GjPart	   *part;
	uint32		blocks;			/* of the table; what follows is not scanned */
	uint32		first;			/* its first group */
	uint32		capture;		/* of the blocks before this one, those that may be kept
								 * are sent as a whole; 0: none */
} GjKeptLeaf;

/*
 * How to feed an input of this scan.  The groups of all leaves are numbered one after
 * another.
 */
struct GjKept
{
	int			nleaves;
	GjKeptLeaf *leaves;
	uint32		groups;
	uint8	   *states;			/* enum gj_group_state */

	/* the group that is being fed, if it is mixed */
	int64		group;			/* -1: none */
	struct gj_blocks map;
	uint64	   *lsns;			/* one for each bit of map.prove */
	uint32		lsns_size;		/* allocated */
	uint32		at;				/* a block of the group, a multiple of 8 */
	uint32		rank;			/* bits of map.prove before it */
	struct gj_proved proved;
	bool		any_proved;
};

/* ---- which inputs may be kept: feed/kept/gates.c ---- */

/*
 * May the daemon keep leaves of an input in this execution?  It evaluates the
 * conditions of all rows that are fed, so it must get the columns that they read.
 */
extern bool gj_kept_allowed(const GjFeeder *feeder, int input);

/*
 * Are the facts that prove that a block has not changed valid for this table and
 * the snapshot of this execution?
 */
extern bool gj_kept_allowed_part(const GjPart *part);

/* ---- the visibility map: feed/kept/pages.c ---- */

/*
 * Sends the pages of the visibility maps of an input's leaves.  Sets *sent to false, and
 * sends nothing, if they prove nothing.
 */
extern bool gj_kept_send_pages(GjFeeder *feeder, GjLink *link, int input, bool *sent);

/* The rows that the first blocks of a table have, as the planner would estimate them. */
extern uint64 gj_kept_rows(Relation rel, uint32 blocks);

/* ---- what the daemon has: feed/kept/states.c ---- */

/* Begins to feed blocks of a mixed group.  They come in ascending order. */
extern bool gj_kept_enter(GjFeeder *feeder, int input, uint32 group);

/* Reports the blocks of the mixed group that were proved, if any. */
extern bool gj_kept_leave(GjFeeder *feeder, int input);

/* What to do with a block of the mixed group. */
typedef enum GjKeptBlock
{
	GJ_BLOCK_FEED,
	GJ_BLOCK_SERVED,
	GJ_BLOCK_PROVE				/* it has not changed if its page has *lsn */
} GjKeptBlock;

/* block is that of the leaf that has the group. */
extern GjKeptBlock gj_kept_block(GjKept *kept, BlockNumber block, XLogRecPtr *lsn);

/* How many bits of a group's bitmap are 1. */
extern uint32 gj_kept_count(const uint8 *bitmap);

/* Records that a block of the mixed group has not changed. */
static inline void
gj_kept_prove(GjKept *kept, BlockNumber block)
{
	uint32		bit = block % GJ_GROUP_BLOCKS;

	kept->proved.blocks[bit / 8] |= 1 << (bit % 8);
	kept->any_proved = true;
}

/* ---- blocks that may have changed: feed/kept/prove.c ---- */

typedef struct GjWork
{
	BlockNumber block;
	Buffer		buffer;			/* where it probably is */
	XLogRecPtr	lsn;			/* of the page, unless the block has changed; 0: feed it */
} GjWork;

/*
 * Where a session found the first "blocks" blocks of a table: an entry for each, which
 * the caller updates; InvalidBuffer: unknown.  NULL if nothing is remembered.  Valid until
 * the next call.  feed/kept/hints.c.
 */
extern Buffer *gj_kept_hints(Relation rel, uint32 blocks);

/* Where pages were found lately.  Starts with all fields zero. */
typedef struct GjTrail
{
	BlockNumber block;
	Buffer		buffer;			/* invalid: unknown */
	BlockNumber missing;		/* was in no buffer */
	BlockNumber ahead;			/* pages from missing to here are read ahead */
} GjTrail;

/*
 * Proves those of n blocks of a table of "blocks" that have not changed, and removes
 * them.  Returns how many are left to be fed.
 */
extern int	gj_kept_prove_blocks(GjKept *kept, HeapScanDesc scan, uint32 blocks, GjTrail *trail,
								 GjWork *work, int n);

#endif							/* FEED_KEPT_KEPT_H */
