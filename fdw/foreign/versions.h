/*
 * foreign/versions.h - what of foreign tables depends on the PostgreSQL version.
 */
#ifndef FOREIGN_VERSIONS_H
#define FOREIGN_VERSIONS_H

#include "compat.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "optimizer/pathnode.h"

/* The user on whose behalf the scan reads, or InvalidOid: the current one. */
static inline Oid
gj_checked_as(const ForeignScan *scan, EState *estate)
{
#if PG_VERSION_NUM >= 160000
	return scan->checkAsUser;
#else
	return exec_rt_fetch(scan->scan.scanrelid, estate)->checkAsUser;
#endif
}

/* A path for all rows of a foreign table that pass its conditions. */
static inline ForeignPath *
gj_create_foreign_path(PlannerInfo *root, RelOptInfo *rel, Cost startup, Cost total)
{
	return create_foreignscan_path(root, rel, NULL, rel->rows,
#if PG_VERSION_NUM >= 180000
								   0,
#endif
								   startup, total, NIL, rel->lateral_relids, NULL,
#if PG_VERSION_NUM >= 170000
								   NIL,
#endif
								   NIL);
}

/* Makes the range table of an execution: a relation of which userid reads columns. */
static inline void
gj_set_range_table(EState *estate, Relation relation, Oid userid, Bitmapset *columns)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *rtable = list_make1(rte);

	rte->rtekind = RTE_RELATION;
	rte->relid = RelationGetRelid(relation);
	rte->relkind = relation->rd_rel->relkind;
	rte->rellockmode = AccessShareLock;
#if PG_VERSION_NUM >= 160000
	{
		List	   *permissions = NIL;
		RTEPermissionInfo *permission = addRTEPermissionInfo(&permissions, rte);

		permission->checkAsUser = userid;
		permission->selectedCols = columns;
#if PG_VERSION_NUM >= 180000
		ExecInitRangeTable(estate, rtable, permissions, bms_make_singleton(1));
#else
		ExecInitRangeTable(estate, rtable, permissions);
#endif
	}
#else
	rte->checkAsUser = userid;
	rte->selectedCols = columns;
	ExecInitRangeTable(estate, rtable);
#endif
}

#endif							/* FOREIGN_VERSIONS_H */
