/*
 * plan/cost/native_probe.c - scans of an index with a key of another table's row.
 *
 * core expects of each probe the rows of an average key of the inner table.  If
 * the outer column has more different values than the inner one, it expects
 * that the inner values are some of the outer ones: so does its estimate of the
 * join's rows.  Then only a part of the probes finds rows.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "compat.h"
#include "plan/cost/distinct.h"
#include "plan/cost/native_probe.h"
#include "plan/cost/native_scan.h"

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

	if (clause->mergeopfamilies == NIL || !is_opclause(clause->clause))
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
