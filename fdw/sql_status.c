/*
 * sql_status.c - gpujoin.daemon_status(), which shows the daemon's status.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "daemon/connection.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "daemon/job_session.h"
#include "options.h"

PG_FUNCTION_INFO_V1(gpujoin_daemon_status);

/* Returns (failure text, status jsonb), one of which is NULL. */
Datum
gpujoin_daemon_status(PG_FUNCTION_ARGS)
{
	TupleDesc	desc;
	Datum		values[2] = {0};
	bool		nulls[2] = {true, true};
	GjLink	   *link = palloc0(sizeof(GjLink));

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != 2)
		elog(ERROR, "return type must be a row type with two columns");

	gj_link_init(link, CurrentMemoryContext);
	PG_TRY();
	{
		GjConnection *conn = &link->conn;

		if (gj_link_connect(link, gj_socket) &&
			gj_send(conn, GJ_STATUS_GET, NULL, 0, NULL, 0) &&
			gj_expect(conn, GJ_STATUS, 0, gj_connect_timeout))
		{
			/* the body is zero-terminated; jsonb_in() validates the rest */
			values[1] = DirectFunctionCall1(jsonb_in, CStringGetDatum(conn->body));
			nulls[1] = false;
		}
		else
		{
			values[0] = CStringGetTextDatum(conn->failure);
			nulls[0] = false;
		}
	}
	PG_FINALLY();
	{
		gj_link_close(link);
	}
	PG_END_TRY();

	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}
