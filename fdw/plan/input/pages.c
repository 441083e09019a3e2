/*
 * plan/input/pages.c - whether a base relation can be fed from heap pages, and at what price.
 *
 * That is a table, or all leaves of a partitioned table or of an inheritance tree.
 * The leaves are scanned sequentially below an Append, so that it excludes those
 * that the query's parameters exclude.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/rel.h"

#include "compat.h"
#include "job/page_qual.h"
#include "plan/cost/cost.h"
#include "plan/input/input.h"
#include "plan/state.h"

/* ---- which tables a page feed reads ---- */

/* Can rows of the relation be read from pages, but for its conditions? */
static bool
may_have_pages(const RangeTblEntry *rte)
{
	/* with security quals, the executor controls the evaluation order */
	return rte->rtekind == RTE_RELATION && rte->securityQuals == NIL && rte->tablesample == NULL;
}

/* Does a page feed evaluate all conditions of this table, if it is a heap? */
static bool
may_be_page_fed(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	ListCell   *lc;

	if (!may_have_pages(rte) || rte->inh ||
		(rte->relkind != RELKIND_RELATION && rte->relkind != RELKIND_MATVIEW))
		return false;
	foreach(lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		GjPageQual	qual;

		if (rinfo->pseudoconstant ||
			(!gj_page_qual(rinfo->clause, &qual) && !gj_page_expression(rinfo->clause)))
			return false;
	}
	return true;
}

/*
 * Adds the leaves of a partitioned table or of an inheritance tree that are not
 * excluded, in the order in which core scans them.  Returns false if a page feed cannot read one.
 */
static bool
add_leaves(PlannerInfo *root, RelOptInfo *rel, List **leaves)
{
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		const AppendRelInfo *member = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child = root->simple_rel_array[member->child_relid];

		if (member->parent_relid != rel->relid || child == NULL || IS_DUMMY_REL(child))
			continue;
		if (root->simple_rte_array[child->relid]->inh)
		{
			if (!add_leaves(root, child, leaves))
				return false;
		}
		else if (may_be_page_fed(root, child))
			*leaves = lappend(*leaves, child);
		else
			return false;
	}
	return true;
}

/* ---- what it reads ---- */

/* The last attribute that is read, for delivery or for a condition.  0: none. */
static int
last_attribute(const RelOptInfo *rel)
{
	return Max(gj_last_column(rel->reltarget->exprs, rel->relid),
			   gj_last_column(extract_actual_clauses(rel->baserestrictinfo, false), rel->relid));
}

/*
 * Counts the attributes of a tuple that are skipped, up to the last one that
 * is read (feed/page/rows.c).  Attributes before the first one that may be
 * NULL or has no fixed length have a known offset and are not counted.
 */
static int
walked_attributes(TupleDesc desc, int last)
{
	int			first = 0;

	last = Min(last, desc->natts);
	while (first < last && TupleDescAttr(desc, first)->attnotnull &&
		   TupleDescAttr(desc, first)->attlen > 0)
		first++;
	return Max(0, last - first);
}

/* Adds a share of a table. */
static void
add_amount(GjAmount *amount, const RelOptInfo *rel, int walk, double share)
{
	amount->scans++;
	amount->pages += share * rel->pages;
	amount->tuples += share * rel->tuples;
	amount->walked += share * rel->tuples * walk;
	amount->rows += share * rel->rows;
}

/* Adds what is read of a table.  Returns false if it is no heap. */
static bool
add_table(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base, bool served)
{
	Relation	relation = table_open(root->simple_rte_array[rel->relid]->relid, NoLock);	/* locked for the query */
	bool		heap = relation->rd_rel->relam == HEAP_TABLE_AM_OID;

	if (heap)
	{
		int			walk = walked_attributes(RelationGetDescr(relation), last_attribute(rel));
		double		kept = served ? gj_expected_kept(root, rel, relation) : 0;
		double		promised = served && kept < 1 ? gj_promised_kept(root, rel, relation) : 0;

		add_amount(&base->whole, rel, walk, 1);
		add_amount(&base->fed, rel, walk, 1 - kept);
		add_amount(&base->promised, rel, walk, 1 - Max(kept, promised));
	}
	table_close(relation, NoLock);
	return heap;
}

void
gj_find_pages(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	bool		served;
	ListCell   *lc;

	base->paged = false;
	if (base->computed != NIL || !may_have_pages(rte))
		return;
	if (!rte->inh)
	{
		base->paged = may_be_page_fed(root, rel) &&
			add_table(root, rel, base, rel->pages >= GJ_LEAST_KEPT_BLOCKS &&
					  gj_may_be_served(root, rel));
		return;
	}
	if (IS_DUMMY_REL(rel) || !add_leaves(root, rel, &base->tables) || base->tables == NIL)
	{
		base->tables = NIL;
		return;
	}
	served = gj_may_be_served(root, rel);
	foreach(lc, base->tables)
		if (!add_table(root, lfirst(lc), base, served))
			return;
	base->paged = true;
}

/* ---- the path ---- */

/* Does the path scan leaves sequentially, all that it scans? */
static bool
scans_leaves(const Path *path, const RelOptInfo *rel)
{
	ListCell   *lc;

	if (path == NULL || !IsA(path, AppendPath) || path->parent != rel ||
		((const AppendPath *) path)->subpaths == NIL)
		return false;
	foreach(lc, ((const AppendPath *) path)->subpaths)
		if (((const Path *) lfirst(lc))->pathtype != T_SeqScan)
			return false;
	return true;
}

/* A path that scans all leaves sequentially.  With workers, each of them is scanned by all. */
static Path *
create_append(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, int workers)
{
	List	   *scans = NIL;
	ListCell   *lc;

	foreach(lc, base->tables)
		scans = lappend(scans, create_seqscan_path(root, lfirst(lc), NULL, workers));
	return (Path *) gj_create_append_path(root, rel, scans, workers);
}

static Path *
pages_path(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, Path *child, int workers)
{
	if (base->tables != NIL)
		return scans_leaves(child, rel) && child->parallel_workers == workers ? child :
			create_append(root, rel, base, workers);
	return child != NULL && child->pathtype == T_SeqScan && child->parallel_workers == workers ?
		child : create_seqscan_path(root, rel, NULL, workers);
}

/* ---- the price ---- */

/* What filling costs, and what the daemon does instead where it serves a table. */
static Cost
fill_cost(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, const GjAmount *read,
		  int workers)
{
	Cost		cost = gj_page_fill_cost(read, base->weight, workers);

	if (read->tuples < base->whole.tuples)
		cost += gj_kept_cost(gj_query_daemon(gj_query(root)), rel,
							 base->whole.tuples - read->tuples);
	return cost;
}

/* What a page feed of this amount costs, if the daemon serves the rest. */
static Cost
pages_cost(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, const GjAmount *read,
		   int workers)
{
	return gj_page_scan_cost(root, rel, read, workers) + fill_cost(root, rel, base, read, workers);
}

/* The share of the table's pages that an amount has. */
static double
share_of(const GjBaserel *base, const GjAmount *read)
{
	return base->whole.pages > 0 ? read->pages / base->whole.pages : 1;
}

/*
 * Would the daemon serve the only table of a query in far less time than the child scans it?
 * A join may gain from the child's feed in the meantime.
 */
static bool
is_promising(const PlannerInfo *root, const RelOptInfo *rel, const GjSource *child, Cost pages,
			 Cost promised)
{
	return bms_equal(root->all_baserels, rel->relids) && !gj_debug_force &&
		gj_is_worth_keeping(pages, child->scan_cost, promised);
}

void
gj_offer_pages(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, Path *child,
			   int workers, GjSource *source)
{
	const GjAmount *fed = &base->fed;
	const GjAmount *whole = &base->whole;
	GjPrice		pages = {
		.disabled = whole->scans * gj_disabled_scan(),
		.cost = pages_cost(root, rel, base, fed, workers),
	};
	GjPrice		child_price = {.disabled = source->disabled, .cost = source->cost};
	Cost		promised = base->promised.pages < fed->pages ?
		Min(pages.cost, pages_cost(root, rel, base, &base->promised, workers)) : pages.cost;

	if (source->path != NULL && !gj_is_cheaper(pages, child_price) &&
		(pages.disabled > child_price.disabled ||
		 !is_promising(root, rel, source, pages.cost, promised)))
		return;
	source->feed = GJ_FEED_PAGE;
	source->tuples = whole->tuples;
	source->fed = share_of(base, fed);
	source->promised_fed = share_of(base, &base->promised);
	if (fed->pages < whole->pages)
		source->kept_saving = pages_cost(root, rel, base, whole, workers) - pages.cost;
	source->promise = pages.cost - promised;
	source->path = pages_path(root, rel, base, child, workers);
	source->scan_cost = gj_page_scan_cost(root, rel, fed, workers);
	source->cost = pages.cost;
	source->disabled = pages.disabled;
}
