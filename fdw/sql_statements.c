/*
 * sql_statements.c - the SQL functions on counts of statements.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "stats/statements.h"

PG_FUNCTION_INFO_V1(gpujoin_stat_statements);
PG_FUNCTION_INFO_V1(gpujoin_stat_statements_info);
PG_FUNCTION_INFO_V1(gpujoin_stat_statements_reset);

#define COLUMNS 13

/* Those that occurred, as JSON; their sum in *all. */
static Datum
reasons(const GjCounts *counts, uint64 *all)
{
	StringInfoData json;

	*all = 0;
	initStringInfo(&json);
	for (int i = 0; i < GJ_WHYS; i++)
	{
		if (counts->native[i] != 0)
			appendStringInfo(&json, "%s\"%s\":" UINT64_FORMAT, *all > 0 ? "," : "{",
							 gj_why_name(i), counts->native[i]);
		*all += counts->native[i];
	}
	appendStringInfoString(&json, *all > 0 ? "}" : "{}");
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* One row for each statement that the caller may see. */
Datum
gpujoin_stat_statements(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	bool		sees_all = has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
	GjTotals   *all;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	if (result->setDesc->natts != COLUMNS)
		elog(ERROR, "return type must have %d columns", COLUMNS);
	all = gj_statements_all(&n);
	for (int i = 0; i < n; i++)
	{
		const GjCounts *counts = &all[i].counts;
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};
		uint64		fallbacks;
		int			c = 0;

		if (!sees_all && !has_privs_of_role(GetUserId(), all[i].user))
			continue;
		values[c++] = ObjectIdGetDatum(all[i].user);
		values[c++] = ObjectIdGetDatum(all[i].database);
		values[c++] = Int64GetDatum((int64) all[i].query);
		values[c++] = Int64GetDatum((int64) counts->calls);
		values[c++] = Int64GetDatum((int64) counts->offloaded);
		values[c++] = Int64GetDatum((int64) counts->jobs);
		values[c++] = Float8GetDatum(counts->feed_us / 1000);
		values[c++] = Float8GetDatum(counts->join_us / 1000);
		values[c++] = Float8GetDatum(counts->return_us / 1000);
		values[c++] = Float8GetDatum(counts->native_us / 1000);
		values[c + 1] = reasons(counts, &fallbacks);
		values[c++] = Int64GetDatum((int64) fallbacks);
		c++;
		values[c++] = TimestampTzGetDatum(all[i].since);
		Assert(c == COLUMNS);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
gpujoin_stat_statements_info(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {false, false};
	int64		dropped;
	TimestampTz since;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 2)
		elog(ERROR, "return type must be a row type with two columns");
	gj_statements_info(&dropped, &since);
	values[0] = Int64GetDatum(dropped);
	values[1] = TimestampTzGetDatum(since);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

Datum
gpujoin_stat_statements_reset(PG_FUNCTION_ARGS)
{
	PG_RETURN_TIMESTAMPTZ(gj_statements_reset());
}
