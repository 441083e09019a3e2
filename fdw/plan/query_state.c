/*
 * plan/query_state.c - facts that are determined once per query level.
 *
 * Most queries have no join that can be offloaded, and a large join search
 * calls the hook thousands of times.  So the answers are stored with the first
 * base relation of the level, which lives exactly as long as they are valid.
 */
#include "postgres.h"

#include "compat.h"
#include "plan/cost/rows_input.h"
#include "plan/cost/rows_scan.h"
#include "plan/cost/speedup.h"
#include "plan/state.h"

/* Collects the properties of the query's tables. */
static void
survey_tables(PlannerInfo *root, GjQuery *query)
{
	int			relid = -1;

	while ((relid = bms_next_member(root->all_baserels, relid)) >= 0)
	{
		RelOptInfo *rel = gj_base_rel(root, relid);

		if (rel == NULL)
			continue;
		query->rows += Max(gj_rows_read(root, rel), rel->rows * gj_rel_growth(root, rel));
		query->shares |= rel->partial_pathlist != NIL;
	}
}

/*
 * Does the query, at every level, neither lock nor change the rows that it
 * reads?  Rows added by an INSERT are not visible to its own SELECT.
 */
static bool
has_no_rechecks(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		CmdType		command = root->parse->commandType;

		if ((command != CMD_SELECT && command != CMD_INSERT) ||
			root->rowMarks != NIL || root->parse->rowMarks != NIL)
			return false;
	}
	return true;
}

GjQuery *
gj_query(PlannerInfo *root)
{
	GjBaserel  *base = NULL;
	GjQuery    *query;
	int			relid = -1;

	while (base == NULL && (relid = bms_next_member(root->all_baserels, relid)) >= 0)
		base = gj_base_slot(gj_base_rel(root, relid));
	if (base != NULL && base->query != NULL)
		return base->query;

	query = MemoryContextAllocZero(root->planner_cxt, sizeof(GjQuery));
	survey_tables(root, query);
	query->no_rechecks = has_no_rechecks(root);
	query->single_process = !query->shares && root->parent_root == NULL &&
		!gj_parallel_is_forced();
	if (base != NULL)
		base->query = query;
	return query;
}

const struct gj_status *
gj_query_daemon(GjQuery *query)
{
	if (!query->asked_daemon)
	{
		query->asked_daemon = true;
		query->daemon = gj_daemon_state(&query->status);
		if (query->daemon == GJ_DAEMON_READY)
			gj_set_processors(query->status.processors);
	}
	return query->daemon == GJ_DAEMON_READY ? &query->status : NULL;
}
