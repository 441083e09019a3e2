/*
 * sql_status.c - gpujoin.daemon_status(), which shows the daemon's status, and
 * gpujoin.stat_report(), which shows of it what the caller may see; and
 * gpujoin.stat_daemon_reset().
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "daemon/connection.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/tuplestore.h"

#include "daemon/job_session.h"
#include "options.h"

PG_FUNCTION_INFO_V1(gpujoin_daemon_status);
PG_FUNCTION_INFO_V1(gpujoin_stat_report);
PG_FUNCTION_INFO_V1(gpujoin_stat_daemon_reset);

/*
 * Asks the daemon for its status, by GJ_STATUS_GET or GJ_STATUS_RESET.  Returns
 * NULL, with the reason in *failure, if there is none.
 */
static Jsonb *
daemon_status(enum gj_message request, text **failure)
{
	GjLink	   *link = palloc0(sizeof(GjLink));
	Jsonb	   *volatile status = NULL;

	gj_link_init(link, CurrentMemoryContext);
	PG_TRY();
	{
		GjConnection *conn = &link->conn;

		if (gj_link_connect(link, gj_socket) &&
			gj_send(conn, request, NULL, 0, NULL, 0) &&
			gj_expect(conn, GJ_STATUS, 0, gj_connect_timeout))
			/* the body is zero-terminated; jsonb_in() validates the rest */
			status = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(conn->body)));
		else
			*failure = cstring_to_text(conn->failure);
	}
	PG_FINALLY();
	{
		gj_link_close(link);
	}
	PG_END_TRY();
	return status;
}

/* Returns (failure text, status jsonb), one of which is NULL. */
Datum
gpujoin_daemon_status(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2] = {0};
	bool		nulls[2] = {true, true};
	text	   *failure = NULL;
	Jsonb	   *status;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 2)
		elog(ERROR, "return type must be a row type with two columns");
	status = daemon_status(GJ_STATUS_GET, &failure);
	nulls[0] = failure == NULL;
	nulls[1] = status == NULL;
	values[0] = PointerGetDatum(failure);
	values[1] = PointerGetDatum(status);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* ---- what everybody may see, and of the jobs their owners ---- */

/* Members of the status that tell nothing of queries, tables or roles. */
static const char *const public_members[] = {
	"version", "pid", "uptime_s", "stopping", "providers", "rates", "budget", "reserved", "used",
	"queued", "sessions", "spooled", "pool", "totals", "phases", "since_reset", "process", "devices"
};

static JsonbValue *
member(const Jsonb *object, const char *name)
{
	return getKeyJsonValueFromContainer(unconstify(JsonbContainer *, &object->root),
										name, strlen(name), NULL);
}

static void
put(ReturnSetInfo *result, const char *name, JsonbValue *value)
{
	Datum		values[2] = {CStringGetTextDatum(name), JsonbPGetDatum(JsonbValueToJsonb(value))};
	bool		nulls[2] = {false, false};

	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* A member that must be a whole number, as text; NULL if it is not one. */
static const char *
number(const Jsonb *object, const char *name)
{
	JsonbValue *value = member(object, name);

	if (value == NULL || value->type != jbvNumeric)
		return NULL;
	return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
}

/* As for pg_stat_activity. */
static bool
may_see(const Jsonb *job, bool ours)
{
	const char *role = number(job, "role");

	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) ||
		(ours && role != NULL && has_privs_of_role(GetUserId(), (Oid) strtoul(role, NULL, 10)));
}

/* Puts the jobs of a list that the caller may see. */
static void
put_jobs(ReturnSetInfo *result, const JsonbValue *list)
{
	char	   *ourselves = psprintf(UINT64_FORMAT, GetSystemIdentifier());

	if (list == NULL || list->type != jbvBinary || !JsonContainerIsArray(list->val.binary.data))
		return;
	for (uint32 i = 0; i < JsonContainerSize(list->val.binary.data); i++)
	{
		JsonbValue *item = getIthJsonbValueFromContainer(list->val.binary.data, i);
		const char *cluster;
		Jsonb	   *job;
		bool		ours;

		if (item->type != jbvBinary || !JsonContainerIsObject(item->val.binary.data))
			continue;
		job = JsonbValueToJsonb(item);
		cluster = number(job, "system_identifier");
		ours = cluster != NULL && strcmp(cluster, ourselves) == 0;
		if (may_see(job, ours))
			put(result, ours ? "job" : "job of another cluster", item);
	}
}

/* Returns rows (member text, item jsonb): of the status, or the failure alone. */
Datum
gpujoin_stat_report(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	text	   *failure = NULL;
	Jsonb	   *status;

	InitMaterializedSRF(fcinfo, 0);
	status = daemon_status(GJ_STATUS_GET, &failure);
	if (status == NULL)
	{
		JsonbValue	value = {.type = jbvString};

		value.val.string.val = VARDATA_ANY(failure);
		value.val.string.len = VARSIZE_ANY_EXHDR(failure);
		put(result, "failure", &value);
		return (Datum) 0;
	}
	if (!JB_ROOT_IS_OBJECT(status))
		return (Datum) 0;
	for (Size i = 0; i < lengthof(public_members); i++)
	{
		JsonbValue *value = member(status, public_members[i]);

		if (value != NULL)
			put(result, public_members[i], value);
	}
	put_jobs(result, member(status, "jobs"));
	put_jobs(result, member(status, "waiting"));
	return (Datum) 0;
}

/* ---- gpujoin.stat_daemon_reset() ---- */

/* Returns since when the daemon counts, which is now. */
Datum
gpujoin_stat_daemon_reset(PG_FUNCTION_ARGS)
{
	text	   *failure = NULL;
	Jsonb	   *status = daemon_status(GJ_STATUS_RESET, &failure);
	JsonbValue *counts;
	const char *since = NULL;

	if (status == NULL)
	{
		char	   *reason = text_to_cstring(failure);

		reason[0] = pg_toupper((unsigned char) reason[0]);
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("gpujoind did not reset its counters"),
				 errdetail_internal("%s.", reason)));
	}
	counts = JB_ROOT_IS_OBJECT(status) ? member(status, "since_reset") : NULL;
	if (counts != NULL && counts->type == jbvBinary && JsonContainerIsObject(counts->val.binary.data))
		since = number(JsonbValueToJsonb(counts), "since_s");
	if (since == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("the status of gpujoind does not say when its counters were reset")));
	return DirectFunctionCall1(float8_timestamptz,
							   DirectFunctionCall1(float8in, CStringGetDatum(since)));
}
