/*
 * sql_kept.c - SQL functions on the columns that the daemon keeps.
 *
 * sql/gpujoin.sql builds gpujoin.keep() and gpujoin.check_kept() on these.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/visibilitymap.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "daemon/connection.h"
#include "daemon/job_session.h"
#include "feed/feed.h"
#include "job/job.h"
#include "options.h"

PG_FUNCTION_INFO_V1(gpujoin_forget);
PG_FUNCTION_INFO_V1(gpujoin_pages_of);
PG_FUNCTION_INFO_V1(gpujoin_can_feed);
PG_FUNCTION_INFO_V1(gpujoin_flush_wal);
PG_FUNCTION_INFO_V1(gpujoin_session_blocks);

static Datum
row_of(FunctionCallInfo fcinfo, Datum *values, int n)
{
	TupleDesc	desc;
	bool	   *nulls = palloc0(n * sizeof(bool));

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != n)
		elog(ERROR, "return type must be a row type with %d columns", n);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static bool
is_stored(const Relation rel)
{
	return rel->rd_rel->relkind == RELKIND_RELATION || rel->rd_rel->relkind == RELKIND_MATVIEW;
}

/* ---- gpujoin.forget() ---- */

/* Asks the daemon to forget one table.  Adds the bytes that it has dropped. */
static bool
forget(GjConnection *conn, Relation rel, uint64 *bytes)
{
	char	   *name = gj_table_name(RelationGetRelid(rel));
	struct gj_forget body = {.length = strlen(name)};
	struct gj_forgotten answer;
	Oid			database;

	gj_relation_file(rel, &body.tablespace, &database, &body.file);
	if (!gj_send(conn, GJ_FORGET, &body, sizeof(body), name, body.length) ||
		!gj_expect(conn, GJ_FORGOTTEN, sizeof(answer), gj_connect_timeout))
		return false;
	memcpy(&answer, conn->body, sizeof(answer));
	*bytes += answer.bytes;
	return true;
}

/* The same for a table and all its partitions or children. */
static bool
forget_all(GjConnection *conn, Oid relid, uint64 *bytes)
{
	ListCell   *lc;
	bool		ok = true;

	/* that locks the children */
	LockRelationOid(relid, AccessShareLock);
	foreach(lc, find_all_inheritors(relid, AccessShareLock, NULL))
	{
		Relation	rel = try_relation_open(lfirst_oid(lc), NoLock);

		if (rel == NULL)
			continue;			/* dropped meanwhile */

		ok = ok && (!is_stored(rel) || forget(conn, rel, bytes));
		relation_close(rel, NoLock);
	}
	return ok;
}

/* Returns the bytes of values that are no longer kept. */
Datum
gpujoin_forget(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	uint64	   *bytes = palloc0(sizeof(uint64));
	GjLink	   *link = palloc0(sizeof(GjLink));

	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	if (!gj_is_owner(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relid)),
					   get_rel_name(relid));
	gj_link_init(link, CurrentMemoryContext);
	PG_TRY();
	{
		if (!gj_link_connect(link, gj_socket) || !forget_all(&link->conn, relid, bytes))
			ereport(ERROR,
					(errcode(ERRCODE_CONNECTION_FAILURE),
					 errmsg("gpujoind was not told to forget table \"%s\"", get_rel_name(relid)),
					 gj_failure_detail(&link->conn)));
	}
	PG_FINALLY();
	{
		gj_link_close(link);
	}
	PG_END_TRY();
	PG_RETURN_INT64(*bytes);
}

/* ---- what gpujoin.keep() wants to know ---- */

/* Returns (blocks bigint, visible bigint) of a table: visible: whose rows all see. */
Datum
gpujoin_pages_of(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessShareLock);
	BlockNumber visible = 0;
	Datum		values[2];

	values[0] = Int64GetDatum(0);
	if (is_stored(rel))
	{
		values[0] = Int64GetDatum(RelationGetNumberOfBlocks(rel));
		visibilitymap_count(rel, &visible, NULL);
	}
	values[1] = Int64GetDatum(visible);
	relation_close(rel, AccessShareLock);
	return row_of(fcinfo, values, lengthof(values));
}

/* Can columns of the type be fed? */
Datum
gpujoin_can_feed(PG_FUNCTION_ARGS)
{
	GjColumn	column = {0};

	PG_RETURN_BOOL(gj_describe_payload(PG_GETARG_OID(0), PG_GETARG_INT32(1), &column));
}

/* The end of the last record.  The next one begins after the header of a new page. */
static XLogRecPtr
end_of_wal(void)
{
	XLogRecPtr	next = GetXLogInsertRecPtr();
	uint32		offset = next % XLOG_BLCKSZ;
	uint32		header = XLogSegmentOffset(next, wal_segment_size) < XLOG_BLCKSZ ?
		SizeOfXLogLongPHD : SizeOfXLogShortPHD;

	return offset <= header ? next - offset : next;
}

/*
 * Writes all WAL so far to disk: a page whose last change is not on disk cannot be
 * kept.  VACUUM itself does not wait for that.
 */
Datum
gpujoin_flush_wal(PG_FUNCTION_ARGS)
{
	if (!RecoveryInProgress())
		XLogFlush(end_of_wal());
	PG_RETURN_VOID();
}

/*
 * Returns (kept bigint, proved bigint, fed bigint, captured bigint): what became of
 * the blocks of tables that the daemon keeps, in all jobs of this session.
 */
Datum
gpujoin_session_blocks(PG_FUNCTION_ARGS)
{
	Datum		values[] = {
		Int64GetDatum(gj_session_blocks.kept), Int64GetDatum(gj_session_blocks.proved),
		Int64GetDatum(gj_session_blocks.fed), Int64GetDatum(gj_session_blocks.captured)
	};

	return row_of(fcinfo, values, lengthof(values));
}
