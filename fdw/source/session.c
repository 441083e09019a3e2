/*
 * source/session.c - what a session remembers of sources: the last position of each, so
 * that no later statement sees an earlier one, and for some seconds the sizes of tables.
 *
 * All of it is forgotten when a server or a user mapping changes: the source may be
 * another one.
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "source/request.h"
#include "source/source.h"
#include "util.h"

/* How long a size is taken for the current one, and a source that does not answer for silent. */
#define SIZE_US		UINT64CONST(5000000)

typedef struct SourceKey
{
	Oid			serverid;
	Oid			mapping;
} SourceKey;

typedef struct Source
{
	SourceKey	key;
	char		position[24];	/* empty: none */
	uint64		silent_us;		/* until when its sizes are not asked for */
} Source;

typedef struct SizeKey
{
	Oid			relid;
	Oid			mapping;
} SizeKey;

typedef struct TableSize
{
	SizeKey		key;
	uint64		until_us;
	double		rows;
	double		bytes;
} TableSize;

static HTAB *sources;
static HTAB *sizes;
static bool stale;				/* a server or a mapping has changed */

/* In the middle of a look-up, nothing is freed. */
static void
note_change(Datum arg, int cache, uint32 hash)
{
	stale = true;
}

static HTAB *
new_table(const char *name, Size key, Size entry)
{
	HASHCTL		ctl = {.keysize = key, .entrysize = entry, .hcxt = TopMemoryContext};

	return hash_create(name, 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
prepare(void)
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(FOREIGNSERVEROID, note_change, (Datum) 0);
		CacheRegisterSyscacheCallback(USERMAPPINGOID, note_change, (Datum) 0);
		registered = true;
	}
	if (stale)
	{
		if (sources != NULL)
			hash_destroy(sources);
		sources = NULL;
		if (sizes != NULL)
			hash_destroy(sizes);
		sizes = NULL;
		stale = false;
	}
	if (sources == NULL)
		sources = new_table("gpujoin sources", sizeof(SourceKey), sizeof(Source));
	if (sizes == NULL)
		sizes = new_table("gpujoin sizes of foreign tables", sizeof(SizeKey), sizeof(TableSize));
}

static Source *
source_of(Oid serverid, Oid mapping)
{
	SourceKey	key = {.serverid = serverid, .mapping = mapping};
	bool		found;
	Source	   *source;

	prepare();
	source = hash_search(sources, &key, HASH_ENTER, &found);
	if (!found)
	{
		source->position[0] = '\0';
		source->silent_us = 0;
	}
	return source;
}

/* ---- positions ---- */

const char *
gj_last_position(Oid serverid, Oid mapping)
{
	const Source *source = source_of(serverid, mapping);

	return source->position[0] != '\0' ? pstrdup(source->position) : NULL;
}

void
gj_remember_position(Oid serverid, Oid mapping, const char *position)
{
	if (position[0] == '\0')
		return;					/* of a direct read from a standby */
	strlcpy(source_of(serverid, mapping)->position, position, sizeof(((Source *) NULL)->position));
}

/* ---- sizes ---- */

/* Asks for the size of a table.  Returns false if there is no answer. */
static bool
ask(Oid serverid, Oid relid, Oid userid, double *rows, double *bytes)
{
	StringInfoData json;
	const char *reason;
	Jsonb	   *answer;
	JsonbContainer *tables;

	initStringInfo(&json);
	appendStringInfoString(&json, "\"tables\": [{");
	gj_append_names(&json, relid);
	appendStringInfoString(&json, "}]");
	answer = gj_source_try(serverid, userid, GJ_SOURCE_SIZE, json.data, &reason);
	if (answer == NULL)
		return false;
	tables = gj_answer_array(&answer->root, "tables");
	*rows = gj_answer_number(gj_answer_element(tables, 0), "rows");
	*bytes = gj_answer_number(gj_answer_element(tables, 0), "bytes");
	return true;
}

double
gj_source_rows(Oid relid, Oid userid, double *bytes)
{
	Oid			serverid = GetForeignServerIdByRelId(relid);
	Oid			mapping = gj_mapping_of(serverid, userid);
	SizeKey		key = {.relid = relid, .mapping = mapping};
	double		rows = -1;
	TableSize  *size;

	prepare();
	size = hash_search(sizes, &key, HASH_FIND, NULL);
	*bytes = -1;
	if (size != NULL && gj_now_us() < size->until_us)
	{
		*bytes = size->bytes;
		return size->rows;
	}
	if (gj_now_us() < source_of(serverid, mapping)->silent_us)
		return -1;
	if (ask(serverid, relid, userid, &rows, bytes))
	{
		prepare();
		size = hash_search(sizes, &key, HASH_ENTER, NULL);
		size->until_us = gj_now_us() + SIZE_US;
		size->rows = rows;
		size->bytes = *bytes;
	}
	else
		source_of(serverid, mapping)->silent_us = gj_now_us() + SIZE_US;
	return rows;
}
