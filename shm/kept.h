/*
 * kept.h - messages on kept columns.
 *
 * The daemon may keep the columns of a table from one job to the next, block by
 * block.  A block is served from there while PostgreSQL's own pages prove that
 * it has not changed and that all its rows are visible to everybody; every
 * other block is fed.  A group is the blocks of one page of the visibility map.
 *
 * The rows of an input are those of one table, or of several: the leaves of a
 * partitioned table or of an inheritance tree.  Each leaf is kept by itself.  The
 * groups of all leaves of an input are numbered one after another, in the order
 * of their PAGES, and its blocks by these groups: block b of a group g has the
 * number g * GJ_GROUP_BLOCKS + b.
 *
 * The participant that opens a job sends the pages of the visibility map (PAGES)
 * of each leaf that may be kept, before any participant feeds the input.  KEPT says
 * which groups are fed, served, or both; BLOCKS says the latter by block.
 */
#ifndef GPUJOIN_KEPT_H
#define GPUJOIN_KEPT_H

#include <stdint.h>

#define GJ_GROUP_BLOCKS		32672	/* blocks of one page of the visibility map */
#define GJ_MAX_GROUPS		1000	/* a larger table is not kept */
#define GJ_MAX_INPUT_GROUPS	8000	/* of all leaves; an input with more is not kept */
#define GJ_MAX_EARLY_PAGES	(1 << 20)	/* bytes of PAGES before ADMITTED */

/*
 * Bytes of a bitmap of a group's blocks.  Bit i, the least significant bit of a
 * byte first, is for the group's block i; bits of blocks that do not exist are 0.
 */
#define GJ_GROUP_BITMAP		4088

struct gj_pages
{
	uint32_t	input;			/* position in the job's inputs */
	uint32_t	flags;			/* GJ_PAGES_* */
	int64_t		server_start;	/* when the server started, as PostgreSQL counts time */
	uint32_t	timeline;
	uint32_t	database;		/* pg_database.oid */
	uint32_t	tablespace;		/* pg_tablespace.oid */
	uint32_t	file;			/* the table's file: relfilenode */
	uint32_t	relation;		/* pg_class.oid, other than that of any other leaf */
	uint32_t	blocks;			/* > 0: length of the table; what follows is not scanned */
	uint32_t	others;			/* blocks of the leaves for which no PAGES come */
	uint32_t	groups;			/* gj_group that follow, of all blocks */
	uint64_t	flushed;		/* what has a lower or the same LSN is on disk */
	uint64_t	rows;			/* expected in these blocks; 0: unknown */
	uint32_t	columns;		/* int16_t that follow those: the number of each of the
								 * input's columns, hidden ones too, in this table */
	uint32_t	length;			/* bytes of the table's name, which follows those; at most
								 * 1024 */
};

#define GJ_PAGES_ALWAYS	0x1		/* capture at the first use */
#define GJ_PAGES_MORE	0x2		/* PAGES of another leaf of the input follow */

/* One page of the visibility map. */
struct gj_group
{
	uint64_t	lsn;			/* of the page; 0: it does not exist or has none */
	uint8_t		visible[GJ_GROUP_BITMAP];	/* blocks with all rows visible to all */
};

/* From participants that attach; KEPT answers. */
struct gj_kept_get
{
	uint32_t	input;
	uint32_t	reserved;		/* must be 0 */
};

enum gj_feed_mode
{
	GJ_FEED_PLAIN = 0,			/* feed all rows that pass the conditions, without
								 * hidden columns; no states follow */
	GJ_FEED_KEPT = 1			/* feed by state, with hidden columns */
};

struct gj_kept
{
	uint32_t	input;
	uint32_t	mode;			/* enum gj_feed_mode */
	uint32_t	leaves;			/* gj_kept_leaf that follow */
	uint32_t	groups;			/* states, one byte each, that follow those: enum
								 * gj_group_state */
};

/* A leaf, in the order of PAGES. */
struct gj_kept_leaf
{
	uint32_t	relation;		/* of gj_pages */
	uint32_t	blocks;			/* of gj_pages */
	uint32_t	capture;		/* blocks before this one that are fed are to be sent in
								 * CAPTURED; at most blocks, 0: none */
	uint32_t	reserved;		/* must be 0 */
};

enum gj_group_state
{
	GJ_GROUP_FED = 0,			/* feed each block */
	GJ_GROUP_KEPT = 1,			/* feed none */
	GJ_GROUP_MIXED = 2			/* ask with BLOCKS_GET */
};

/* Allowed for a group in the state MIXED; BLOCKS answers. */
struct gj_blocks_get
{
	uint32_t	input;
	uint32_t	group;
};

/*
 * A block in kept is served: do not feed it.  A block in prove is served if its
 * page has the LSN in the list: then do not feed it, and tell so in PROVED.
 * Feed all others.
 */
struct gj_blocks
{
	uint32_t	input;
	uint32_t	group;
	uint32_t	lsns;			/* uint64_t that follow, one for each bit of prove, in order */
	uint32_t	reserved;		/* must be 0 */
	uint8_t		kept[GJ_GROUP_BITMAP];
	uint8_t		prove[GJ_GROUP_BITMAP];
};

struct gj_proved
{
	uint32_t	input;
	uint32_t	group;
	uint8_t		blocks[GJ_GROUP_BITMAP];	/* whose LSNs this participant found equal */
};

/*
 * Instead of FILLED: a batch of all columns, hidden ones too, and all rows of
 * blocks, in the order of the blocks.  Each row of the batch belongs to one of
 * them.  A block whose rows are in several batches has the LSN 0 in each.
 */
struct gj_captured
{
	uint64_t	extent;
	uint32_t	input;
	uint32_t	rows;			/* > 0; equals gj_batch.rows */
	uint32_t	blocks;			/* gj_captured_block that follow, > 0 */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_captured_block
{
	uint64_t	lsn;			/* of the page; 0: the block must not be kept */
	uint32_t	block;			/* of the input; increases within a batch */
	uint32_t	first_row;		/* of the block in the batch; equals that of the next
								 * block if it has no rows */
};

/*
 * Drop what is kept of a table of the database of HELLO: of this file, and of all
 * files that jobs called by this name.
 */
struct gj_forget
{
	uint32_t	tablespace;		/* pg_tablespace.oid */
	uint32_t	file;			/* the table's file: relfilenode */
	uint32_t	length;			/* bytes of the name that follow, at most 1024 */
	uint32_t	reserved;		/* must be 0 */
};

struct gj_forgotten
{
	uint64_t	bytes;			/* of values that are no longer kept */
};

#endif							/* GPUJOIN_KEPT_H */
