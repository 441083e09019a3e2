/*
 * foreign/sql_mirror.c - the SQL functions on mirrors: begin one, end one, compare one with
 * its source, list all.
 *
 * A mirror is that of the foreign table's server and the current user's mapping.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "fmgr.h"
#include "foreign/fdwapi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "source/request.h"
#include "source/source.h"

PG_FUNCTION_INFO_V1(gpujoin_mirror);
PG_FUNCTION_INFO_V1(gpujoin_unmirror);
PG_FUNCTION_INFO_V1(gpujoin_check_mirror);
PG_FUNCTION_INFO_V1(gpujoin_daemon_mirrors);

static Datum
row_of(FunctionCallInfo fcinfo, Datum *values, bool *nulls, int n)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != n)
		elog(ERROR, "return type must be a row type with %d columns", n);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* Opens a foreign table of ours, which the caller closes. */
static Relation
open_table(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);

	if (!gj_is_mirrorable(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a foreign table of gpujoin_fdw", RelationGetRelationName(rel)),
				 rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? errhint("Name its partitions.") : 0));
	return rel;
}

static void
check_owner(const Relation rel)
{
	if (!gj_is_owner(RelationGetRelid(rel), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(rel->rd_rel->relkind),
					   RelationGetRelationName(rel));
}

/* Asks for something about one table.  more are the members beside it, or empty. */
static Jsonb *
ask(const Relation rel, enum gj_source_kind kind, const char *more)
{
	Oid			relid = RelationGetRelid(rel);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "\"tables\": [{");
	gj_append_names(&json, relid);
	appendStringInfo(&json, "}]%s", more);
	return gj_source_request(GetForeignServerIdByRelId(relid), GetUserId(), kind, json.data);
}

/* Returns (state text, rows bigint, reason text) of the mirror. */
Datum
gpujoin_mirror(PG_FUNCTION_ARGS)
{
	Relation	rel = open_table(PG_GETARG_OID(0));
	bool		wait = PG_GETARG_BOOL(1);
	Datum		values[3];
	bool		nulls[3] = {0};
	JsonbContainer *table;
	const char *state;
	const char *reason;

	check_owner(rel);
	table = gj_answer_element(gj_answer_array(&ask(rel, GJ_SOURCE_MIRROR, wait ? ", \"wait_ms\": -1" : ", \"wait_ms\": 0")->root, "tables"), 0);
	state = gj_answer_text(table, "state");
	reason = gj_answer_text(table, "reason");
	if (wait && strcmp(state, "ready") != 0)
	{
		gj_raise_answer(table, GetForeignServerIdByRelId(RelationGetRelid(rel)));
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("foreign table \"%s\" is not mirrored", RelationGetRelationName(rel)),
				 reason[0] != '\0' ? errdetail_internal("%s", gj_as_sentence(reason)) : errdetail("Its state is %s.", state),
				 errhint("See the view gpujoin.mirrors.")));
	}
	values[0] = CStringGetTextDatum(state);
	values[1] = Int64GetDatum(gj_answer_count(table, "rows"));
	values[2] = CStringGetTextDatum(reason);
	nulls[2] = reason[0] == '\0';
	relation_close(rel, NoLock);
	return row_of(fcinfo, values, nulls, lengthof(values));
}

Datum
gpujoin_unmirror(PG_FUNCTION_ARGS)
{
	Relation	rel = open_table(PG_GETARG_OID(0));

	check_owner(rel);
	(void) ask(rel, GJ_SOURCE_UNMIRROR, "");
	relation_close(rel, NoLock);
	PG_RETURN_VOID();
}

/* Returns (rows bigint, missing bigint, extra bigint, position pg_lsn). */
Datum
gpujoin_check_mirror(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	Relation	rel = open_table(relid);
	AclResult	allowed = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	Datum		values[4];
	bool		nulls[4] = {0};
	StringInfoData json;
	JsonbContainer *answer;

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, get_relkind_objtype(rel->rd_rel->relkind), RelationGetRelationName(rel));
	initStringInfo(&json);
	appendStringInfoString(&json, "\"table\": {");
	gj_append_names(&json, relid);
	appendStringInfoString(&json, "}, \"columns\": [");
	gj_append_columns(&json, relid, gj_all_columns(relid));
	appendStringInfoChar(&json, ']');
	answer = &gj_source_request(GetForeignServerIdByRelId(relid), GetUserId(), GJ_SOURCE_CHECK, json.data)->root;
	values[0] = Int64GetDatum(gj_answer_count(answer, "rows"));
	values[1] = Int64GetDatum(gj_answer_count(answer, "missing"));
	values[2] = Int64GetDatum(gj_answer_count(answer, "extra"));
	values[3] = DirectFunctionCall1(pg_lsn_in, CStringGetDatum(gj_answer_text(answer, "position")));
	relation_close(rel, NoLock);
	return row_of(fcinfo, values, nulls, lengthof(values));
}

/* Returns (failure text, mirrors jsonb), one of which is NULL: the mirrors of the database. */
Datum
gpujoin_daemon_mirrors(PG_FUNCTION_ARGS)
{
	Datum		values[2] = {0};
	bool		nulls[2] = {true, true};
	const char *failure;
	Jsonb	   *answer = gj_source_try(InvalidOid, InvalidOid, GJ_SOURCE_MIRRORS, NULL, &failure);

	if (answer != NULL)
		values[1] = DirectFunctionCall2(jsonb_object_field, JsonbPGetDatum(answer), CStringGetTextDatum("mirrors"));
	else
		values[0] = CStringGetTextDatum(failure);
	nulls[answer != NULL ? 1 : 0] = false;
	return row_of(fcinfo, values, nulls, lengthof(values));
}
