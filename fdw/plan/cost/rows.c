/*
 * plan/cost/rows.c - joins whose result core underestimates.
 *
 * Joins by several columns are estimated in plan/cost/rows_columns.c, joins of rows
 * that were selected by a range in plan/cost/rows_range.c.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/input/input.h"
#include "plan/state.h"

/* ---- how many different values the columns of inputs have ---- */

static void
examine(PlannerInfo *root, const Var *var, GjValues *values)
{
	const Expr *computed = gj_computed(root, var);
	VariableStatData data;
	bool		is_default;

	examine_variable(root,
					 computed != NULL ? (Node *) gj_without_placeholders((Expr *) computed) : (Node *) var,
					 0, &data);
	values->distinct = Max(get_variable_numdistinct(&data, &is_default), 1);
	values->known = !is_default;
	if (HeapTupleIsValid(data.statsTuple))
		values->null_fraction = ((Form_pg_statistic) GETSTRUCT(data.statsTuple))->stanullfrac;
	ReleaseVariableStats(data);
}

const GjValues *
gj_values(PlannerInfo *root, const Var *var)
{
	GjBaserel  *base = gj_base_slot(gj_base_rel(root, var->varno));
	GjValues   *values;

	for (values = base->values; values != NULL; values = values->next)
		if (values->attnum == var->varattno)
			return values;

	/* with GEQO the relation outlives the current memory context */
	values = MemoryContextAllocZero(GetMemoryChunkContext(base), sizeof(GjValues));
	values->attnum = var->varattno;
	examine(root, var, values);
	values->next = base->values;
	base->values = values;
	return values;
}

/* ---- joins ---- */

const Var *
gj_compared_column(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) && ((Var *) node)->varattno > 0 ? (Var *) node : NULL;
}

double
gj_clause_selectivity(PlannerInfo *root, RestrictInfo *rinfo)
{
	SpecialJoinInfo inner = {.type = T_SpecialJoinInfo, .jointype = JOIN_INNER};

	/* core keeps it in the clause, but may not have needed it so far */
	if (rinfo->norm_selec >= 0)
		return rinfo->norm_selec;
	inner.min_lefthand = inner.syn_lefthand = rinfo->left_relids;
	inner.min_righthand = inner.syn_righthand = rinfo->right_relids;
	return clause_selectivity(root, (Node *) rinfo, 0, JOIN_INNER, &inner);
}

/* Of columns whose tables' conditions select the values that have partners. */
static double
ranges_growth(PlannerInfo *root, const List *clauses)
{
	double		growth = 1;
	ListCell   *lc;

	if (!gj_corrects(GJ_RANGES_GROWTH))
		return 1;
	foreach(lc, clauses)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		const Var  *left;
		const Var  *right;

		if (rinfo->mergeopfamilies == NIL || !rinfo->can_join)
			continue;
		left = gj_compared_column(get_leftop(rinfo->clause));
		right = gj_compared_column(get_rightop(rinfo->clause));
		if (left != NULL && right != NULL)
			growth *= gj_range_growth(root, left, right);
	}
	return growth;
}

/* Is it a column of a table that has no conditions? */
static bool
is_of_whole_table(PlannerInfo *root, const Var *var)
{
	const RelOptInfo *rel = var != NULL ? gj_base_rel(root, var->varno) : NULL;

	return rel != NULL && rel->baserestrictinfo == NIL &&
		root->simple_rte_array[var->varno]->rtekind == RTE_RELATION;
}

/*
 * Is it one comparison of such columns?  Most joins of a large query are, and
 * core's estimate of these is as good as any.
 */
static bool
is_simple(PlannerInfo *root, const List *clauses)
{
	const RestrictInfo *rinfo;

	if (list_length(clauses) != 1)
		return false;
	rinfo = linitial_node(RestrictInfo, clauses);
	return is_opclause(rinfo->clause) &&
		is_of_whole_table(root, gj_compared_column(get_leftop(rinfo->clause))) &&
		is_of_whole_table(root, gj_compared_column(get_rightop(rinfo->clause)));
}

double
gj_key_growth(PlannerInfo *root, const List *clauses)
{
	if (is_simple(root, clauses))
		return 1;
	return gj_columns_growth(root, clauses) * ranges_growth(root, clauses);
}

double
gj_growth_rows(PlannerInfo *root, double rows, double growth, double pairs,
				const List *clauses)
{
	double		most;
	ListCell   *lc;

	if (rows > 1 || growth <= 1)
		return rows * Max(growth, 1);
	most = pairs * gj_key_growth(root, clauses);
	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		if (rinfo->can_join)
			most *= gj_clause_selectivity(root, rinfo);
	}
	return Min(rows * growth, Max(most, rows));
}

/*
 * Rows that are drawn at random from d different keys have d (1 - exp(-rows / d))
 * of them.  Core's estimates of rows and groups give d, which is searched for.
 */
double
gj_grown_groups(double groups, double core_rows, double rows)
{
	double		low = groups;
	double		high = groups * rows / Max(core_rows, 1) * 1e3;

	if (rows <= core_rows || !gj_corrects(GJ_GROUPS_GROWTH))
		return groups;
	if (groups >= core_rows)
		return groups * rows / core_rows;
	for (int i = 0; i < 60; i++)
	{
		double		keys = (low + high) / 2;

		if (keys * (1 - exp(-core_rows / keys)) < groups)
			low = keys;
		else
			high = keys;
	}
	return Min(high * (1 - exp(-rows / high)), groups * rows / core_rows);
}

/* ---- rows that scans read ---- */

bool
gj_lacks_statistics(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	const Query *query = rte->subquery;

	if (rte->rtekind == RTE_CTE)
		return true;
	return rte->rtekind == RTE_SUBQUERY &&
		(query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		 query->distinctClause != NIL || query->setOperations != NULL);
}

/*
 * A library that knows how many rows a function returns may say so in the
 * function's path only.
 */
static double
function_growth(const RelOptInfo *rel)
{
	double		rows = rel->rows;
	ListCell   *lc;

	if (rel->rtekind != RTE_FUNCTION)
		return 1;
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL)
			rows = Max(rows, path->rows);
	}
	return rows / Max(rel->rows, 1);
}

/* core expects that one row in 200 has a value, of several columns one in 40000. */
double
gj_scan_growth(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind != RELOPT_BASEREL)
		return 1;
	if (rel->baserestrictinfo == NIL || !gj_corrects(GJ_STATISTICS_GROWTH) ||
		!gj_lacks_statistics(root, rel))
		return function_growth(rel);
	return Max(1, sqrt(rel->tuples / Max(rel->rows, 1)));
}

/* The rows that a native scan reads.  One of a whole table reads also those that fail its conditions. */
static double
rows_of_scan(const Path *path)
{
	double		rows = 0;
	ListCell   *lc;

	if (IsA(path, GatherPath))
		return rows_of_scan(((const GatherPath *) path)->subpath);
	if (IsA(path, AppendPath))
	{
		foreach(lc, ((const AppendPath *) path)->subpaths)
			rows += rows_of_scan(lfirst(lc));
		return rows;
	}
	return path->pathtype == T_SeqScan ? Max(path->parent->tuples, path->rows) : path->rows;
}

double
gj_rows_read(PlannerInfo *root, const RelOptInfo *rel)
{
	double		rows = rel->rows;

	if (rel->cheapest_total_path != NULL)
		rows = Max(rows, rows_of_scan(rel->cheapest_total_path));
	if (rel->reloptkind == RELOPT_BASEREL && gj_lacks_statistics(root, rel))
		rows = Max(rows, rel->tuples);
	return rows;
}

/* ---- rows of subqueries and CTEs that core underestimates ---- */

/*
 * Joins in a subquery or CTE may be underestimated, and then so are its rows,
 * and those of the joins above that read them.
 */

double
gj_rel_growth(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjBaserel  *base = gj_base_slot(rel);
	GjTime		time;

	if (!gj_estimate_native || base == NULL || rel->pathlist == NIL ||
		(rte->rtekind != RTE_SUBQUERY && rte->rtekind != RTE_CTE))
		return gj_scan_growth(root, rel);
	if (base->growth == 0)
	{
		(void) gj_path_ns(root, linitial(rel->pathlist), &time);
		base->growth = Max(1, time.growth);
	}
	return base->growth;
}
