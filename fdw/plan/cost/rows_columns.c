/*
 * plan/cost/rows_columns.c - joins by several columns.
 *
 * core multiplies the selectivities of the columns' equalities as if they were
 * independent.  They hardly ever are: two columns of a table identify together the
 * rows of another table.  Without a declared foreign key, the estimate may be
 * thousands of times too small, and a nested loop seem to be free.  Of columns without
 * statistics, core expects 200 different values.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

#include "options.h"
#include "plan/cost/cost.h"
#include "plan/input/input.h"
#include "plan/state.h"

/* An equality of columns of two tables. */
typedef struct Equality
{
	const Var  *sides[2];
	const EquivalenceClass *classes[2]; /* of the sides: the equal columns of all tables */
	double		selectivity;	/* as core expects it */
	double		better;			/* than that, of columns without statistics */
} Equality;

#define MAX_EQUALITIES 8

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
		e->sides[0] = gj_compared_column(get_leftop(rinfo->clause));
		e->sides[1] = gj_compared_column(get_rightop(rinfo->clause));
		if (e->sides[0] == NULL || e->sides[1] == NULL)
			continue;
		e->classes[0] = rinfo->left_ec;
		e->classes[1] = rinfo->right_ec;
		e->selectivity = gj_clause_selectivity(root, rinfo);
		e->better = better_selectivity(root, e, &identified);
		if (e->selectivity > 0)
			n++;
	}
	return n;
}

/*
 * Does the equality compare this column?  If it compares an equal one, it does so too:
 * core has one clause for all columns that are equal, and below a join of partsupp and
 * supplier any of both may be compared.
 */
static bool
compares(const Equality *e, Index relid, int column)
{
	for (int s = 0; s < 2; s++)
	{
		ListCell   *lc;

		if (e->sides[s]->varno == (int) relid && e->sides[s]->varattno == column)
			return true;
		if (e->classes[s] == NULL)
			continue;
		foreach(lc, e->classes[s]->ec_members)
		{
			const EquivalenceMember *member = lfirst(lc);
			const Var  *var = gj_compared_column((Node *) member->em_expr);

			if (!member->em_is_child && var != NULL && var->varno == (int) relid && var->varattno == column)
				return true;
		}
	}
	return false;
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
			if (compares(&found[i], relid, index->indexkeys[k]))
				selectivity = found[i].selectivity;
		if (selectivity == 0)
			return 0;
		product *= selectivity;
	}
	return product;
}

/* What a unique index says of a join that compares all of its columns. */
typedef struct UniqueKey
{
	int			columns;		/* 0: no such index is known */
	double		growth;
} UniqueKey;

/*
 * Looks for a unique index of the relation all columns of which are compared: then each
 * row of the other side finds one row at most.  The index of most columns leaves
 * fewest equalities that may not be independent.  If both sides have one, as tables of
 * sales and returns do, the rows are those of the smaller table.
 */
static void
find_unique(const RelOptInfo *rel, const Equality *found, int n, UniqueKey *best)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		const IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);
		double		selectivity;
		double		growth;

		if (!index->unique || index->indpred != NIL || index->nkeycolumns < best->columns)
			continue;
		selectivity = index_selectivity(index, rel->relid, found, n);
		if (selectivity == 0)
			continue;
		growth = Max(1, 1 / (Max(rel->tuples, 1) * selectivity));
		if (index->nkeycolumns > best->columns || growth < best->growth)
			*best = (UniqueKey)
		{
			.columns = index->nkeycolumns, .growth = growth
		};
	}
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

double
gj_columns_growth(PlannerInfo *root, const List *clauses)
{
	Equality	found[MAX_EQUALITIES];
	double		unknown = 1;
	double		product = 1;
	double		least = 1;
	UniqueKey	unique = {0};
	int			n = collect_equalities(root, clauses, found);

	for (int i = 0; i < n; i++)
		unknown *= found[i].better / found[i].selectivity;
	if (n < 2 || !gj_corrects(GJ_COLUMNS_GROWTH) || is_declared(root, found, n))
		return unknown;
	for (int i = 0; i < n; i++)
		for (int s = 0; s < 2; s++)
		{
			const RelOptInfo *rel = gj_base_rel(root, found[i].sides[s]->varno);

			if (rel != NULL)
				find_unique(rel, found, n, &unique);
		}
	if (unique.columns > 0)
		return unique.growth;

	/* half way between independent columns and ones that the first implies */
	for (int i = 0; i < n; i++)
	{
		product *= found[i].better;
		least = Min(least, found[i].better);
	}
	return unknown * sqrt(least / product);
}
