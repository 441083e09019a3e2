/*
 * compat.h - what depends on the PostgreSQL version; of pages and buffers: compat_heap.h.
 */
#ifndef GPUJOIN_COMPAT_H
#define GPUJOIN_COMPAT_H

#include "postgres.h"

#include <limits.h>

#include "access/heapam.h"
#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "commands/explain.h"
#include "executor/execPartition.h"
#include "executor/instrument.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parse_type.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/wait_event.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#include "nodes/queryjumble.h"
#include "parser/parse_relation.h"
#include "rewrite/rewriteManip.h"
#include "varatt.h"
#else
#include "utils/queryjumble.h"
#endif
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 200000
#error "gpujoin supports PostgreSQL 15 to 19"
#endif

/* What says that a case goes on into the next one. */
#if PG_VERSION_NUM >= 190000
#define gj_fallthrough pg_fallthrough
#else
#define gj_fallthrough __attribute__((fallthrough))
#endif

/* Since 19, the node that drops equal neighbours has the name of one that is gone. */
#if PG_VERSION_NUM >= 190000
#define UpperUniquePath UniquePath
#define T_UpperUniquePath T_UniquePath
#define GJ_BEFORE_19(...)
#else
#define GJ_BEFORE_19(...) __VA_ARGS__
#endif

/* Since 19, a planner hook is told what EXPLAIN wants to know. */
#if PG_VERSION_NUM >= 190000
#define GJ_EXPLAIN_PARAMETER , ExplainState *explain
#define GJ_EXPLAIN_ARGUMENT , explain
#else
#define GJ_EXPLAIN_PARAMETER
#define GJ_EXPLAIN_ARGUMENT
#endif

/* What EXPLAIN ANALYZE counts in a node. */
#if PG_VERSION_NUM >= 190000
typedef NodeInstrumentation GjInstrumentation;
#else
typedef Instrumentation GjInstrumentation;
#endif

/*
 * Since 17, a CustomPath over a join lists the clauses that it implements, and
 * pseudoconstant ones among them become a gating Result above the node.  Up to
 * 16, the hook is not called if there are pseudoconstant clauses.
 */
#if PG_VERSION_NUM >= 170000
#define gj_set_path_clauses(cpath, clauses) ((cpath)->custom_restrictinfo = (clauses))
#else
#define gj_set_path_clauses(cpath, clauses) ((void) (clauses))
#endif

/*
 * What core compares paths by.  Since 18, it counts the nodes of a path that
 * settings such as enable_seqscan switch off, and compares these numbers first; up
 * to 17, the cost of such a node has disable_cost added.
 */
typedef struct GjPrice
{
	int			disabled;		/* 0 up to 17 */
	Cost		cost;
} GjPrice;

static inline GjPrice
gj_price(const Path *path)
{
	GjPrice		price = {.cost = path->total_cost};

#if PG_VERSION_NUM >= 180000
	price.disabled = path->disabled_nodes;
#endif
	return price;
}

static inline GjPrice
gj_plan_price(const Plan *plan)
{
	GjPrice		price = {.cost = plan->total_cost};

#if PG_VERSION_NUM >= 180000
	price.disabled = plan->disabled_nodes;
#endif
	return price;
}

static inline bool
gj_is_cheaper(GjPrice a, GjPrice b)
{
	return a.disabled != b.disabled ? a.disabled < b.disabled : a.cost < b.cost;
}

/* How many nodes of a sequential scan are switched off. */
static inline int
gj_disabled_scan(void)
{
#if PG_VERSION_NUM >= 180000
	return enable_seqscan ? 0 : 1;
#else
	return 0;
#endif
}

static inline void
gj_set_disabled(Path *path, int disabled)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes = disabled;
#endif
}

/* What a sequential scan costs more than its work. */
static inline Cost
gj_scan_disable_cost(void)
{
#if PG_VERSION_NUM >= 180000
	return 0;
#else
	return enable_seqscan ? 0 : disable_cost;
#endif
}

/*
 * Does a test setting make the planner add a Gather to plans that need none?
 */
static inline bool
gj_parallel_is_forced(void)
{
#if PG_VERSION_NUM >= 160000
	return debug_parallel_query != DEBUG_PARALLEL_OFF;
#else
	return force_parallel_mode != FORCE_PARALLEL_OFF;
#endif
}

/* Since 18, reverse() of a bytea exists, too. */
#if PG_VERSION_NUM >= 180000
#define GJ_F_REVERSE F_REVERSE_TEXT
#else
#define GJ_F_REVERSE F_REVERSE
#endif

/*
 * The GROUP BY clauses that core groups by.  Since 16 they are a list of their
 * own, without those that depend on others or equal them or a constant.
 */
static inline List *
gj_needed_group_clauses(PlannerInfo *root)
{
#if PG_VERSION_NUM >= 160000
	return root->processed_groupClause;
#else
	return root->parse->groupClause;
#endif
}

/*
 * Since 16, a join's relids also include outer joins, which have no
 * RelOptInfo.
 */
static inline RelOptInfo *
gj_base_rel(PlannerInfo *root, int relid)
{
	return root->simple_rel_array[relid];
}

/* Since 18, both inputs of a set operation are paths; before, their Append is. */
static inline List *
gj_setop_children(const SetOpPath *path)
{
#if PG_VERSION_NUM >= 180000
	return list_make2(path->leftpath, path->rightpath);
#else
	return list_make1(path->subpath);
#endif
}

static inline void
gj_set_setop_children(SetOpPath *path, List *children)
{
#if PG_VERSION_NUM >= 180000
	path->leftpath = linitial(children);
	path->rightpath = lsecond(children);
#else
	path->subpath = linitial(children);
#endif
}

/* Does a collation compare bytes? */
static inline bool
gj_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

/*
 * An expression over var as the scan of var's relation evaluates it: since 16,
 * columns are marked with the outer joins that may have made them NULL.
 */
static inline Expr *
gj_before_joins(Expr *expr, const Var *var)
{
#if PG_VERSION_NUM >= 160000
	return (Expr *) remove_nulling_relids((Node *) expr, var->varnullingrels, NULL);
#else
	return expr;
#endif
}

/* A path that appends scans, which are partial ones if it has workers. */
static inline AppendPath *
gj_create_append_path(PlannerInfo *root, RelOptInfo *rel, List *scans, int workers)
{
	List	   *whole = workers > 0 ? NIL : scans;
	List	   *partial = workers > 0 ? scans : NIL;
	bool		aware = workers > 0 && enable_parallel_append;

#if PG_VERSION_NUM >= 190000
	return create_append_path(root, rel, (AppendPathInput) {.subpaths = whole, .partial_subpaths = partial},
							  NIL, NULL, workers, aware, -1);
#else
	return create_append_path(root, rel, whole, partial, NIL, NULL, workers, aware, -1);
#endif
}

/* The children of an Append that its parameters do not exclude. */
static inline Bitmapset *
gj_find_matching_plans(PartitionPruneState *prune)
{
#if PG_VERSION_NUM >= 180000
	return ExecFindMatchingSubPlans(prune, false, NULL);
#else
	return ExecFindMatchingSubPlans(prune, false);
#endif
}

/* A hash table in shared memory for this many entries: since 19, there is no initial number. */
static inline HTAB *
gj_shmem_hash(const char *name, int64 entries, HASHCTL *info, int flags)
{
#if PG_VERSION_NUM >= 190000
	return ShmemInitHash(name, entries, info, flags);
#else
	return ShmemInitHash(name, entries, entries, info, flags);
#endif
}

/* The number of a wait event of ours; up to 16 all have the same. */
static inline uint32
gj_new_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* The file of a relation. */
static inline void
gj_relation_file(Relation rel, Oid *tablespace, Oid *database, uint32 *number)
{
#if PG_VERSION_NUM >= 160000
	*tablespace = rel->rd_locator.spcOid;
	*database = rel->rd_locator.dbOid;
	*number = rel->rd_locator.relNumber;
#else
	*tablespace = rel->rd_node.spcNode;
	*database = rel->rd_node.dbNode;
	*number = rel->rd_node.relNode;
#endif
}

/* Does the role own the table? */
static inline bool
gj_is_owner(Oid relid, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relid, role);
#else
	return pg_class_ownercheck(relid, role);
#endif
}

/*
 * May VACUUM remove what a snapshot still sees?  Up to 16, a setting allows it.
 */
static inline bool
gj_snapshots_expire(void)
{
#if PG_VERSION_NUM < 170000
	return old_snapshot_threshold >= 0;
#else
	return false;
#endif
}

/* Adds to seq_tup_read of pg_stat_user_tables. */
static inline void
gj_count_tuples_read(Relation rel, double tuples)
{
	if (!pgstat_should_count_relation(rel))
		return;
#if PG_VERSION_NUM >= 160000
	rel->pgstat_info->counts.tuples_returned += (PgStat_Counter) tuples;
#else
	rel->pgstat_info->t_counts.t_tuples_returned += (PgStat_Counter) tuples;
#endif
}

/* Returns the next datum in sort order, as a copy that the caller frees. */
static inline bool
gj_tuplesort_getdatum(Tuplesortstate *sort, Datum *datum, bool *isnull)
{
#if PG_VERSION_NUM >= 160000
	return tuplesort_getdatum(sort, true, true, datum, isnull, NULL);
#else
	return tuplesort_getdatum(sort, true, datum, isnull, NULL);
#endif
}

static inline MinimalTuple
gj_form_minimal_tuple(TupleDesc desc, Datum *values, bool *isnull)
{
#if PG_VERSION_NUM >= 180000
	return heap_form_minimal_tuple(desc, values, isnull, 0);
#else
	return heap_form_minimal_tuple(desc, values, isnull);
#endif
}

/* Is it an operator of an order, or its negation? */
static inline bool
gj_has_order(Oid opno)
{
#if PG_VERSION_NUM >= 180000
	return get_op_index_interpretation(opno) != NIL;
#else
	return get_op_btree_interpretation(opno) != NIL;
#endif
}

/* Does no row of the table have NULL in this column?  From 18 on, a constraint may not be validated yet. */
static inline bool
gj_is_not_null(TupleDesc desc, int column)
{
#if PG_VERSION_NUM >= 180000
	return TupleDescCompactAttr(desc, column)->attnullability == ATTNULLABLE_VALID;
#else
	return TupleDescAttr(desc, column)->attnotnull;
#endif
}

/* Is the column's table on a side of an outer join that may be missing?  Known from 16 on. */
static inline bool
gj_has_nulling_joins(const Var *column)
{
#if PG_VERSION_NUM >= 160000
	return !bms_is_empty(column->varnullingrels);
#else
	return false;
#endif
}

/* Gives a table of one query the permissions that it has in another one, of which it is a copy. */
static inline void
gj_copy_permissions(const Query *from, const RangeTblEntry *rte, Query *to, RangeTblEntry *copy)
{
#if PG_VERSION_NUM >= 160000
	if (rte->perminfoindex == 0)
		return;
	to->rteperminfos = lappend(to->rteperminfos, copyObject(getRTEPermissionInfo(from->rteperminfos, (RangeTblEntry *) rte)));
	copy->perminfoindex = list_length(to->rteperminfos);
#endif
}

/*
 * Which columns of a table a statement reads, counted from
 * FirstLowInvalidHeapAttributeNumber, and as whom (0: the current user).  Returns
 * false if the range table does not say: since 16, for partitions and children,
 * whose parents are in the range table, too.
 */
static inline bool
gj_columns_read(EState *estate, RangeTblEntry *rte, Bitmapset **columns, Oid *user)
{
#if PG_VERSION_NUM >= 160000
	const RTEPermissionInfo *info;

	if (rte->perminfoindex == 0)
		return false;
	info = getRTEPermissionInfo(estate->es_rteperminfos, rte);
	*columns = info->selectedCols;
	*user = info->checkAsUser;
#else
	*columns = rte->selectedCols;
	*user = rte->checkAsUser;
#endif
	return true;
}

/* Is it the name of a type that exists, with its modifier, and nothing else? */
static inline bool
gj_is_type_name(const char *text)
{
	Oid			type;
	int32		typmod;

#if PG_VERSION_NUM >= 160000
	ErrorSaveContext missing = {.type = T_ErrorSaveContext};

	return parseTypeString(text, &type, &typmod, (Node *) &missing);
#else
	parseTypeString(text, &type, &typmod, true);
	return OidIsValid(type);
#endif
}

#endif							/* GPUJOIN_COMPAT_H */
