/*
 * plan/cost/native_join.c - how long native joins take.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"

/* core's conditions of the join, with those that its inner path applies. */
static double
join_growth(PlannerInfo *root, const JoinPath *join)
{
	const ParamPathInfo *param = join->innerjoinpath->param_info;

	if (join->jointype != JOIN_INNER)
		return 1;
	if (param == NULL)
		return gj_key_growth(root, join->joinrestrictinfo);
	if (join->joinrestrictinfo == NIL)
		return gj_key_growth(root, param->ppi_clauses);
	return gj_key_growth(root, list_concat_copy(join->joinrestrictinfo, param->ppi_clauses));
}

/*
 * The growth of a join, given its rows and the growth of its sides.  Rows of a
 * semi or anti join are rows of its outer side.  If the inner side of a semi
 * join has more rows than expected, only some of them find further partners.
 */
static double
growth_of_join(PlannerInfo *root, const JoinPath *join, double outer_growth,
				double inner_growth, double outer_rows, double inner_rows)
{
	bool		parameterized = join->innerjoinpath->param_info != NULL;
	double		rows = Max(join->path.rows, 1);
	double		growth = outer_growth * inner_growth * join_growth(root, join);

	switch (join->jointype)
	{
		case JOIN_INNER:
			return gj_growth_rows(root, rows, growth, outer_rows * inner_rows,
								   parameterized ? NIL : join->joinrestrictinfo) / rows;
		case JOIN_SEMI:
			return Min(outer_growth * sqrt(inner_growth), Max(outer_rows / rows, 1));
		case JOIN_ANTI:
			return outer_growth;
		default:
			return growth;
	}
}

/* Conditions that the executor tests on pairs of rows of a hash or merge join. */
static double
other_conditions_ns(const JoinPath *join, const List *keys)
{
	return list_length(join->joinrestrictinfo) > list_length(keys) ?
		gj_conditions_ns(list_difference_ptr(join->joinrestrictinfo, keys)) : 0;
}

/*
 * ns of the scan of a nested loop's inner side for one of n outer rows, given
 * the time of the first.
 */
static double
inner_ns(PlannerInfo *root, const Path *outer, const Path *inner, double n, GjTime first)
{
	switch (nodeTag(inner))
	{
		case T_IndexPath:
			return gj_indexscan_ns(root, (const IndexPath *) inner,
								   gj_probes_in_order(root, outer, (const IndexPath *) inner));
		case T_MaterialPath:
			return first.ns / n + gj_rows_of(inner, first) * GJ_STORE_NS;
		case T_MemoizePath:
			{
				const MemoizePath *memo = (const MemoizePath *) inner;
				double		missing = memo->est_entries > 0 ? Min(1, memo->est_entries / n) : 1;

				return MEMO_NS + missing * inner_ns(root, outer, memo->subpath, n, first);
			}
		default:
			return first.ns;
	}
}

GjTime
gj_nestloop_time(PlannerInfo *root, const JoinPath *join, GjTime outer, GjTime inner)
{
	const Path *scan = join->innerjoinpath;
	double		n = Max(gj_rows_of(join->outerjoinpath, outer), 1);
	bool		first = join->inner_unique || join->jointype == JOIN_SEMI ||
		join->jointype == JOIN_ANTI;
	double		rows = scan->rows;
	double		matches = first ? Min(rows, 1) : rows;
	GjTime		e = outer;

	e.growth = growth_of_join(root, join, outer.growth, 1, n, rows);
	e.ns += n * (inner_ns(root, join->outerjoinpath, scan, n, inner) + RESCAN_NS +
				 matches * gj_conditions_ns(join->joinrestrictinfo));
	e.ns += gj_rows_of(&join->path, e) * OUTPUT_NS;
	return e;
}

GjTime
gj_hash_join_time(PlannerInfo *root, const HashPath *path, GjTime outer, GjTime inner)
{
	const JoinPath *join = &path->jpath;
	double		probe = gj_rows_of(join->outerjoinpath, outer);
	double		build = gj_rows_of(join->innerjoinpath, inner);
	double		entry = join->innerjoinpath->pathtarget->width + GJ_ROW_HEADER;
	double		misses;
	GjTime		e;

	if (path->inner_rows_total > 0)
		misses = gj_cache_misses(path->inner_rows_total * inner.growth * entry);
	else
		misses = gj_cache_misses(build * entry);
	e.growth = growth_of_join(root, join, outer.growth, inner.growth, probe, build);
	e.ns = outer.ns + inner.ns + build * (BUILD_NS + misses * MISS_NS) +
		probe * (PROBE_NS + misses * MISS_NS);
	if (path->num_batches > 1)
		e.ns += (build + probe) * BATCH_NS;
	e.ns += gj_rows_of(&join->path, e) *
		(OUTPUT_NS + other_conditions_ns(join, path->path_hashclauses));
	return e;
}

GjTime
gj_merge_join_time(PlannerInfo *root, const MergePath *path, GjTime outer, GjTime inner)
{
	const JoinPath *join = &path->jpath;
	double		left = gj_rows_of(join->outerjoinpath, outer);
	double		right = gj_rows_of(join->innerjoinpath, inner);
	GjTime		e;

	e.growth = growth_of_join(root, join, outer.growth, inner.growth, left, right);
	e.ns = outer.ns + inner.ns + (left + right) * MERGE_NS;
	if (path->outersortkeys != NIL)
		e.ns += gj_sort_ns(left, path->outersortkeys);
	if (path->innersortkeys != NIL)
		e.ns += gj_sort_ns(right, path->innersortkeys);
	if (path->materialize_inner)
		e.ns += right * GJ_STORE_NS;
	e.ns += gj_rows_of(&join->path, e) *
		(OUTPUT_NS + other_conditions_ns(join, path->path_mergeclauses));
	return e;
}
