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

/* ---- scans of an index with a key of another table's row ---- */

/*
 * core expects of each probe the rows of an average key of the inner table.  If
 * the outer column has more different values than the inner one, it expects
 * that the inner values are some of the outer ones: so does its estimate of the
 * join's rows.  Then only a part of the probes finds rows.
 */

/* The scan that comes first in a parameterized path.  NULL: none of an index. */
static const IndexPath *
first_probe(const Path *path)
{
	for (;;)
		switch (nodeTag(path))
		{
			case T_NestPath:
				path = ((const JoinPath *) path)->outerjoinpath;
				break;
			case T_ProjectionPath:
				path = ((const ProjectionPath *) path)->subpath;
				break;
			case T_MemoizePath:
				path = ((const MemoizePath *) path)->subpath;
				break;
			case T_BitmapHeapPath:
				path = ((const BitmapHeapPath *) path)->bitmapqual;
				break;
			case T_IndexPath:
				return (const IndexPath *) path;
			default:
				return NULL;
		}
}

/* A column of a table or subquery, or NULL. */
static const Var *
column_of(PlannerInfo *root, const Node *node)
{
	const Var  *var;
	RelOptInfo *rel;

	while (node != NULL && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var))
		return NULL;
	var = (const Var *) node;
	rel = var->varattno > 0 ? gj_base_rel(root, var->varno) : NULL;
	return rel != NULL && gj_base_slot(rel) != NULL ? var : NULL;
}

/*
 * The fraction of the outer column's values that the inner one has.  Conditions on
 * the outer table may select just these, so that nothing is known then.
 */
static double
found_by(PlannerInfo *root, const RestrictInfo *clause, Index relid)
{
	const Var  *inner;
	const Var  *outer;
	const GjValues *values;
	const GjValues *keys;

	if (clause->mergeopfamilies == NIL || !is_opclause(clause->clause) ||
		!gj_corrects(GJ_PROBES_FOUND))
		return 1;
	inner = column_of(root, get_leftop(clause->clause));
	outer = column_of(root, get_rightop(clause->clause));
	if (inner == NULL || outer == NULL)
		return 1;
	if (inner->varno != (int) relid)
	{
		const Var  *swap = inner;

		inner = outer;
		outer = swap;
	}
	if (inner->varno != (int) relid || outer->varno == (int) relid ||
		gj_base_rel(root, outer->varno)->baserestrictinfo != NIL)
		return 1;
	values = gj_values(root, inner);
	keys = gj_values(root, outer);
	return values->known && keys->known ? Min(1, values->distinct / keys->distinct) : 1;
}

/* Its columns are hardly ever independent, so one of them decides. */
static double
fraction_found(PlannerInfo *root, const IndexPath *probe)
{
	double		fraction = 1;
	ListCell   *lc;

	foreach(lc, probe->indexclauses)
		fraction = Min(fraction, found_by(root, lfirst_node(IndexClause, lc)->rinfo,
										  probe->path.parent->relid));
	return fraction;
}

double
gj_probes_found(PlannerInfo *root, const Path *inner)
{
	const IndexPath *probe = inner->param_info != NULL ? first_probe(inner) : NULL;

	return probe != NULL ? fraction_found(root, probe) : 1;
}

double
gj_probe_ns(PlannerInfo *root, const Path *inner, double found_ns)
{
	const IndexPath *probe = inner->param_info != NULL ? first_probe(inner) : NULL;
	double		missed_ns;

	if (probe == NULL)
		return found_ns;
	missed_ns = Min(gj_empty_indexscan_ns(probe), found_ns);
	return missed_ns + fraction_found(root, probe) * (found_ns - missed_ns);
}

/* ---- native join ---- */

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
			return gj_probe_ns(root, inner,
							   gj_indexscan_ns(root, (const IndexPath *) inner,
											   gj_probes_in_order(root, outer, (const IndexPath *) inner)));
		case T_MaterialPath:
			return first.ns / n + gj_rows_of(inner, first) * GJ_STORE_NS;
		case T_MemoizePath:
			{
				const MemoizePath *memo = (const MemoizePath *) inner;
				double		missing = memo->est_entries > 0 ? Min(1, memo->est_entries / n) : 1;

				return MEMO_NS + missing * inner_ns(root, outer, memo->subpath, n, first);
			}
		default:
			return gj_probe_ns(root, inner, first.ns);
	}
}

GjTime
gj_nestloop_time(PlannerInfo *root, const JoinPath *join, GjTime outer, GjTime inner)
{
	const Path *scan = join->innerjoinpath;
	double		n = Max(gj_rows_of(join->outerjoinpath, outer), 1);
	bool		first = join->inner_unique || join->jointype == JOIN_SEMI ||
		join->jointype == JOIN_ANTI;
	double		rows = scan->rows * gj_probes_found(root, scan);
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
