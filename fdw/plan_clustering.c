/*
 * plan_clustering.c - how rows that are neighbours in an index are stored.
 *
 * A table that is not stored in the order of a column may still have the rows
 * of one value together: those of an order have one date, and orders of many
 * dates are stored side by side.  An index scan then reads a page once for
 * several rows.  core's statistics have only the correlation of the whole
 * column.  So a few leaf pages of the index are looked at, once a session and
 * again after the index has changed its size or definition.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "catalog/pg_am.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "plan_clustering.h"

#define SAMPLED_PAGES 4
#define LEAST_PAIRS 100			/* of neighbours: fewer say too little */

typedef struct Known
{
	Oid			index;			/* hash key */
	double		changes;
} Known;

static HTAB *known_indexes;

static void
forget(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	Known	   *known;

	if (OidIsValid(relid))
	{
		(void) hash_search(known_indexes, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&scan, known_indexes);
	while ((known = hash_seq_search(&scan)) != NULL)
		(void) hash_search(known_indexes, &known->index, HASH_REMOVE, NULL);
}

/* What has been counted in a sample. */
typedef struct Sample
{
	double		pairs;			/* of neighbours */
	double		changes;		/* pairs of which are on different pages */
	BlockNumber last;			/* page of the entry before, if there is one */
} Sample;

static void
count(Sample *sample, const ItemPointerData *row)
{
	BlockNumber page = ItemPointerGetBlockNumberNoCheck(row);

	if (sample->last != InvalidBlockNumber)
	{
		sample->pairs++;
		sample->changes += page != sample->last;
	}
	sample->last = page;
}

static void
count_leaf(Sample *sample, Page page)
{
	BTPageOpaque opaque = BTPageGetOpaque(page);

	if (!P_ISLEAF(opaque) || P_IGNORE(opaque))
		return;
	sample->last = InvalidBlockNumber;
	for (OffsetNumber at = P_FIRSTDATAKEY(opaque); at <= PageGetMaxOffsetNumber(page); at++)
	{
		IndexTuple	entry = (IndexTuple) PageGetItem(page, PageGetItemId(page, at));

		if (!BTreeTupleIsPosting(entry))
			count(sample, &entry->t_tid);
		else
			for (int i = 0; i < BTreeTupleGetNPosting(entry); i++)
				count(sample, BTreeTupleGetPostingN(entry, i));
	}
}

static double
sample_changes(Oid relid)
{
	/* the query holds a lock: core has looked at all indexes of its tables */
	Relation	index = index_open(relid, NoLock);
	BlockNumber pages = RelationGetNumberOfBlocks(index);
	Sample		sample = {0};

	/* the first page has no entries */
	for (int i = 0; i < SAMPLED_PAGES && pages > SAMPLED_PAGES; i++)
	{
		BlockNumber block = 1 + (BlockNumber) ((uint64) (pages - 1) * (2 * i + 1) / (2 * SAMPLED_PAGES));
		Buffer		buffer = ReadBuffer(index, block);

		LockBuffer(buffer, BT_READ);
		if (!PageIsNew(BufferGetPage(buffer)))
			count_leaf(&sample, BufferGetPage(buffer));
		UnlockReleaseBuffer(buffer);
	}
	index_close(index, NoLock);
	return sample.pairs < LEAST_PAIRS ? 1 : sample.changes / sample.pairs;
}

double
gj_page_changes(const IndexOptInfo *index)
{
	Known	   *known;
	double		changes;

	if (index->relam != BTREE_AM_OID || index->hypothetical)
		return 1;
	if (known_indexes == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Known)};

		known_indexes = hash_create("gpujoin indexes", 64, &control, HASH_ELEM | HASH_BLOBS);
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
	}
	known = hash_search(known_indexes, &index->indexoid, HASH_FIND, NULL);
	if (known != NULL)
		return known->changes;

	/* reading pages may bring invalidations */
	changes = sample_changes(index->indexoid);
	known = hash_search(known_indexes, &index->indexoid, HASH_ENTER, NULL);
	known->changes = changes;
	return changes;
}
