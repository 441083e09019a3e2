/*
 * foreign/run.c - jobs of scans of foreign tables.
 *
 * Nobody feeds such a job: the daemon has the rows, or fetches them from the
 * source.  There is no native plan, so each failure is an error.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "foreign/scan.h"
#include "options.h"
#include "source/source.h"

/* How long a scan waits for memory at least: it is an error if there is none. */
#define LEAST_QUEUE_MS 60000

static int
sqlstate_of(const GjConnection *conn)
{
	switch (conn->fault)
	{
		case GJ_FAULT_SOURCE:
			return gj_sqlstate_of(conn->sqlstate);
		case GJ_FAULT_BUSY:
			return ERRCODE_INSUFFICIENT_RESOURCES;
		case GJ_FAULT_SILENT:
		case GJ_FAULT_FAILING:
			return ERRCODE_CONNECTION_FAILURE;
		default:
			return ERRCODE_FDW_ERROR;
	}
}

void
gj_scan_failed(const GjConnection *conn, Oid relid)
{
	const char *name = get_rel_name(relid);

	ereport(ERROR,
			(errcode(sqlstate_of(conn)),
			 errmsg("could not read foreign table \"%s\"", name != NULL ? name : "?"),
			 gj_failure_detail(conn)));
}

void
gj_scan_open(GjLink *link, const GjPlan *plan, const GjPin *pin, const char *parameters,
			 int64 sample, bool rewindable)
{
	const char *token = pin->token;
	GjRuntime	runtime = {
		.parameters = parameters,
		.algorithm = GJ_ALGORITHM_AUTO,
		.tokens = &token,
		.sample = sample,
		.seed = sample > 0 ? (int64) (gj_now_us() & PG_INT32_MAX) : 0
	};

	link->queue_ms = Max(gj_queue_timeout, LEAST_QUEUE_MS);
	if (!gj_link_connect(link, gj_socket) ||
		!gj_link_open(link, plan, &runtime, 1, rewindable) ||
		!gj_link_admitted(link) ||
		!gj_link_fed(link, 0, 0, 0) ||
		!gj_link_run(link))
		gj_scan_failed(&link->conn, plan->inputs[0].relid);
}
