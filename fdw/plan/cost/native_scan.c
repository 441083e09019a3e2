/*
 * plan/cost/native_scan.c - how long native scans of tables take.
 *
 * A table that is in memory is not in the processor's cache.  A row at a random
 * place costs several accesses to memory one after the other: the table of
 * buffers, the page, its line pointer, the row, and the same for the pages of
 * the index.  core's random_page_cost says nothing of that, and its
 * estimate of cached pages makes such accesses look almost free.
 */
#include "postgres.h"

#include <math.h>

#include "access/sysattr.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/spccache.h"
#include "utils/syscache.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"
#include "plan/input/input.h"
#include "plan/state.h"

#define IN_ORDER 0.9			/* least correlation that counts as such */

double
gj_cache_misses(double bytes)
{
	static double ratio;
	static double log_ratio;	/* of ratio */

	if (bytes <= gj_machine.cached_bytes)
		return 0;
	if (ratio != gj_machine.uncached_bytes / gj_machine.cached_bytes)
	{
		ratio = gj_machine.uncached_bytes / gj_machine.cached_bytes;
		log_ratio = log(ratio);
	}
	return Min(1, log(bytes / gj_machine.cached_bytes) / log_ratio);
}

/* core uses effective_cache_size in the same way, for index scans only */
double
gj_missing_pages(const PlannerInfo *root)
{
	double		pages = Max(root->total_table_pages, 1);

	return Max(0, (pages - effective_cache_size) / pages);
}

static double
heap_bytes(const RelOptInfo *rel)
{
	return (double) rel->pages * BLCKSZ;
}

/* ns to read pages from files, as far as they are not expected in memory. */
static double
reading_ns(PlannerInfo *root, const RelOptInfo *rel, double pages)
{
	double		page_cost;
	double		missing = gj_missing_pages(root);

	if (missing == 0)
		return 0;
	get_tablespace_page_costs(rel->reltablespace, NULL, &page_cost);
	return pages * missing * page_cost / GJ_NS_COST;
}

/* The partitioned table with the same columns, or the relation itself. */
static const RelOptInfo *
described_by(PlannerInfo *root, const RelOptInfo *rel)
{
	int			top;
	const RelOptInfo *table;

	if (rel->reloptkind != RELOPT_OTHER_MEMBER_REL ||
		!bms_get_singleton_member(rel->top_parent_relids, &top))
		return rel;
	table = find_base_rel(root, top);
	return table->rtekind == RTE_RELATION && table->max_attr == rel->max_attr ? table : rel;
}

/*
 * ns per row, and per row that passes the conditions, of a scan of this
 * relation without conditions of its path.  They are computed once, for all
 * partitions of a table.
 */
static void
row_times(PlannerInfo *root, const RelOptInfo *member, double *row_ns, double *passed_ns)
{
	const RelOptInfo *rel = described_by(root, member);
	GjBaserel  *base = rel->reloptkind == RELOPT_BASEREL ?
		gj_base_slot(unconstify(RelOptInfo *, rel)) : NULL;
	int			tested;

	if (base != NULL && base->row_ns > 0)
	{
		*row_ns = base->row_ns;
		*passed_ns = base->passed_ns;
		return;
	}
	tested = gj_last_column(extract_actual_clauses(rel->baserestrictinfo, false), rel->relid);
	*row_ns = ROW_NS + tested * COLUMN_NS + gj_conditions_ns(rel->baserestrictinfo);
	*passed_ns = ROW_NS / 2 +
		Max(0, gj_last_column(rel->reltarget->exprs, rel->relid) - tested) * COLUMN_NS;
	if (base != NULL)
	{
		base->row_ns = *row_ns;
		base->passed_ns = *passed_ns;
	}
}

static double
correlation(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum), BoolGetDatum(false));
	double		value = 0;
	AttStatsSlot slot;

	if (!HeapTupleIsValid(tuple))
		return 0;
	if (get_attstatsslot(&slot, tuple, STATISTIC_KIND_CORRELATION, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers == 1)
			value = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	ReleaseSysCache(tuple);
	return value;
}

/* Is the table stored in the order of this column?  Looked up once. */
static bool
is_in_order(PlannerInfo *root, const RelOptInfo *rel, AttrNumber attnum)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjBaserel  *base = gj_base_slot(unconstify(RelOptInfo *, rel));
	bool		ordered;

	if (rte->rtekind != RTE_RELATION || attnum <= 0 || !gj_corrects(GJ_TABLE_ORDER))
		return false;
	if (base != NULL && bms_is_member(attnum, base->looked_up))
		return bms_is_member(attnum, base->in_order);
	ordered = fabs(correlation(rte->relid, attnum)) >= IN_ORDER;
	if (base != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(base));

		base->looked_up = bms_add_member(base->looked_up, attnum);
		if (ordered)
			base->in_order = bms_add_member(base->in_order, attnum);
		MemoryContextSwitchTo(old);
	}
	return ordered;
}

/* The scan whose order the rows of a path have, or NULL. */
static const Path *
leading_scan(const Path *path)
{
	for (;;)
		switch (nodeTag(path))
		{
			case T_NestPath:
			case T_HashPath:
				path = ((const JoinPath *) path)->outerjoinpath;
				break;
			case T_ProjectionPath:
				path = ((const ProjectionPath *) path)->subpath;
				break;
			case T_GatherPath:
				path = ((const GatherPath *) path)->subpath;
				break;
			case T_Path:
				return path->pathtype == T_SeqScan ? path : NULL;
			default:
				return NULL;
		}
}

/* The table's column in the clause's equivalence class, or 0. */
static AttrNumber
equal_column(const RestrictInfo *clause, Index relid)
{
	ListCell   *lc;

	if (clause->parent_ec == NULL)
		return 0;
	foreach(lc, clause->parent_ec->ec_members)
	{
		const EquivalenceMember *member = lfirst(lc);
		const Var  *var = (const Var *) member->em_expr;

		if (!member->em_is_child && IsA(var, Var) && var->varno == (int) relid)
			return var->varattno;
	}
	return 0;
}

/* The table's column that the clause compares, or 0. */
static AttrNumber
compared_column(const RestrictInfo *clause, Index relid)
{
	const Node *sides[2];

	if (!is_opclause(clause->clause) || list_length(((OpExpr *) clause->clause)->args) != 2)
		return 0;
	sides[0] = get_leftop(clause->clause);
	sides[1] = get_rightop(clause->clause);
	for (int s = 0; s < 2; s++)
		if (IsA(sides[s], Var) && ((const Var *) sides[s])->varno == (int) relid)
			return ((const Var *) sides[s])->varattno;
	return equal_column(clause, relid);
}

bool
gj_probes_in_order(PlannerInfo *root, const Path *outer, const IndexPath *inner)
{
	const Path *scan = leading_scan(outer);
	ListCell   *lc;

	if (scan == NULL ||
		!is_in_order(root, inner->path.parent, inner->indexinfo->indexkeys[0]))
		return false;
	foreach(lc, inner->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->indexcol == 0)
			return is_in_order(root, scan->parent,
							   compared_column(clause->rinfo, scan->parent->relid));
	}
	return false;
}

double
gj_seqscan_ns(PlannerInfo *root, const Path *path)
{
	const RelOptInfo *rel = path->parent;
	double		divisor = path->parallel_workers > 0 ? gj_divisor(path->parallel_workers) : 1;
	double		row_ns;
	double		passed_ns;

	row_times(root, rel, &row_ns, &passed_ns);
	return (rel->pages * PAGE_NS + rel->tuples * row_ns) / divisor +
		path->rows * passed_ns + reading_ns(root, rel, rel->pages);
}

/* ns from the root of the index to a leaf. */
static double
descent_ns(const IndexOptInfo *index, bool ordered)
{
	double		misses = ordered ? 0 : gj_cache_misses((double) index->pages * BLCKSZ);

	return DESCENT_NS + misses * DESCENT_MISS_NS;
}

double
gj_empty_indexscan_ns(const IndexPath *path)
{
	return descent_ns(path->indexinfo, false);
}

double
gj_indexscan_ns(PlannerInfo *root, const IndexPath *path, bool ordered)
{
	const IndexOptInfo *index = path->indexinfo;
	const RelOptInfo *rel = path->path.parent;
	double		rows = Max(clamp_row_est(path->indexselectivity * rel->tuples), path->path.rows);
	double		divisor = path->path.parallel_workers > 0 ?
		gj_divisor(path->path.parallel_workers) : 1;
	double		heap_misses = gj_cache_misses(heap_bytes(rel));
	double		random = rows;	/* rows at random places */
	double		row_ns;
	double		passed_ns;
	double		ns;

	ns = descent_ns(index, ordered) + rows * ENTRY_NS / divisor;
	row_times(root, rel, &row_ns, &passed_ns);
	ns += (rows * row_ns + path->path.rows * passed_ns) / divisor;
	if (path->path.pathtype == T_IndexOnlyScan)
		return ns;
	if (is_in_order(root, rel, index->indexkeys[0]))
		random = ordered ? 0 : Min(1, rows);
	return ns + (rows * FETCH_NS + heap_misses * random * FETCH_MISS_NS) / divisor +
		reading_ns(root, rel, Min(random, rel->pages));
}

double
gj_bitmapscan_ns(PlannerInfo *root, const BitmapHeapPath *path)
{
	const RelOptInfo *rel = path->path.parent;
	double		divisor = path->path.parallel_workers > 0 ?
		gj_divisor(path->path.parallel_workers) : 1;
	Cost		cost;
	Selectivity selectivity;
	double		rows;
	double		pages;
	double		row_ns;
	double		passed_ns;

	cost_bitmap_tree_node(path->bitmapqual, &cost, &selectivity);
	rows = clamp_row_est(selectivity * rel->tuples);
	pages = rel->pages * (1 - exp(-rows / Max(rel->pages, 1)));
	row_times(root, rel, &row_ns, &passed_ns);
	return (pages * (PAGE_NS + gj_cache_misses(heap_bytes(rel)) * FETCH_MISS_NS) +
			rows * (ENTRY_NS + row_ns)) / divisor + path->path.rows * passed_ns +
		reading_ns(root, rel, pages);
}
