/*
 * plan_surplus.c - joins by several columns, whose result core underestimates.
 *
 * core multiplies the selectivities of the columns' equalities as if they were
 * independent.  They hardly ever are: two columns of a table identify together
 * the rows of another table.  Without a declared foreign key, the estimate may
 * be thousands of times too small, and a nested loop seem to be free.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"

#include "compat.h"
#include "plan_surplus.h"

/* An equality of columns of two tables. */
typedef struct Equality
{
	const Var  *sides[2];
	double		selectivity;
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

static int
collect_equalities(PlannerInfo *root, const List *clauses, Equality *found)
{
	int			n = 0;
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
 * Stores the surplus if the columns compared contain all columns of a unique
 * index of the relation: then each row of the other side finds one row.
 */
static bool
unique_surplus(RelOptInfo *rel, const Equality *found, int n, double *surplus)
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
		*surplus = Max(1, 1 / (Max(rel->tuples, 1) * selectivity));
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

double
gj_key_surplus(PlannerInfo *root, const List *clauses)
{
	Equality	found[MAX_EQUALITIES];
	double		product = 1;
	double		least = 1;
	double		surplus;
	int			n;

	if (list_length(clauses) < 2 || (n = collect_equalities(root, clauses, found)) < 2 ||
		is_declared(root, found, n))
		return 1;
	for (int i = 0; i < n; i++)
		for (int s = 0; s < 2; s++)
		{
			RelOptInfo *rel = gj_base_rel(root, found[i].sides[s]->varno);

			if (rel != NULL && unique_surplus(rel, found, n, &surplus))
				return surplus;
		}

	/* half way between independent columns and ones that the first implies */
	for (int i = 0; i < n; i++)
	{
		product *= found[i].selectivity;
		least = Min(least, found[i].selectivity);
	}
	return sqrt(least / product);
}
