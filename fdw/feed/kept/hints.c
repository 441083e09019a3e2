/*
 * feed/kept/hints.c - remembers in which shared buffers a session found pages.
 *
 * Where tables do not lie in buffers in the order of their pages, searching the table
 * of buffers takes several times as long as looking at a page.  Pages stay in their
 * buffers for a long time, so the last place is tried first.  It is no more than a
 * hint: whoever looks there checks which page the buffer has.
 *
 * Parallel workers are new processes in each query, so they remember nothing.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "feed/kept/kept.h"
#include "job/job.h"

/* What a session remembers, at most: 4 bytes for each page, so pages of 32 GB. */
#define MOST_HINTS ((Size) 4 << 20)

/* Names the file of a table. */
typedef struct TableFile
{
	Oid			tablespace;
	Oid			database;
	Oid			number;
} TableFile;

typedef struct Hints
{
	TableFile	file;			/* the key: first */
	uint32		blocks;			/* allocated */
	Buffer	   *buffers;		/* of each block; InvalidBuffer: unknown */
} Hints;

static MemoryContext context = NULL;
static HTAB *files = NULL;
static Size hints = 0;			/* of all files */

static void
begin(void)
{
	HASHCTL		info = {.keysize = sizeof(TableFile), .entrysize = sizeof(Hints)};

	if (context == NULL)
		context = AllocSetContextCreate(TopMemoryContext, "gpujoin buffer hints", ALLOCSET_DEFAULT_SIZES);
	else
		MemoryContextReset(context);
	hints = 0;
	info.hcxt = context;
	files = NULL;
	files = hash_create("gpujoin buffer hints", 16, &info, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
resize(Hints *of, uint32 blocks)
{
	Buffer	   *buffers = MemoryContextAllocZero(context, blocks * sizeof(Buffer));

	if (of->buffers != NULL)
	{
		memcpy(buffers, of->buffers, of->blocks * sizeof(Buffer));
		pfree(of->buffers);
	}
	hints += blocks - of->blocks;
	of->buffers = buffers;
	of->blocks = blocks;
}

Buffer *
gj_kept_hints(Relation rel, uint32 blocks)
{
	TableFile		file = {0};
	Hints	   *found;
	bool		known;

	if (IsParallelWorker() || blocks > MOST_HINTS)
		return NULL;
	gj_relation_file(rel, &file.tablespace, &file.database, &file.number);
	found = files == NULL ? NULL : hash_search(files, &file, HASH_FIND, NULL);
	if (found != NULL && found->blocks >= blocks)
		return found->buffers;
	blocks = Min(blocks + blocks / 8, MOST_HINTS);	/* the table may grow */
	if (files == NULL || hints + blocks > MOST_HINTS)
		begin();				/* it is learned again in one query of each table */
	found = hash_search(files, &file, HASH_ENTER, &known);
	if (!known)
	{
		found->blocks = 0;
		found->buffers = NULL;
	}
	resize(found, blocks);
	return found->buffers;
}
