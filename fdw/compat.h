/*
 * compat.h - the only place that asks which PostgreSQL this is.
 */
#ifndef GPUJOIN_COMPAT_H
#define GPUJOIN_COMPAT_H

#include "postgres.h"

#include "access/heapam.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 180000
#error "gpujoin supports PostgreSQL 15 to 17"
#endif

/*
 * From 17 on a CustomPath over a join names the clauses that it stands for,
 * and pseudoconstant ones among them become a gating Result above the node.
 * Up to 16 the hook is not called when there are pseudoconstant clauses.
 */
#if PG_VERSION_NUM >= 170000
#define gj_set_path_clauses(cpath, clauses) ((cpath)->custom_restrictinfo = (clauses))
#else
#define gj_set_path_clauses(cpath, clauses) ((void) (clauses))
#endif

/* Does the planner put a Gather on plans that need none?  A setting for tests. */
static inline bool
gj_parallel_is_forced(void)
{
#if PG_VERSION_NUM >= 160000
	return debug_parallel_query != DEBUG_PARALLEL_OFF;
#else
	return force_parallel_mode != FORCE_PARALLEL_OFF;
#endif
}

/* From 16 on a join's relids also name outer joins, which have no rel. */
static inline RelOptInfo *
gj_base_rel(PlannerInfo *root, int relid)
{
	return root->simple_rel_array[relid];
}

/*
 * Reads a page of a heap scan, with the line pointers of its visible tuples.
 * The scan keeps it pinned instead of the page before.  From 17 on core's own
 * way there reads ahead, and keeps what it has read ahead pinned, which we
 * must not while we wait for the daemon.
 */
static inline void
gj_read_heap_page(HeapScanDesc scan, BlockNumber block)
{
#if PG_VERSION_NUM >= 170000
	if (BufferIsValid(scan->rs_cbuf))
		ReleaseBuffer(scan->rs_cbuf);
	scan->rs_cbuf = ReadBufferExtended(scan->rs_base.rs_rd, MAIN_FORKNUM, block,
									   RBM_NORMAL, scan->rs_strategy);
	scan->rs_cblock = block;
	heap_prepare_pagescan(&scan->rs_base);
#else
	heapgetpage(&scan->rs_base, block);
#endif
}

/* Adds to what pg_stat_user_tables shows as seq_tup_read. */
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

/* The next datum in sort order, as a copy for the caller to free. */
static inline bool
gj_tuplesort_getdatum(Tuplesortstate *sort, Datum *datum, bool *isnull)
{
#if PG_VERSION_NUM >= 160000
	return tuplesort_getdatum(sort, true, true, datum, isnull, NULL);
#else
	return tuplesort_getdatum(sort, true, datum, isnull, NULL);
#endif
}

#endif							/* GPUJOIN_COMPAT_H */
