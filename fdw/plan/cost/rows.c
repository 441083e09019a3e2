/*
 * plan/cost/rows.c - joins whose result core underestimates.
 *
 * For joins by several columns, core multiplies the selectivities of the
 * columns' equalities as if they were independent.  They hardly ever are: two
 * columns of a table identify together the rows of another table.  Without a
 * declared foreign key, the estimate may be thousands of times too small, and
 * a nested loop seem to be free.  Joins of rows that were selected by a range
 * are estimated in plan/cost/rows_range.c.
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

/* An equality of columns of two tables. */
typedef struct Equality
{
	const Var  *sides[2];
	double		selectivity;	/* as core expects it */
	double		better;			/* than that, of columns without statistics */
} Equality;

#define MAX_EQUALITIES 8

static const Var *
column_of(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) && ((Var *) node)->varattno > 0 ? (Var *) node : NULL;
}

/*
 * Of the clause as one of an inner join.  core keeps it in the clause, but may
 * not have needed it so far.
 */
static double
selectivity_of(PlannerInfo *root, RestrictInfo *rinfo)
{
	SpecialJoinInfo inner = {.type = T_SpecialJoinInfo, .jointype = JOIN_INNER};

	if (rinfo->norm_selec >= 0)
		return rinfo->norm_selec;
	inner.min_lefthand = inner.syn_lefthand = rinfo->left_relids;
	inner.min_righthand = inner.syn_righthand = rinfo->right_relids;
	return clause_selectivity(root, (Node *) rinfo, 0, JOIN_INNER, &inner);
}

static bool
is_of_unknown(PlannerInfo *root, const Var *var)
{
	const RelOptInfo *rel = gj_base_rel(root, var->varno);

	return rel != NULL && rel->reloptkind == RELOPT_BASEREL && gj_lacks_statistics(root, rel);
}

static double
distinct_values(PlannerInfo *root, const Var *var, bool *is_default)
{
	VariableStatData data;
	double		n;

	examine_variable(root, (Node *) var, 0, &data);
	n = get_variable_numdistinct(&data, is_default);
	ReleaseVariableStats(data);
	return n;
}

/* The expected rows of a column's relation: its growth is known from gj_query. */
static double
rows_of(PlannerInfo *root, const Var *var)
{
	RelOptInfo *rel = gj_base_rel(root, var->varno);
	const GjBaserel *base = gj_base_slot(rel);

	return rel->rows * (base != NULL && base->growth > 0 ? base->growth : gj_scan_growth(root, rel));
}

/*
 * core expects 200 different values where it has no statistics.  If the other
 * side is known to have fewer, its values are those of both.  If neither is
 * known, each row of the smaller side is expected to find one partner, whatever
 * the number of such columns: groups are joined by what identifies them.
 */
static double
better_selectivity(PlannerInfo *root, const Equality *e, bool *identified)
{
	bool		lacking[2];
	bool		unknown[2];
	double		n[2];

	for (int s = 0; s < 2; s++)
		lacking[s] = is_of_unknown(root, e->sides[s]);
	if ((!lacking[0] && !lacking[1]) || !gj_corrects(GJ_STATISTICS_GROWTH))
		return e->selectivity;
	for (int s = 0; s < 2; s++)
		n[s] = Max(distinct_values(root, e->sides[s], &unknown[s]), 1);
	if (unknown[0] != unknown[1])
		return Max(e->selectivity, 1 / (unknown[0] ? n[1] : n[0]));
	if (!unknown[0] || !lacking[0] || !lacking[1])
		return e->selectivity;
	if (*identified)
		return 1;
	*identified = true;
	return Min(e->selectivity, 1 / Max(rows_of(root, e->sides[0]), rows_of(root, e->sides[1])));
}

static int
collect_equalities(PlannerInfo *root, const List *clauses, Equality *found)
{
	int			n = 0;
	bool		identified = false;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		Equality   *e = &found[n];

		if (n == MAX_EQUALITIES || rinfo->mergeopfamilies == NIL || !rinfo->can_join)
			continue;
		e->sides[0] = column_of(get_leftop(rinfo->clause));
		e->sides[1] = column_of(get_rightop(rinfo->clause));
		if (e->sides[0] == NULL || e->sides[1] == NULL)
			continue;
		e->selectivity = selectivity_of(root, rinfo);
		e->better = better_selectivity(root, e, &identified);
		if (e->selectivity > 0)
			n++;
	}
	return n;
}

/*
 * The product of the selectivities of the equalities by which columns of the
 * relation are compared that are all columns of this index.  0: not all are.
 */
static double
index_selectivity(const IndexOptInfo *index, Index relid, const Equality *found, int n)
{
	double		product = 1;

	for (int k = 0; k < index->nkeycolumns; k++)
	{
		double		selectivity = 0;

		for (int i = 0; i < n; i++)
			for (int s = 0; s < 2; s++)
				if (found[i].sides[s]->varno == (int) relid &&
					found[i].sides[s]->varattno == index->indexkeys[k])
					selectivity = found[i].selectivity;
		if (selectivity == 0)
			return 0;
		product *= selectivity;
	}
	return product;
}

/*
 * Stores the growth if the columns compared contain all columns of a unique
 * index of the relation: then each row of the other side finds one row.  Among several
 * such relations, the one with the greatest growth has the index of most columns.
 */
static bool
unique_growth(RelOptInfo *rel, const Equality *found, int n, double *growth)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		double		selectivity;

		if (!index->unique || index->indpred != NIL)
			continue;
		selectivity = index_selectivity(index, rel->relid, found, n);
		if (selectivity == 0)
			continue;
		*growth = Max(1, 1 / (Max(rel->tuples, 1) * selectivity));
		return true;
	}
	return false;
}

/* Has core used a foreign key that has these equalities? */
static bool
is_declared(PlannerInfo *root, const Equality *found, int n)
{
	ListCell   *lc;

	foreach(lc, root->fkey_list)
	{
		const ForeignKeyOptInfo *key = lfirst_node(ForeignKeyOptInfo, lc);

		for (int i = 0; i < n; i++)
			for (int s = 0; s < 2; s++)
				if (key->con_relid == (Index) found[i].sides[s]->varno &&
					key->ref_relid == (Index) found[i].sides[1 - s]->varno)
					return true;
	}
	return false;
}

/* Of columns without statistics, and of several that are not independent. */
static double
columns_growth(PlannerInfo *root, const List *clauses)
{
	Equality	found[MAX_EQUALITIES];
	double		unknown = 1;
	double		product = 1;
	double		least = 1;
	double		most = 0;
	double		growth;
	int			n = collect_equalities(root, clauses, found);

	for (int i = 0; i < n; i++)
		unknown *= found[i].better / found[i].selectivity;
	if (n < 2 || !gj_corrects(GJ_COLUMNS_GROWTH) || is_declared(root, found, n))
		return unknown;
	for (int i = 0; i < n; i++)
		for (int s = 0; s < 2; s++)
		{
			RelOptInfo *rel = gj_base_rel(root, found[i].sides[s]->varno);

			if (rel != NULL && unique_growth(rel, found, n, &growth))
				most = Max(most, growth);
		}
	if (most > 0)
		return most;

	/* half way between independent columns and ones that the first implies */
	for (int i = 0; i < n; i++)
	{
		product *= found[i].better;
		least = Min(least, found[i].better);
	}
	return unknown * sqrt(least / product);
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
		left = column_of(get_leftop(rinfo->clause));
		right = column_of(get_rightop(rinfo->clause));
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
		is_of_whole_table(root, column_of(get_leftop(rinfo->clause))) &&
		is_of_whole_table(root, column_of(get_rightop(rinfo->clause)));
}

double
gj_key_growth(PlannerInfo *root, const List *clauses)
{
	if (is_simple(root, clauses))
		return 1;
	return columns_growth(root, clauses) * ranges_growth(root, clauses);
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
			most *= selectivity_of(root, rinfo);
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

double
gj_rows_read(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind == RELOPT_BASEREL && gj_lacks_statistics(root, rel))
		return Max(rel->rows, rel->tuples);
	return rel->rows;
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
