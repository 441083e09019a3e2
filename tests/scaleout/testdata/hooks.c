/*
 * hooks.c - a library of somebody else: counts the statements that are planned and
 * executed, and calls the hooks before it.
 */
#include "postgres.h"

#include <limits.h>

#include "executor/executor.h"
#include "fmgr.h"
#include "optimizer/planner.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);

static int	planned;
static int	executed;
static planner_hook_type previous_planner;
static ExecutorStart_hook_type previous_start;

static PlannedStmt *
count_plan(Query *parse, const char *text, int options, ParamListInfo params)
{
	planned++;
	return previous_planner ? previous_planner(parse, text, options, params) :
		standard_planner(parse, text, options, params);
}

static void
count_start(QueryDesc *query, int flags)
{
	executed++;
	if (previous_start)
		previous_start(query, flags);
	else
		standard_ExecutorStart(query, flags);
}

void
_PG_init(void)
{
	DefineCustomIntVariable("neighbour.planned", "Statements planned.", NULL, &planned, 0, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("neighbour.executed", "Statements executed.", NULL, &executed, 0, 0, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	previous_planner = planner_hook;
	planner_hook = count_plan;
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = count_start;
}
