/*
 * plan/input/relation.c - which relations may be inputs of a job.
 */
#include "postgres.h"

#include "access/tsmapi.h"
#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"

#include "plan/input/relation.h"
#include "plan/input/subquery.h"
#include "plan/native/fallback.h"
#include "plan/native/walk.h"

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
 * Does making a plan of the path leave something in its query level that a
 * second plan would not find there?  A grouping set leaves the positions of its
 * columns, min and max of an index the plans that find them.
 */
static bool
leaves_traces(Path *path)
{
	ListCell   *lc;

	if (IsA(path, MinMaxAggPath) || IsA(path, GroupingSetsPath))
		return true;
	foreach(lc, gj_path_children(path))
		if (leaves_traces(lfirst(lc)))
			return true;
	return false;
}

/* Does the test hold for a path of the relation? */
static bool
any_path(const RelOptInfo *rel, bool (*test) (Path *))
{
	ListCell   *lc;

	foreach(lc, rel->pathlist)
		if (test(lfirst(lc)))
			return true;
	foreach(lc, rel->partial_pathlist)
		if (test(lfirst(lc)))
			return true;
	return false;
}

bool
gj_has_foreign_path(const RelOptInfo *rel)
{
	return any_path(rel, is_foreign);
}

/* ---- subqueries ---- */

static GjReject
check_subquery(RelOptInfo *rel, RangeTblEntry *rte)
{
	if (rte->lateral || (rel->subroot != NULL && !gj_planned_twice_safely(rel->subroot)))
		return GJ_REJECT_SUBQUERY;
	return contain_volatile_functions((Node *) rte->subquery) ? GJ_REJECT_VOLATILE : GJ_ACCEPTED;
}

/* ---- other relations ---- */

/*
 * A sample can be taken twice if the query gives its seed, and if the method
 * then selects the same rows.
 */
static GjReject
check_sample(const TableSampleClause *sample)
{
	if (sample->repeatable == NULL || !GetTsmRoutine(sample->tsmhandler)->repeatable_across_queries)
		return GJ_REJECT_TABLESAMPLE;
	return contain_volatile_functions((Node *) sample->args) ||
		contain_volatile_functions((Node *) sample->repeatable) ? GJ_REJECT_VOLATILE : GJ_ACCEPTED;
}

static GjReject
check_table(const RangeTblEntry *rte)
{
	switch (rte->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_PARTITIONED_TABLE:
			return rte->tablesample == NULL ? GJ_ACCEPTED : check_sample(rte->tablesample);
		case RELKIND_FOREIGN_TABLE:
			return GJ_REJECT_FOREIGN;
		default:
			return GJ_REJECT_NOT_A_TABLE;
	}
}

/* A volatile function must not be called by both the feed and the native plan. */
static GjReject
check_called(Node *expressions)
{
	return contain_volatile_functions(expressions) ? GJ_REJECT_VOLATILE : GJ_ACCEPTED;
}

/* Checks the range table entry of a base relation. */
static GjReject
check_entry(RelOptInfo *rel, RangeTblEntry *rte)
{
	switch (rte->rtekind)
	{
		case RTE_RELATION:
			return check_table(rte);
		case RTE_SUBQUERY:
			return check_subquery(rel, rte);
		case RTE_CTE:
			/* all scans of the working table of WITH RECURSIVE share a position */
			return rte->self_reference ? GJ_REJECT_RECURSIVE : GJ_ACCEPTED;
		case RTE_FUNCTION:
			return check_called((Node *) rte->functions);
		case RTE_TABLEFUNC:
			return check_called((Node *) rte->tablefunc);
		case RTE_VALUES:
			return check_called((Node *) rte->values_lists);
		case RTE_NAMEDTUPLESTORE:	/* each scan has a read pointer of its own */
		case RTE_RESULT:
			return GJ_ACCEPTED;
		default:
			return GJ_REJECT_NOT_A_TABLE;
	}
}

/* Checks the members of a UNION ALL, and of each partitioned table. */
static GjReject
check_members(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (!root->simple_rte_array[rel->relid]->inh)
		return GJ_ACCEPTED;
	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *member = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child = root->simple_rel_array[member->child_relid];
		GjReject	reject;

		if (member->parent_relid != rel->relid || child == NULL)
			continue;
		reject = check_entry(child, root->simple_rte_array[member->child_relid]);
		if (reject == GJ_ACCEPTED)
			reject = check_members(root, child);
		if (reject != GJ_ACCEPTED)
			return reject;
	}
	return GJ_ACCEPTED;
}

GjReject
gj_check_relation(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjReject	reject;
	ListCell   *lc;

	reject = check_entry(rel, rte);
	if (reject == GJ_ACCEPTED)
		reject = check_members(root, rel);
	if (reject != GJ_ACCEPTED)
		return reject;
	if (gj_has_foreign_path(rel))
		return GJ_REJECT_FOREIGN;
	if (rte->rtekind == RTE_SUBQUERY && any_path(rel, leaves_traces))
		return GJ_REJECT_SUBQUERY;
	foreach(lc, rel->baserestrictinfo)
		if (contain_volatile_functions((Node *) lfirst(lc)))
			return GJ_REJECT_VOLATILE;
	return GJ_ACCEPTED;
}
