/*
 * plan/cost/native.c - how long native paths are expected to run.
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
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "options.h"
#include "plan/block/block.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"
#include "plan/input/input.h"
#include "plan/join/join.h"
#include "plan/native/native.h"

/*
 * Returns the time of a path below another one, and adds what it saves to *sum.
 * Each path is estimated once: plans of nested subqueries are deep.
 */
static GjTime estimate(PlannerInfo *root, const Path *path, GjTime *sum);

static double
expressions_ns(const Path *path)
{
	return path->pathtarget->cost.per_tuple > 0 ?
		gj_expression_ns((Node *) path->pathtarget->exprs) : 0;
}

static GjTime
estimate_aggregate(PlannerInfo *root, const AggPath *path, GjTime *sum)
{
	GjTime		e = estimate(root, path->subpath, sum);
	double		rows = gj_rows_of(path->subpath, e);
	double		expected = Max(path->numGroups, 1);
	double		groups = path->groupClause == NIL ? 1 :
		Min(gj_grown_groups(expected, path->subpath->rows, rows), Max(rows, 1));
	double		lookup = list_length(path->groupClause) * GROUP_KEY_NS;

	if (path->aggstrategy == AGG_HASHED || path->aggstrategy == AGG_MIXED)
		lookup += GROUP_NS +
			GROUP_MISS_NS * gj_cache_misses(groups * (path->path.pathtarget->width + GJ_ROW_HEADER));
	e.ns += rows * (lookup + gj_transitions_ns(list_concat_copy(path->path.pathtarget->exprs,
																path->qual)));
	e.ns += groups * GROUP_OUT_NS;
	e.growth = Max(1, groups / expected);
	return e;
}

/* The node sorts the rows again for each rollup but the first that is not hashed. */
static double
sort_again_ns(PlannerInfo *root, const RollupData *rollup, double rows)
{
	Node	   *key;

	if (rollup->groupClause == NIL)
		return 0;
	key = get_sortgroupclause_expr(linitial(rollup->groupClause), root->processed_tlist);
	return gj_sort_type_ns(rows, exprType(key));
}

/*
 * GROUPING SETS, ROLLUP, CUBE: each set aggregates all rows.  It is a hash table, or
 * one of several that sorted rows serve.
 */
static GjTime
estimate_grouping_sets(PlannerInfo *root, const GroupingSetsPath *path, GjTime *sum)
{
	GjTime		e = estimate(root, path->subpath, sum);
	double		rows = gj_rows_of(path->subpath, e);
	double		expected = Max(path->path.rows, 1);
	double		groups = Min(gj_grown_groups(expected, path->subpath->rows, rows), Max(rows, 1));
	double		entry = path->path.pathtarget->width + GJ_ROW_HEADER;
	double		transitions = gj_transitions_ns(list_concat_copy(path->path.pathtarget->exprs,
																 path->qual));
	bool		sorted = false;
	ListCell   *lc;

	foreach(lc, path->rollups)
	{
		const RollupData *rollup = lfirst_node(RollupData, lc);

		e.ns += rows * (list_length(rollup->groupClause) * GROUP_KEY_NS +
						Max(list_length(rollup->gsets), 1) * transitions);
		if (rollup->is_hashed)
			e.ns += rows * (GROUP_NS + GROUP_MISS_NS *
							gj_cache_misses(groups / expected * rollup->numGroups * entry));
		else if (sorted)
			e.ns += sort_again_ns(root, rollup, rows);
		sorted |= !rollup->is_hashed;
	}
	e.ns += groups * GROUP_OUT_NS;
	e.growth = Max(1, groups / expected);
	return e;
}

/* GROUP BY of sorted rows without aggregates. */
static GjTime
estimate_group(PlannerInfo *root, const GroupPath *path, GjTime *sum)
{
	GjTime		e = estimate(root, path->subpath, sum);
	double		rows = gj_rows_of(path->subpath, e);
	double		expected = Max(path->path.rows, 1);

	e.ns += rows * list_length(path->groupClause) * GROUP_KEY_NS;
	e.growth = Max(1, gj_grown_groups(expected, path->subpath->rows, rows) / expected);
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
	GjTime		e = estimate(root, subpath, sum);

	e.ns = elapsed(e.ns, workers) + GATHER_START_NS + gj_rows_of(path, e) * GATHER_ROW_NS;
	return e;
}

static GjTime
estimate_append(PlannerInfo *root, const AppendPath *path, GjTime *sum)
{
	GjTime		e = {.growth = 1};
	double		divisor = path->path.parallel_aware ? gj_divisor(path->path.parallel_workers) : 1;
	double		rows = 0;
	double		expected = 0;
	int			i = 0;
	ListCell   *lc;

	foreach(lc, path->subpaths)
	{
		const Path *subpath = lfirst(lc);
		GjTime		child = estimate(root, subpath, sum);

		/* the whole of such a child runs in one of the processes */
		e.ns += i++ < path->first_partial_path ? child.ns / divisor : child.ns;
		rows += gj_rows_of(subpath, child);
		expected += subpath->rows;
	}
	if (expected > 0)
		e.growth = rows / expected;
	return e;
}

/* A node that takes row_ns for each row of its only child. */
static GjTime
estimate_unary(PlannerInfo *root, const Path *subpath, double row_ns, GjTime *sum)
{
	GjTime		e = estimate(root, subpath, sum);

	e.ns += gj_rows_of(subpath, e) * row_ns;
	return e;
}

/*
 * core's own costs.  More rows of the child are more rows of the node, but
 * fewer if it drops duplicates.
 */
static GjTime
estimate_unknown(PlannerInfo *root, const Path *path, GjTime *sum)
{
	List	   *children = gj_path_children(unconstify(Path *, path));
	double		expected = Max(path->rows, 1);
	Cost		own = path->total_cost;
	GjTime		e = {.growth = 1};
	ListCell   *lc;

	foreach(lc, children)
	{
		const Path *child = lfirst(lc);
		GjTime		below = estimate(root, child, sum);

		own -= child->total_cost;
		e.ns += below.ns;
		if (list_length(children) == 1)
			e.growth = Max(1, gj_grown_groups(expected, child->rows, gj_rows_of(child, below)) / expected);
	}
	e.ns += CPU_NS(Max(own, 0) * e.growth / GJ_NS_COST);
	return e;
}

/* LIMIT ends its child when it has read enough rows. */
static GjTime
estimate_limit(PlannerInfo *root, const LimitPath *path, GjTime *sum)
{
	const Path *child = path->subpath;
	const Const *count = (const Const *) path->limitCount;
	GjTime		e = estimate(root, child, sum);
	double		rows = Max(gj_rows_of(child, e), 1);
	Cost		startup = child->startup_cost;
	Cost		run = child->total_cost - startup;
	double		read = child->rows;
	double		returned = path->path.rows;

	/* core's fraction includes the rows of OFFSET */
	if (run > 0)
		read *= Min(Max(path->path.total_cost - startup, 0) / run, 1);
	if (count != NULL && IsA(count, Const) && !count->constisnull)
	{
		read = Max(read, (double) DatumGetInt64(count->constvalue));
		returned = Max(returned, (double) DatumGetInt64(count->constvalue));
	}
	if (child->total_cost > 0)
		e.ns *= (startup + run * Min(read / rows, 1)) / child->total_cost;
	e.growth = Max(1, Min(returned, rows) / Max(path->path.rows, 1));
	return e;
}

/* The plan of the CTE may return more rows than core expects. */
static GjTime
estimate_cte_scan(PlannerInfo *root, const Path *path, GjTime *sum)
{
	RelOptInfo *rel = path->parent;
	GjTime		e = estimate_unknown(root, path, sum);
	double		scanned = 1;
	PlannerInfo *level;
	const Path *plan = gj_cte_path(root, root->simple_rte_array[rel->relid], &level);

	if (plan != NULL)
	{
		GjTime		apart = {0};	/* the CTE's plan is no part of the scan */

		scanned = Max(1, estimate(level, plan, &apart).growth);
	}
	e.growth = scanned * gj_scan_growth(root, rel);
	e.ns *= scanned;
	return e;
}

static GjTime
estimate_scan(PlannerInfo *root, const Path *path, GjTime *sum)
{
	GjTime		e = {.growth = 1};

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
			return estimate_cte_scan(root, path, sum);
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

	e.growth *= gj_scan_growth(root, rel);
	return e;
}

/* The scan of the inner side is repeated for each outer row, unless Memoize knows its rows. */
static GjTime
estimate_nestloop(PlannerInfo *root, const JoinPath *join, GjTime *sum)
{
	const Path *inner = gj_rescanned(join->innerjoinpath);
	GjTime		none = {.growth = 1};
	GjTime		outer = estimate(root, join->outerjoinpath, sum);

	return gj_nestloop_time(root, join, outer, IsA(inner, IndexPath) ? none : estimate(root, inner, sum));
}

static GjTime
estimate_join(PlannerInfo *root, const JoinPath *join, GjTime *sum)
{
	GjTime		outer = estimate(root, join->outerjoinpath, sum);
	GjTime		inner = estimate(root, join->innerjoinpath, sum);

	if (IsA(join, HashPath))
		return gj_hash_join_time(root, (const HashPath *) join, outer, inner);
	return gj_merge_join_time(root, (const MergePath *) join, outer, inner);
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
		case T_MergePath:
			return estimate_join(root, (const JoinPath *) path, sum);
		case T_AggPath:
			return estimate_aggregate(root, (const AggPath *) path, sum);
		case T_GroupingSetsPath:
			return estimate_grouping_sets(root, (const GroupingSetsPath *) path, sum);
		case T_GroupPath:
			return estimate_group(root, (const GroupPath *) path, sum);
		case T_SortPath:
			{
				const SortPath *sort = (const SortPath *) path;
				GjTime		e = estimate(root, sort->subpath, sum);

				e.ns += gj_sort_ns(gj_rows_of(sort->subpath, e), path->pathkeys);
				return e;
			}
		case T_MaterialPath:
			return estimate_unary(root, ((const MaterialPath *) path)->subpath, GJ_STORE_NS, sum);
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
		case T_LimitPath:
			return estimate_limit(root, (const LimitPath *) path, sum);
		case T_ForeignPath:
			if (!gj_is_mirrored(path->parent))
				return estimate_unknown(root, path, sum);
			return (GjTime) {.ns = path->total_cost / GJ_NS_COST, .growth = 1};	/* as is that of a job */
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

/*
 * Paths of tables and joins are parts of many others, so the time of the last
 * one is kept.  NULL: nowhere.
 */
static GjKnownTime *
known_time(const Path *path, GjJoinrel *state)
{
	GjVariant	variant = path->parallel_workers > 0 ? GJ_PARALLEL : GJ_SERIAL;
	GjBaserel  *base;

	if (state != NULL)
		return &state->times[variant];
	base = path->parent->reloptkind == RELOPT_BASEREL ? gj_base_slot(path->parent) : NULL;
	return base != NULL ? &base->times[variant] : NULL;
}

static GjTime
estimate_kept(PlannerInfo *root, const Path *path)
{
	GjJoinrel  *state;
	GjKnownTime *known;
	GjTime		time;
	GjTime		children = {0};

	if (gj_is_gpujoin(path))
		return own_time(path);
	state = gj_joinrel_state(path->parent);
	/* its costs are those of the path with our own below it */
	for (int v = 0; state != NULL && v < GJ_VARIANTS; v++)
		if (state->native[v] == path)
			return state->native_times[v];
	known = known_time(path, state);
	if (known != NULL && known->path == path && known->cost == path->total_cost)
		return known->time;
	time = estimate_node(root, path, &children);
	time.saved_ns = children.saved_ns;
	time.saved_cost = children.saved_cost;
	/* children.ns is what they take more than they cost */
	time.lacking = children.lacking +
		Max(0, time.ns * GJ_NS_COST - path->total_cost - children.ns * GJ_NS_COST);
	if (known != NULL)
		*known = (GjKnownTime)
	{
		.path = path, .cost = path->total_cost, .time = time
	};
	return time;
}

static GjTime
estimate(PlannerInfo *root, const Path *path, GjTime *sum)
{
	GjTime		time = estimate_kept(root, path);

	sum->saved_ns += time.saved_ns;
	sum->saved_cost += time.saved_cost;
	sum->lacking += time.lacking;
	sum->ns += time.ns - path->total_cost / GJ_NS_COST;
	return time;
}

double
gj_path_ns(PlannerInfo *root, const Path *path, GjTime *time)
{
	*time = estimate_kept(root, path);
	return path->parallel_workers > 0 ? elapsed(time->ns, path->parallel_workers) : time->ns;
}

/* ---- how long sorts take ---- */

double
gj_sort_ns(double rows, const List *pathkeys)
{
	const PathKey *key = pathkeys == NIL ? NULL : linitial(pathkeys);
	const EquivalenceMember *member = key == NULL ? NULL :
		linitial(key->pk_eclass->ec_members);

	return gj_sort_type_ns(rows, member == NULL ? InvalidOid : member->em_datatype);
}

double
gj_sort_type_ns(double rows, Oid type)
{
	bool		fast = !OidIsValid(type) || get_typbyval(type);

	return rows * (GJ_STORE_NS * 2 + log2(Max(rows, 2)) * (fast ? COMPARE_NS : COMPARE_SLOW_NS));
}
