/*
 * plan_time.c - how long native paths are expected to run.
 *
 * core's costs rank native plans, for which they were tuned over decades, but
 * they are no times.  Two plans of equal cost may differ tenfold, because core
 * does not know that numerics are slow and that memory is not the processor's
 * cache.  So an offloaded plan is compared with the native one by times that
 * are estimated here, for the same rows and from the same kind of rates.
 *
 * Nodes whose time is not known take as long as core's cost says.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"

#include "plan_block.h"
#include "plan_fallback.h"
#include "plan_hook.h"
#include "plan_speedup.h"
#include "plan_subpaths.h"
#include "plan_surplus.h"
#include "plan_time.h"
#include "plan_time_scan.h"
#include "plan_time_value.h"

/* ns, measured on a core of about 3 GHz */
#define OUTPUT_NS 20			/* to make a row of two others */
#define STORE_NS 30				/* to put a row into memory, or to read it */
#define BUILD_NS 70				/* hash join */
#define PROBE_NS 50
#define MISS_NS 150				/* of either, if the table is not in the cache */
#define BATCH_NS 300			/* to write a row to a file and to read it */
#define MERGE_NS 50
#define RESCAN_NS 60
#define MEMO_NS 150
#define COMPARE_NS 15			/* of a sort, per row and comparison */
#define COMPARE_SLOW_NS 60		/* of numerics and texts */
#define GROUP_NS 60				/* aggregation, per row that is looked up */
#define GROUP_KEY_NS 25			/* per column */
#define GROUP_MISS_NS 250
#define GROUP_OUT_NS 200		/* per group that is returned */
#define GATHER_ROW_NS 200
#define GATHER_START_NS 5e6
#define SUBQUERY_ROW_NS 15
#define ROW_HEADER 48			/* bytes that a row of a hash table has more */

static GjTime estimate(PlannerInfo *root, const Path *path, GjTime *sum);

static double
rows_of(const Path *path, GjTime e)
{
	return path->rows * e.surplus;
}

static double
expressions_ns(const Path *path)
{
	return path->pathtarget->cost.per_tuple > 0 ?
		gj_expression_ns((Node *) path->pathtarget->exprs) : 0;
}

/* ---- joins ---- */

/* core's conditions of the join, with those that its inner path applies. */
static double
join_surplus(PlannerInfo *root, const JoinPath *join)
{
	const ParamPathInfo *param = join->innerjoinpath->param_info;

	if (join->jointype != JOIN_INNER)
		return 1;
	if (param == NULL)
		return gj_key_surplus(root, join->joinrestrictinfo);
	if (join->joinrestrictinfo == NIL)
		return gj_key_surplus(root, param->ppi_clauses);
	return gj_key_surplus(root, list_concat_copy(join->joinrestrictinfo, param->ppi_clauses));
}

/*
 * The surplus of a join, given its rows and the surplus of its sides.  Rows of a
 * semi or anti join are rows of its outer side.  If the inner side of a semi
 * join has more rows than expected, only some of them find further partners.
 */
static double
surplus_of_join(PlannerInfo *root, const JoinPath *join, double outer_surplus,
				double inner_surplus, double outer_rows, double inner_rows)
{
	bool		parameterized = join->innerjoinpath->param_info != NULL;
	double		rows = Max(join->path.rows, 1);
	double		surplus = outer_surplus * inner_surplus * join_surplus(root, join);

	switch (join->jointype)
	{
		case JOIN_INNER:
			return gj_surplus_rows(root, rows, surplus, outer_rows * inner_rows,
								   parameterized ? NIL : join->joinrestrictinfo) / rows;
		case JOIN_SEMI:
			return Min(outer_surplus * sqrt(inner_surplus), Max(outer_rows / rows, 1));
		case JOIN_ANTI:
			return outer_surplus;
		default:
			return surplus;
	}
}

/* Conditions that the executor tests on pairs of rows of a hash or merge join. */
static double
other_conditions_ns(const JoinPath *join, const List *keys)
{
	return list_length(join->joinrestrictinfo) > list_length(keys) ?
		gj_conditions_ns(list_difference_ptr(join->joinrestrictinfo, keys)) : 0;
}

/* ns of the scan of a nested loop's inner side for one of n outer rows. */
static double
inner_ns(PlannerInfo *root, const Path *outer, const Path *inner, double n, GjTime *sum)
{
	GjTime	e;

	switch (nodeTag(inner))
	{
		case T_IndexPath:
			return gj_indexscan_ns(root, (const IndexPath *) inner,
								   gj_probes_in_order(root, outer, (const IndexPath *) inner));
		case T_MaterialPath:
			e = estimate(root, inner, sum);
			return e.ns / n + rows_of(inner, e) * STORE_NS;
		case T_MemoizePath:
			{
				const MemoizePath *memo = (const MemoizePath *) inner;
				double		missing = memo->est_entries > 0 ? Min(1, memo->est_entries / n) : 1;

				return MEMO_NS + missing * inner_ns(root, outer, memo->subpath, n, sum);
			}
		default:
			return estimate(root, inner, sum).ns;
	}
}

static GjTime
estimate_nestloop(PlannerInfo *root, const JoinPath *join, GjTime *sum)
{
	const Path *inner = join->innerjoinpath;
	GjTime	e = estimate(root, join->outerjoinpath, sum);
	double		n = Max(rows_of(join->outerjoinpath, e), 1);
	bool		first = join->inner_unique || join->jointype == JOIN_SEMI ||
		join->jointype == JOIN_ANTI;
	double		matches = first ? Min(inner->rows, 1) : inner->rows;

	e.surplus = surplus_of_join(root, join, e.surplus, 1, n, inner->rows);
	e.ns += n * (inner_ns(root, join->outerjoinpath, inner, n, sum) + RESCAN_NS +
				 matches * gj_conditions_ns(join->joinrestrictinfo));
	e.ns += rows_of(&join->path, e) * OUTPUT_NS;
	return e;
}

static GjTime
estimate_hash_join(PlannerInfo *root, const HashPath *path, GjTime *sum)
{
	const JoinPath *join = &path->jpath;
	GjTime	outer = estimate(root, join->outerjoinpath, sum);
	GjTime	inner = estimate(root, join->innerjoinpath, sum);
	double		probe = rows_of(join->outerjoinpath, outer);
	double		build = rows_of(join->innerjoinpath, inner);
	double		entry = join->innerjoinpath->pathtarget->width + ROW_HEADER;
	double		misses;
	GjTime	e;

	if (path->inner_rows_total > 0)
		misses = gj_cache_misses(path->inner_rows_total * inner.surplus * entry);
	else
		misses = gj_cache_misses(build * entry);
	e.surplus = surplus_of_join(root, join, outer.surplus, inner.surplus, probe, build);
	e.ns = outer.ns + inner.ns + build * (BUILD_NS + misses * MISS_NS) +
		probe * (PROBE_NS + misses * MISS_NS);
	if (path->num_batches > 1)
		e.ns += (build + probe) * BATCH_NS;
	e.ns += rows_of(&join->path, e) *
		(OUTPUT_NS + other_conditions_ns(join, path->path_hashclauses));
	return e;
}

static double
sort_ns(double rows, const List *pathkeys)
{
	const PathKey *key = pathkeys == NIL ? NULL : linitial(pathkeys);
	const EquivalenceMember *member = key == NULL ? NULL :
		linitial(key->pk_eclass->ec_members);
	bool		fast = member == NULL || get_typbyval(member->em_datatype);

	return rows * (STORE_NS * 2 + log2(Max(rows, 2)) * (fast ? COMPARE_NS : COMPARE_SLOW_NS));
}

static GjTime
estimate_merge_join(PlannerInfo *root, const MergePath *path, GjTime *sum)
{
	const JoinPath *join = &path->jpath;
	GjTime	outer = estimate(root, join->outerjoinpath, sum);
	GjTime	inner = estimate(root, join->innerjoinpath, sum);
	double		left = rows_of(join->outerjoinpath, outer);
	double		right = rows_of(join->innerjoinpath, inner);
	GjTime	e;

	e.surplus = surplus_of_join(root, join, outer.surplus, inner.surplus, left, right);
	e.ns = outer.ns + inner.ns + (left + right) * MERGE_NS;
	if (path->outersortkeys != NIL)
		e.ns += sort_ns(left, path->outersortkeys);
	if (path->innersortkeys != NIL)
		e.ns += sort_ns(right, path->innersortkeys);
	if (path->materialize_inner)
		e.ns += right * STORE_NS;
	e.ns += rows_of(&join->path, e) *
		(OUTPUT_NS + other_conditions_ns(join, path->path_mergeclauses));
	return e;
}

/* ---- other nodes ---- */

static GjTime
estimate_aggregate(PlannerInfo *root, const AggPath *path, GjTime *sum)
{
	GjTime	e = estimate(root, path->subpath, sum);
	double		rows = rows_of(path->subpath, e);
	double		expected = Max(path->numGroups, 1);
	double		groups = Min(gj_grown_groups(expected, path->subpath->rows, rows), Max(rows, 1));
	double		lookup = list_length(path->groupClause) * GROUP_KEY_NS;

	if (path->aggstrategy == AGG_HASHED || path->aggstrategy == AGG_MIXED)
		lookup += GROUP_NS +
			GROUP_MISS_NS * gj_cache_misses(groups * (path->path.pathtarget->width + ROW_HEADER));
	e.ns += rows * (lookup + gj_transitions_ns(list_concat_copy(path->path.pathtarget->exprs,
																path->qual)));
	e.ns += groups * GROUP_OUT_NS;
	e.surplus = Max(1, groups / expected);
	return e;
}

/* GROUP BY of sorted rows without aggregates. */
static GjTime
estimate_group(PlannerInfo *root, const GroupPath *path, GjTime *sum)
{
	GjTime	e = estimate(root, path->subpath, sum);
	double		rows = rows_of(path->subpath, e);
	double		expected = Max(path->path.rows, 1);

	e.ns += rows * list_length(path->groupClause) * GROUP_KEY_NS;
	e.surplus = Max(1, gj_grown_groups(expected, path->subpath->rows, rows) / expected);
	return e;
}

/*
 * The elapsed time of the processes below a Gather, which is longer than that
 * of one of them if there are fewer processors.
 */
static double
elapsed(double ns, int workers)
{
	return ns * gj_divisor(workers) / gj_speedup(workers);
}

static GjTime
estimate_gather(PlannerInfo *root, const Path *path, const Path *subpath, int workers, GjTime *sum)
{
	GjTime	e = estimate(root, subpath, sum);

	e.ns = elapsed(e.ns, workers) + GATHER_START_NS + rows_of(path, e) * GATHER_ROW_NS;
	return e;
}

static GjTime
estimate_append(PlannerInfo *root, const AppendPath *path, GjTime *sum)
{
	GjTime	e = {.surplus = 1};
	double		divisor = path->path.parallel_aware ? gj_divisor(path->path.parallel_workers) : 1;
	double		rows = 0;
	double		expected = 0;
	int			i = 0;
	ListCell   *lc;

	foreach(lc, path->subpaths)
	{
		const Path *subpath = lfirst(lc);
		GjTime	child = estimate(root, subpath, sum);

		/* the whole of such a child runs in one of the processes */
		e.ns += i++ < path->first_partial_path ? child.ns / divisor : child.ns;
		rows += rows_of(subpath, child);
		expected += subpath->rows;
	}
	if (expected > 0)
		e.surplus = rows / expected;
	return e;
}

/* A node that takes row_ns for each row of its only child. */
static GjTime
estimate_unary(PlannerInfo *root, const Path *subpath, double row_ns, GjTime *sum)
{
	GjTime	e = estimate(root, subpath, sum);

	e.ns += rows_of(subpath, e) * row_ns;
	return e;
}

/* core's own costs */
static GjTime
estimate_unknown(PlannerInfo *root, const Path *path, GjTime *sum)
{
	List	   *children = gj_path_children(unconstify(Path *, path));
	Cost		own = path->total_cost;
	GjTime	e = {.surplus = 1};
	ListCell   *lc;

	foreach(lc, children)
	{
		const Path *child = lfirst(lc);

		own -= child->total_cost;
		e.ns += estimate(root, child, sum).ns;
	}
	e.ns += Max(own, 0) / GJ_NS_COST;
	return e;
}

static GjTime
estimate_scan(PlannerInfo *root, const Path *path, GjTime *sum)
{
	GjTime	e = {.surplus = 1};

	e.ns = path->rows * expressions_ns(path);
	switch (path->pathtype)
	{
		case T_SeqScan:
			e.ns += gj_seqscan_ns(root, path);
			return e;
		case T_IndexScan:
		case T_IndexOnlyScan:
			e.ns += gj_indexscan_ns(root, (const IndexPath *) path, false);
			return e;
		case T_BitmapHeapScan:
			{
				const BitmapHeapPath *heap = (const BitmapHeapPath *) path;

				e.ns += gj_bitmapscan_ns(root, heap);
				return e;
			}
		case T_CteScan:
			e = estimate_unknown(root, path, sum);
			e.surplus = gj_scan_surplus(root, path->parent);
			return e;
		default:
			return estimate_unknown(root, path, sum);
	}
}

static GjTime
estimate_subquery(PlannerInfo *root, const SubqueryScanPath *path, GjTime *sum)
{
	const RelOptInfo *rel = path->path.parent;
	GjTime		e = estimate_unary(rel->subroot, path->subpath,
								   SUBQUERY_ROW_NS + gj_conditions_ns(rel->baserestrictinfo), sum);

	e.surplus *= gj_scan_surplus(root, rel);
	return e;
}

static GjTime
estimate_node(PlannerInfo *root, const Path *path, GjTime *sum)
{
	switch (nodeTag(path))
	{
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
			return estimate_scan(root, path, sum);
		case T_NestPath:
			return estimate_nestloop(root, (const JoinPath *) path, sum);
		case T_HashPath:
			return estimate_hash_join(root, (const HashPath *) path, sum);
		case T_MergePath:
			return estimate_merge_join(root, (const MergePath *) path, sum);
		case T_AggPath:
			return estimate_aggregate(root, (const AggPath *) path, sum);
		case T_GroupPath:
			return estimate_group(root, (const GroupPath *) path, sum);
		case T_SortPath:
			{
				const SortPath *sort = (const SortPath *) path;
				GjTime	e = estimate(root, sort->subpath, sum);

				e.ns += sort_ns(rows_of(sort->subpath, e), path->pathkeys);
				return e;
			}
		case T_MaterialPath:
			return estimate_unary(root, ((const MaterialPath *) path)->subpath, STORE_NS, sum);
		case T_ProjectionPath:
			return estimate_unary(root, ((const ProjectionPath *) path)->subpath,
								  expressions_ns(path), sum);
		case T_SubqueryScanPath:
			return estimate_subquery(root, (const SubqueryScanPath *) path, sum);
		case T_GatherPath:
			return estimate_gather(root, path, ((const GatherPath *) path)->subpath,
								   ((const GatherPath *) path)->num_workers, sum);
		case T_GatherMergePath:
			return estimate_gather(root, path, ((const GatherMergePath *) path)->subpath,
								   ((const GatherMergePath *) path)->num_workers, sum);
		case T_AppendPath:
			return estimate_append(root, (const AppendPath *) path, sum);
		default:
			return estimate_unknown(root, path, sum);
	}
}

/* The time of our own paths was estimated with their cost. */
static GjTime
own_time(const Path *path)
{
	return ((const CustomPath *) path)->methods == &gj_path_methods ?
		((const GjPath *) path)->time : ((const GjBlockPath *) path)->time;
}

/* Paths of joins are parts of many others, so their times are kept. */
static GjTime
estimate_kept(PlannerInfo *root, const Path *path)
{
	GjStash    *stash;
	GjKnownTime *known;
	GjTime		time;
	GjTime		children = {0};

	if (gj_is_gpujoin(path))
		return own_time(path);
	stash = gj_joinrel_stash(path->parent);
	known = stash == NULL ? NULL :
		&stash->times[path->parallel_workers > 0 ? GJ_PARALLEL : GJ_SERIAL];
	if (known != NULL)
	{
		/* its costs are those of the path with our own below it */
		for (int v = 0; v < GJ_VARIANTS; v++)
			if (stash->native[v] == path)
				return stash->native_times[v];
		if (known->path == path && known->cost == path->total_cost)
			return known->time;
	}
	time = estimate_node(root, path, &children);
	time.saved_ns = children.saved_ns;
	time.saved_cost = children.saved_cost;
	if (known != NULL)
		*known = (GjKnownTime)
	{
		.path = path, .cost = path->total_cost, .time = time
	};
	return time;
}

/*
 * Adds what the path saves to *sum.  Each path below is estimated once: plans
 * of nested subqueries are deep.
 */
static GjTime
estimate(PlannerInfo *root, const Path *path, GjTime *sum)
{
	GjTime		time = estimate_kept(root, path);

	sum->saved_ns += time.saved_ns;
	sum->saved_cost += time.saved_cost;
	return time;
}

double
gj_path_ns(PlannerInfo *root, const Path *path, GjTime *time)
{
	*time = estimate_kept(root, path);
	return path->parallel_workers > 0 ? elapsed(time->ns, path->parallel_workers) : time->ns;
}
