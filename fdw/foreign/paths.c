/*
 * foreign/paths.c - the planner's estimates and paths for a foreign table.
 *
 * The daemon has the rows in its memory or fetches them, and evaluates conditions on
 * all its cores.  Most of a scan's time is the return of its rows.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "foreign/foreign.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"

#include "daemon/status.h"
#include "foreign/scan.h"
#include "foreign/versions.h"
#include "foreign/wrapper.h"
#include "options.h"
#include "plan/cost/cost.h"

/* Pages of a table of which nothing is known, as core expects of a new table. */
#define UNKNOWN_PAGES 10

/* Does an option of the table or its server ask for the source's own estimate? */
static bool
uses_remote_estimate(const ForeignTable *table)
{
	const ForeignServer *server = GetForeignServer(table->serverid);

	return gj_bool_option(table->options, "use_remote_estimate",
						  gj_bool_option(server->options, "use_remote_estimate", false));
}

/* The user with whose mapping the table is read. */
static Oid
user_of(const RelOptInfo *rel)
{
	return OidIsValid(rel->userid) ? rel->userid : GetUserId();
}

/* Asks the daemon.  Returns false if it does not know. */
static bool
ask_rows(RelOptInfo *rel, Oid relid)
{
	double		bytes = 0;
	double		rows = gj_source_rows(relid, user_of(rel), &bytes);

	if (rows < 0)
		return false;
	rel->tuples = rows;
	rel->pages = (BlockNumber) Min(Max(bytes, 0) / BLCKSZ, MaxBlockNumber);
	return true;
}

void
gj_foreign_get_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	bool		analyzed = rel->tuples >= 0;

	if ((!analyzed || uses_remote_estimate(GetForeignTable(relid))) &&
		!ask_rows(rel, relid) && !analyzed)
	{
		rel->pages = UNKNOWN_PAGES;
		rel->tuples = UNKNOWN_PAGES * (double) BLCKSZ /
			(rel->reltarget->width + MAXALIGN(SizeofHeapTupleHeader));
	}
	set_baserel_size_estimates(root, rel);
}

/* How much the columns weigh that the path returns. */
static double
return_weight(const RelOptInfo *rel)
{
	double		weight = 0;
	ListCell   *lc;

	foreach(lc, rel->reltarget->exprs)
	{
		const Var  *var = lfirst(lc);
		GjColumn	column = {.avg_width = rel->reltarget->width};

		if (!IsA(var, Var) || var->varattno <= 0)
			continue;
		column.avg_width = get_typavgwidth(var->vartype, var->vartypmod);
		if (!gj_describe_payload(var->vartype, var->vartypmod, &column))
			(void) gj_describe_payload(TEXTOID, -1, &column);
		weight += gj_column_weight(&column);
	}
	return weight;
}

/*
 * Adds the conditions that the node evaluates, for instance those with subqueries: on all
 * rows that the daemon returns.
 */
static void
add_local_costs(PlannerInfo *root, const RelOptInfo *rel, double *rows, Cost *startup, Cost *run)
{
	List	   *local = gj_local_conditions(root, rel);
	Selectivity passing;
	QualCost	cost;

	if (local == NIL)
		return;
	passing = clauselist_selectivity(root, local, rel->relid, JOIN_INNER, NULL);
	*rows = Max(*rows, Min(rel->tuples, *rows / Max(passing, 1e-9)));
	cost_qual_eval(&cost, local, root);
	*startup += cost.startup;
	*run += cost.per_tuple * *rows;
}

void
gj_foreign_get_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid)
{
	struct gj_status status;
	bool		ready = gj_daemon_state(&status) == GJ_DAEMON_READY;
	double		rows = rel->rows;
	Cost		startup;
	Cost		run = 0;

	if (ready)
		gj_set_machine(&status);
	startup = gj_scan_job_cost(ready ? &status : NULL, rel);
	add_local_costs(root, rel, &rows, &startup, &run);
	run += gj_return_cost(rows, return_weight(rel));
	add_path(rel, (Path *) gj_create_foreign_path(root, rel, startup, startup + run));
}
