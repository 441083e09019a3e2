/*
 * exec/fallback.c - the server's log of joins that run natively.
 *
 * A daemon that is gone affects every query, and a join may run for each row of
 * an outer query.  So a process says each reason at most once a minute.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/backend_status.h"
#include "utils/lsyscache.h"

#include "exec/node.h"
#include "options.h"

#define INTERVAL_US UINT64CONST(60000000)
#define MAX_REASONS 32			/* that a process remembers */

typedef struct Said
{
	uint32		hash;			/* of the reason */
	uint64		at_us;			/* 0: never */
} Said;

/*
 * FNV-1a of a reason without its numbers, which are another size or time each time, and
 * without what gj_breaker_reason() puts before it later.
 */
static uint32
hash_of(const char *reason)
{
	static const char later[] = " lately: ";
	uint32		hash = 0x811c9dc5;
	const char *first = strstr(reason, later);

	if (first != NULL)
		reason = first + strlen(later);
	for (; *reason != '\0'; reason++)
		if (*reason < '0' || *reason > '9')
			hash = (hash ^ (uint8) *reason) * 0x01000193;
	return hash;
}

/* Is the reason to be said now?  Then it is not for a minute. */
static bool
is_due(const char *reason)
{
	static Said all[MAX_REASONS];
	uint32		hash = hash_of(reason);
	uint64		now = gj_now_us();
	Said	   *oldest = &all[0];

	for (int i = 0; i < MAX_REASONS; i++)
	{
		if (all[i].at_us != 0 && all[i].hash == hash)
		{
			if (now - all[i].at_us < INTERVAL_US)
				return false;
			oldest = &all[i];
			break;
		}
		if (all[i].at_us < oldest->at_us)
			oldest = &all[i];
	}
	oldest->hash = hash;
	oldest->at_us = now;
	return true;
}

/* "b, d": the tables and subqueries whose rows the node joins. */
static char *
inputs_of(const GjPlan *plan)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < plan->ninputs; i++)
	{
		const GjInput *in = &plan->inputs[i];
		char	   *table = OidIsValid(in->relid) ? get_rel_name(in->relid) : NULL;

		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "",
						 table != NULL ? table : in->name != NULL ? in->name : "a subquery");
	}
	return names.data;
}

void
gj_log_fallback(const GjState *state, const char *reason)
{
	const CustomScan *scan = (const CustomScan *) state->css.ss.ps.plan;
	long long	query = (long long) state->css.ss.ps.state->es_plannedstmt->queryId;

	/* with gpujoin.enabled off, the user wishes so */
	if (gj_log_fallbacks == GJ_LOG_OFF || !gj_enabled || !is_due(reason))
		return;
	/* the query of a DECLARE CURSOR has none of its own */
	if (query == 0)
		query = (long long) pgstat_get_my_query_id();
	ereport(gj_log_fallbacks == GJ_LOG_NOTICE ? NOTICE : LOG_SERVER_ONLY,
			(errmsg("gpujoin runs a native plan: %s", reason),
			 query != 0 ?
			 errdetail("Query identifier: %lld, node %d: %s of %s.", query, scan->scan.plan.plan_node_id,
					   scan->methods->CustomName, inputs_of(state->plan)) :
			 errdetail("Node %d: %s of %s.", scan->scan.plan.plan_node_id,
					   scan->methods->CustomName, inputs_of(state->plan)),
			 errhint("For a minute, this process does not report this reason again."),
			 errhidestmt(true)));	/* it may contain data */
}
