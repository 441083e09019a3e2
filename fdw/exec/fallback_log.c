/*
 * exec/fallback_log.c - the server's log of joins that run natively.
 *
 * A daemon that is gone affects every query, and a join may run for each row of
 * an outer query.  So a process logs each kind of fault at most once a minute.
 */
#include "postgres.h"

#include "utils/backend_status.h"

#include "exec/node.h"

#define LOG_INTERVAL_US UINT64CONST(60000000)

void
gj_log_fallback(const GjState *state, const char *reason, GjFault fault)
{
	static uint64 logged_us[GJ_NFAULTS];	/* 0: never */
	uint64		now = gj_now_us();
	long long	query = (long long) state->css.ss.ps.state->es_plannedstmt->queryId;

	/* the query of a DECLARE CURSOR has none of its own */
	if (query == 0)
		query = (long long) pgstat_get_my_query_id();
	if (!gj_enabled)
		return;					/* as the user wishes */
	if (logged_us[fault] != 0 && now - logged_us[fault] < LOG_INTERVAL_US)
		return;
	logged_us[fault] = now;
	ereport(LOG_SERVER_ONLY,
			(errmsg("gpujoin runs a native plan: %s", reason),
			 query != 0 ? errdetail("Query identifier: %lld.", query) : 0,
			 errhint("For a minute, this process does not log further queries of this kind."),
			 errhidestmt(true)));	/* it may contain data */
}

double
gj_feed_bytes(const GjPlan *plan)
{
	double		bytes = 0;

	for (int i = 0; i < plan->ninputs; i++)
	{
		const GjInput *in = &plan->inputs[i];

		for (int j = 0; j < in->ncolumns; j++)
			bytes += in->rows * in->passing *
				Max(in->columns[j].width, in->columns[j].avg_width);
	}
	return bytes;
}
