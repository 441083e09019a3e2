/*
 * plan/cost/kept.c - which part of a table the daemon is expected to have already.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/expr/expr.h"

/* Has each condition a form that the daemon evaluates?  Else it cannot serve the table. */
static bool
are_conditions_known(PlannerInfo *root, const RelOptInfo *rel)
{
	bool		aggregates = root->parse->hasAggs || root->parse->groupClause != NIL;
	GjTranslator t = {.root = root, .kept = true};
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		GjExpr	   *condition = gj_translate_condition(&t, lfirst_node(RestrictInfo, lc)->clause);

		if (condition == NULL || (condition->can_fail && !aggregates))
			return false;
	}
	return true;
}

double
gj_expected_kept(PlannerInfo *root, RelOptInfo *rel, Relation relation)
{
	const struct gj_status *status;
	Bitmapset  *read = NULL;
	GjTableFile file;
	double		share;

	if (gj_keep == GJ_KEEP_OFF || rel->pages < GJ_LEAST_KEPT_BLOCKS)
		return 0;
	status = gj_query_daemon(gj_query(root));
	if (status == NULL || status->load.kept == 0)
		return 0;
	gj_relation_file(relation, &file.tablespace, &file.database, &file.number);
	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &read);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid, &read);
	share = gj_kept_share(&status->load, &file, read);
	bms_free(read);
	return share > 0 && are_conditions_known(root, rel) ? share : 0;
}
