/*
 * stats/statements.c - counts of statements in shared memory.
 *
 * As in pg_stat_statements, there is room for a number of statements that a
 * setting fixes at the server's start.  When it is used up, the statement that was
 * least used goes.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/spin.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "stats/statements.h"

#define LOSS 0.99				/* of the use of all others, when one goes */

typedef struct Key
{
	Oid			user;
	Oid			database;
	uint64		query;
} Key;

typedef struct Entry
{
	Key			key;			/* first, for the hash table */
	GjCounts	counts;			/* with the rest under mutex */
	double		use;			/* recent calls weigh more */
	TimestampTz since;
	slock_t		mutex;
} Entry;

typedef struct Shared
{
	LWLock	   *lock;			/* of the table: shared to find, exclusive to add or drop */
	int64		dropped;		/* under it, as the next one */
	TimestampTz since;
} Shared;

static int	most = 1000;		/* gpujoin.stat_statements_max; 0: none */
static Shared *shared;			/* NULL: there is no shared memory */
static HTAB *table;
static shmem_request_hook_type previous_request;
static shmem_startup_hook_type previous_startup;

const char *
gj_why_name(GjWhyNative why)
{
	static const char *const names[GJ_WHYS] = {
		[GJ_WHY_UNSUITABLE] = "unsuitable",
		[GJ_WHY_SILENT] = "silent",
		[GJ_WHY_BUSY] = "busy",
		[GJ_WHY_FAILED] = "failed",
	};

	return names[why];
}

/* ---- shared memory ---- */

static void
request(void)
{
	if (previous_request != NULL)
		previous_request();
	RequestAddinShmemSpace(add_size(MAXALIGN(sizeof(Shared)), hash_estimate_size(most, sizeof(Entry))));
	RequestNamedLWLockTranche("gpujoin", 1);
}

static void
startup(void)
{
	HASHCTL		info = {.keysize = sizeof(Key), .entrysize = sizeof(Entry)};
	bool		found;

	if (previous_startup != NULL)
		previous_startup();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("gpujoin", sizeof(Shared), &found);
	if (!found)
	{
		shared->lock = &(GetNamedLWLockTranche("gpujoin"))->lock;
		shared->dropped = 0;
		shared->since = GetCurrentTimestamp();
	}
	table = gj_shmem_hash("gpujoin statements", most, &info, HASH_ELEM | HASH_BLOBS);
	LWLockRelease(AddinShmemInitLock);
}

void
gj_install_statements(void)
{
	DefineCustomIntVariable("gpujoin.stat_statements_max",
							"Sets the number of statements whose executions are counted.",
							"This needs shared memory, so gpujoin must be in shared_preload_libraries. 0 counts nothing.",
							&most, most, 0, 1000000,
							process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP,
							0, NULL, NULL, NULL);
	if (!process_shared_preload_libraries_in_progress || most == 0)
		return;
	EnableQueryId();
	previous_request = shmem_request_hook;
	shmem_request_hook = request;
	previous_startup = shmem_startup_hook;
	shmem_startup_hook = startup;
}

/* ---- counting ---- */

/* Drops the statement of least use.  The caller holds the lock exclusively. */
static void
drop_one(void)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;
	Key			least = {0};
	double		use = INFINITY;

	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		if (entry->use < use)
		{
			use = entry->use;
			least = entry->key;
		}
		entry->use *= LOSS;
	}
	if (hash_search(table, &least, HASH_REMOVE, NULL) != NULL)
		shared->dropped++;
}

/* The entry of a key, which may be new.  The caller holds the lock exclusively. */
static Entry *
make_entry(const Key *key)
{
	bool		found;
	Entry	   *entry;

	if (hash_search(table, key, HASH_FIND, NULL) == NULL)
		while (hash_get_num_entries(table) >= most)
			drop_one();
	entry = hash_search(table, key, HASH_ENTER_NULL, &found);
	if (entry != NULL && !found)
	{
		memset(&entry->counts, 0, sizeof(entry->counts));
		entry->use = 0;
		entry->since = GetCurrentTimestamp();
		SpinLockInit(&entry->mutex);
	}
	return entry;
}

static void
add(GjCounts *to, const GjCounts *counts)
{
	to->calls += counts->calls;
	to->offloaded += counts->offloaded;
	to->jobs += counts->jobs;
	for (int i = 0; i < GJ_WHYS; i++)
		to->native[i] += counts->native[i];
	to->feed_us += counts->feed_us;
	to->join_us += counts->join_us;
	to->return_us += counts->return_us;
	to->native_us += counts->native_us;
}

/*
 * Callback: the query's memory context is reset, at its end or after an error.  So
 * it neither allocates nor raises errors.
 */
static void
flush(void *arg)
{
	static const GjCounts nothing;
	const GjStatement *statement = arg;
	Key			key = {statement->user, statement->database, statement->query};
	Entry	   *entry;

	if (memcmp(&statement->counts, &nothing, sizeof(nothing)) == 0)
		return;					/* no node of ours ran */
	LWLockAcquire(shared->lock, LW_SHARED);
	entry = hash_search(table, &key, HASH_FIND, NULL);
	if (entry == NULL)
	{
		LWLockRelease(shared->lock);
		LWLockAcquire(shared->lock, LW_EXCLUSIVE);
		entry = make_entry(&key);
	}
	if (entry != NULL)
	{
		SpinLockAcquire(&entry->mutex);
		add(&entry->counts, &statement->counts);
		entry->use += 1;
		SpinLockRelease(&entry->mutex);
	}
	LWLockRelease(shared->lock);
}

#define OWN_CONTEXT "gpujoin statement"

GjStatement *
gj_statement(EState *estate)
{
	MemoryContext query = estate->es_query_cxt;
	MemoryContext own;
	GjStatement *statement;
	uint64		id = (uint64) estate->es_plannedstmt->queryId;

	/* the query of a DECLARE CURSOR has none of its own */
	if (id == 0)
		id = (uint64) pgstat_get_my_query_id();
	if (shared == NULL || id == 0)
		return NULL;
	for (MemoryContext child = query->firstchild; child != NULL; child = child->nextchild)
		if (strcmp(child->name, OWN_CONTEXT) == 0)
			return child->reset_cbs->arg;
	own = AllocSetContextCreate(query, OWN_CONTEXT, ALLOCSET_SMALL_SIZES);
	statement = MemoryContextAllocZero(own, sizeof(GjStatement));
	statement->user = GetUserId();
	statement->database = MyDatabaseId;
	statement->query = id;
	statement->done.func = flush;
	statement->done.arg = statement;
	MemoryContextRegisterResetCallback(own, &statement->done);
	return statement;
}

void
gj_statement_called(GjStatement *statement)
{
	/* a worker's execution is the leader's */
	if (statement != NULL && !IsParallelWorker())
		statement->counts.calls = 1;
}

void
gj_statement_offloaded(GjStatement *statement, uint64 feed_us, uint64 join_us, double native_ns)
{
	if (statement == NULL)
		return;
	if (!IsParallelWorker())
		statement->counts.offloaded = 1;
	statement->counts.jobs++;
	statement->counts.feed_us += feed_us;
	statement->counts.join_us += join_us;
	statement->counts.native_us += native_ns / 1000;
}

/* ---- for the SQL functions ---- */

static void
need_shared(void)
{
	if (shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("statements are not counted"),
				 errhint("Add gpujoin to shared_preload_libraries, let gpujoin.stat_statements_max exceed 0, and restart the server.")));
}

GjTotals *
gj_statements_all(int *n)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;
	GjTotals   *all;

	need_shared();
	LWLockAcquire(shared->lock, LW_SHARED);
	all = palloc(Max(1, hash_get_num_entries(table)) * sizeof(GjTotals));
	*n = 0;
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
	{
		GjTotals   *copy = &all[(*n)++];

		copy->user = entry->key.user;
		copy->database = entry->key.database;
		copy->query = entry->key.query;
		copy->since = entry->since;
		SpinLockAcquire(&entry->mutex);
		copy->counts = entry->counts;
		SpinLockRelease(&entry->mutex);
	}
	LWLockRelease(shared->lock);
	return all;
}

TimestampTz
gj_statements_reset(void)
{
	HASH_SEQ_STATUS scan;
	Entry	   *entry;
	TimestampTz now = GetCurrentTimestamp();

	need_shared();
	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	hash_seq_init(&scan, table);
	while ((entry = hash_seq_search(&scan)) != NULL)
		hash_search(table, &entry->key, HASH_REMOVE, NULL);
	shared->dropped = 0;
	shared->since = now;
	LWLockRelease(shared->lock);
	return now;
}

void
gj_statements_info(int64 *dropped, TimestampTz *since)
{
	need_shared();
	LWLockAcquire(shared->lock, LW_SHARED);
	*dropped = shared->dropped;
	*since = shared->since;
	LWLockRelease(shared->lock);
}
