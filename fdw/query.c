/*
 * query.c - what is asked once per query level.
 *
 * Most queries have no join for us, and a large join search calls the hook
 * thousands of times.  So answers are kept, with the first base relation of
 * the level, which lives exactly as long as they are true.
 */
#include "postgres.h"

#include "candidate.h"
#include "compat.h"

double
gj_input_rows(PlannerInfo *root, Relids relids)
{
	double		rows = 0;
	int			relid = -1;

	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RelOptInfo *rel = gj_base_rel(root, relid);

		if (rel != NULL)
			rows += rel->rows;
	}
	return rows;
}

/* No data-modifying statement and no row lock, on no level of the query. */
static bool
is_plain_select(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
		if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL ||
			root->parse->rowMarks != NIL)
			return false;
	return true;
}

GjQuery *
gj_query(PlannerInfo *root)
{
	GjBase	   *base = NULL;
	GjQuery    *query;
	int			relid = -1;

	while (base == NULL && (relid = bms_next_member(root->all_baserels, relid)) >= 0)
		base = gj_base_slot(gj_base_rel(root, relid));
	if (base != NULL && base->query != NULL)
		return base->query;

	query = MemoryContextAllocZero(root->planner_cxt, sizeof(GjQuery));
	query->rows = gj_input_rows(root, root->all_baserels);
	query->plain_select = is_plain_select(root);
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
		query->daemon_alive = gj_daemon_alive(&query->status);
	}
	return query->daemon_alive ? &query->status : NULL;
}
