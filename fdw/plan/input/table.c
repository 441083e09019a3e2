/*
 * plan/input/table.c - decides whether and how a base relation is fed.
 *
 * The decision is made once per relation and query, when the first join with
 * the relation is considered.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tsmapi.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "job/page_qual.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/input/input.h"
#include "plan/native/native.h"
#include "plan/state.h"
#include "source/source.h"

/* ---- which relations may be inputs of a job ---- */

/* Does the path contain a foreign or custom scan that is not ours? */
static bool
is_foreign(Path *path)
{
	ListCell   *lc;

	if (gj_is_gpujoin(path))
		return false;
	if (IsA(path, CustomPath) || (IsA(path, ForeignPath) && !gj_is_mirrored(path->parent)))
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
			return gj_is_mirrorable(rte->relid) ? GJ_ACCEPTED : GJ_REJECT_FOREIGN;
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

/* ---- table ---- */

/*
 * Checks every column that the relation delivers, and sums up the feed
 * weights.
 */
static GjReject
check_columns(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base)
{
	ListCell   *lc;

	base->weights = palloc0((rel->max_attr + 1 + list_length(rel->reltarget->exprs)) *
							sizeof(double));
	foreach(lc, rel->reltarget->exprs)
	{
		Var		   *var = lfirst(lc);
		GjColumn	column = {0};

		if (IsA(var, PlaceHolderVar))
		{
			if (contain_volatile_functions((Node *) var))
				return GJ_REJECT_VOLATILE;
			var = gj_compute(rel, base, (Expr *) var);
		}
		if (!IsA(var, Var))
			return GJ_REJECT_EXPRESSION;
		if (var->varattno < 0)
			return GJ_REJECT_SYSTEM_COLUMN;
		if (var->varattno == 0)
			return GJ_REJECT_WHOLE_ROW;
		if (!gj_describe_payload(var->vartype, var->vartypmod, &column))
			return GJ_REJECT_COLUMN_TYPE;
		column.avg_width = gj_average_width(root, var);
		base->weights[var->varattno] = gj_column_weight(&column);
		base->weight += base->weights[var->varattno];
		base->row_bytes += gj_column_bytes(&column);
		base->ncolumns++;
	}
	if (base->ncolumns == 0)
	{
		/* gj_need_some_column() */
		base->weight = 1;
		base->row_bytes = sizeof(int64);
		base->ncolumns = 1;
	}
	return GJ_ACCEPTED;
}

/* Chooses the cheaper of a page feed of rel and a feed from child. */
static void
choose_source(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base, Path *child, int workers,
			  GjSource *source)
{
	source->rel = rel;
	source->partial = workers > 0;
	source->fed = source->promised_fed = 1;
	if (child != NULL)
	{
		source->feed = GJ_FEED_CHILD;
		source->path = child;
		source->scan_cost = gj_child_scan_cost(root, child);
		source->cost = source->scan_cost + gj_child_fill_cost(child, base->weight);
		source->disabled = gj_price(child).disabled;
	}
	if (base->paged)
		gj_offer_pages(root, rel, base, child, workers, source);
}

static Path *
unparameterized(Path *path)
{
	return path != NULL && path->param_info == NULL ? path : NULL;
}

/* The cheapest path, also before core has determined it. */
static Path *
cheapest_path(RelOptInfo *rel)
{
	Path	   *best = unparameterized(rel->cheapest_total_path);
	ListCell   *lc;

	if (rel->cheapest_total_path != NULL)
		return best;
	foreach(lc, rel->pathlist)
	{
		Path	   *path = unparameterized(lfirst(lc));

		if (path != NULL && (best == NULL || gj_is_cheaper(gj_price(path), gj_price(best))))
			best = path;
	}
	return best;
}

static void
choose_sources(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base)
{
	bool		page;			/* of the relation's own table */
	GjSource   *parallel = &base->sources[GJ_PARALLEL];

	gj_find_pages(root, rel, base);
	page = base->paged && base->tables == NIL;
	choose_source(root, rel, base, cheapest_path(rel), 0, &base->sources[GJ_SERIAL]);
	gj_offer_mirror(root, rel, base, &base->sources[GJ_SERIAL], &base->leaves[GJ_SERIAL].size);
	if (!rel->consider_parallel)
		return;
	if (rel->partial_pathlist != NIL)
	{
		Path	   *child = linitial(rel->partial_pathlist);
		int			workers = child->parallel_workers;

		/* the daemon knows how many processors the workers share */
		(void) gj_query_daemon(gj_query(root));
		if (page)
			workers = Max(workers, compute_parallel_worker(rel, rel->pages, -1,
														   max_parallel_workers_per_gather));
		if (page && !gj_debug_force)
			workers = Min(workers, gj_most_workers());
		choose_source(root, rel, base, child, workers, parallel);
	}
	else
		choose_source(root, rel, base,
					  unparameterized(get_cheapest_parallel_safe_total_inner(rel->pathlist)),
					  0, parallel);
}

static void
make_leaf(PlannerInfo *root, RelOptInfo *rel, GjBaserel *base, GjVariant variant)
{
	GjSource   *source = &base->sources[variant];
	GjTree	   *leaf = &base->leaves[variant];

	if (source->path == NULL)
		return;
	leaf->source = source;
	leaf->relids = rel->relids;
	leaf->growth = leaf->key_growth = gj_rel_growth(root, rel);
	leaf->rows = rel->rows * leaf->growth;
	leaf->input_rows = gj_lacks_statistics(root, rel) ? Max(rel->tuples, leaf->rows) : leaf->rows;
	leaf->rows_read = Max(gj_rows_read(root, rel), leaf->rows);
	leaf->bytes = rel->rows * base->row_bytes;
	leaf->scan_cost = source->scan_cost;
	leaf->feed_cost = source->cost;
	leaf->kept_saving = source->kept_saving;
	leaf->promise = source->promise;
	leaf->disabled = source->disabled;
	leaf->workers = source->partial ? source->path->parallel_workers : 0;
	leaf->ninputs = 1;
	leaf->ncolumns = base->ncolumns;
	leaf->size.levels = 1;
	leaf->whole_size = leaf->size;
	leaf->mirrored = source->feed == GJ_FEED_MIRROR;
	leaf->ships_deferred = true;
	leaf->secured = root->simple_rte_array[rel->relid]->securityQuals != NIL;
}

GjBaserel *
gj_base(PlannerInfo *root, RelOptInfo *rel)
{
	GjBaserel  *base = gj_base_slot(rel);
	MemoryContext old;

	if (base == NULL || base->decided)
		return base;
	old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));
	base->decided = true;
	base->reject = gj_check_relation(root, rel);
	if (base->reject == GJ_ACCEPTED)
		base->reject = check_columns(root, rel, base);
	if (base->reject == GJ_ACCEPTED)
	{
		choose_sources(root, rel, base);
		make_leaf(root, rel, base, GJ_SERIAL);
		make_leaf(root, rel, base, GJ_PARALLEL);
		if (base->sources[GJ_SERIAL].path == NULL)
			base->reject = GJ_REJECT_NO_PATH;
		for (int v = 0; base->reject == GJ_ACCEPTED && v < GJ_VARIANTS; v++)
			if (base->sources[v].path != NULL)
				base->trees[v] = &base->leaves[v];
	}
	MemoryContextSwitchTo(old);
	return base;
}
