/*
 * foreign/wrapper.h - the foreign data wrapper gpujoin_fdw.
 */
#ifndef FOREIGN_WRAPPER_H
#define FOREIGN_WRAPPER_H

#include "postgres.h"

#include "commands/explain.h"
#include "foreign/fdwapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "compat.h"

/* ---- scans of foreign tables ---- */

extern void gj_foreign_get_rel_size(PlannerInfo *root, RelOptInfo *rel, Oid relid);
extern void gj_foreign_get_paths(PlannerInfo *root, RelOptInfo *rel, Oid relid);
extern ForeignScan *gj_foreign_get_plan(PlannerInfo *root, RelOptInfo *rel, Oid relid,
										ForeignPath *path, List *tlist, List *clauses,
										Plan *outer);
extern void gj_foreign_begin(ForeignScanState *node, int eflags);
extern TupleTableSlot *gj_foreign_iterate(ForeignScanState *node);
extern void gj_foreign_rescan(ForeignScanState *node);
extern void gj_foreign_end(ForeignScanState *node);
extern void gj_foreign_explain(ForeignScanState *node, ExplainState *es);
extern bool gj_foreign_analyze(Relation relation, AcquireSampleRowsFunc *sample,
							   BlockNumber *pages);

/* ---- definitions of foreign tables ---- */

extern List *gj_foreign_import(ImportForeignSchemaStmt *stmt, Oid serverid);

/* Lets the daemon know of servers and user mappings that are dropped or altered. */
extern void gj_install_object_hook(void);

#endif							/* FOREIGN_WRAPPER_H */
