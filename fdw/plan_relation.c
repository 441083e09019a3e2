/*
 * plan_relation.c - which relations may be inputs of a job.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"

#include "plan_fallback.h"
#include "plan_relation.h"
#include "plan_subpaths.h"

/* Does the path contain a foreign scan, or a custom scan that is not ours? */
static bool
is_foreign(Path *path)
{
	ListCell   *lc;

	if (gj_is_gpujoin(path))
		return false;
	if (IsA(path, ForeignPath) || IsA(path, CustomPath))
		return true;
	foreach(lc, gj_path_children(path))
		if (is_foreign(lfirst(lc)))
			return true;
	return false;
}

/*
 * Can a plan of the subquery be made twice?  Our node has it as a feed and in
 * its native child, and set_plan_references then visits both.  It changes the
 * AppendRelInfos of a query level in place, so there must be none.  Plans of
 * SubLinks and CTEs are shared by both copies, which is not known to be safe.
 */
static bool
is_planned_twice_safely(PlannerInfo *subroot)
{
	if (subroot == NULL || subroot->append_rel_list != NIL || subroot->init_plans != NIL ||
		subroot->rowMarks != NIL || subroot->parse->hasSubLinks ||
		subroot->parse->cteList != NIL || subroot->hasRecursion ||
		subroot->minmax_aggs != NIL || subroot->plan_params != NIL)
		return false;
	for (int i = 1; i < subroot->simple_rel_array_size; i++)
	{
		const RangeTblEntry *rte = subroot->simple_rte_array[i];
		const RelOptInfo *rel = subroot->simple_rel_array[i];

		if (rte == NULL || rel == NULL)
			continue;
		if (rte->rtekind != RTE_RELATION && rte->rtekind != RTE_JOIN &&
			(rte->rtekind != RTE_SUBQUERY || !is_planned_twice_safely(rel->subroot)))
			return false;
	}
	return true;
}

static GjReject
check_subquery(RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rte->lateral || !is_planned_twice_safely(rel->subroot))
		return GJ_REJECT_SUBQUERY;
	return contain_volatile_functions((Node *) rte->subquery) ? GJ_REJECT_VOLATILE : GJ_ACCEPTED;
}

static GjReject
check_table(const RangeTblEntry *rte)
{
	switch (rte->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_PARTITIONED_TABLE:
			break;
		case RELKIND_FOREIGN_TABLE:
			return GJ_REJECT_FOREIGN;
		default:
			return GJ_REJECT_NOT_A_TABLE;
	}
	return rte->tablesample != NULL ? GJ_REJECT_TABLESAMPLE : GJ_ACCEPTED;
}

GjReject
gj_check_relation(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjReject	reject = GJ_REJECT_NOT_A_TABLE;
	ListCell   *lc;

	if (rte->rtekind == RTE_RELATION)
		reject = check_table(rte);
	else if (rte->rtekind == RTE_SUBQUERY)
		reject = check_subquery(rel, rte);
	if (reject != GJ_ACCEPTED)
		return reject;
	foreach(lc, rel->pathlist)
		if (is_foreign(lfirst(lc)))
			return GJ_REJECT_FOREIGN;
	foreach(lc, rel->partial_pathlist)
		if (is_foreign(lfirst(lc)))
			return GJ_REJECT_FOREIGN;
	foreach(lc, rel->baserestrictinfo)
		if (contain_volatile_functions((Node *) lfirst(lc)))
			return GJ_REJECT_VOLATILE;
	return GJ_ACCEPTED;
}
