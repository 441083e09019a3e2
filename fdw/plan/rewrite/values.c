/*
 * plan/rewrite/values.c - limits groups to the values that a query asks for.
 *
 * Of a large table, few groups may be needed: those that a row of the query can be joined
 * with.  The query's conditions on one table say which values these may have.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "compat.h"
#include "plan/rewrite/rewrite.h"

/* ---- subqueries of conditions ---- */

typedef struct Found
{
	SubLink    *scalar;
	int			links;
} Found;

static bool
find(Node *node, void *context)
{
	Found	   *found = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		found->links++;
		if (((SubLink *) node)->subLinkType == EXPR_SUBLINK)
			found->scalar = (SubLink *) node;
		return false;
	}
	return expression_tree_walker(node, find, context);
}

SubLink *
gj_scalar_subquery(Node *condition, int *subqueries)
{
	Found		found = {0};

	(void) find(condition, &found);
	*subqueries = found.links;
	return found.scalar;
}

/* ---- values that the query has ---- */

/* Reads a CTE, which is found by the level of the query that has it. */
static bool
reads_cte(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, reads_cte, context);
	foreach(lc, ((Query *) node)->rtable)
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_CTE)
			return true;
	return query_tree_walker((Query *) node, reads_cte, context, 0);
}

/*
 * Is it a condition on columns of one table alone that has the same value at any time, that
 * does not run a subquery for each row, and that can be copied?
 */
static bool
is_condition_on(Node *condition, int table)
{
	Relids		tables = pull_varnos(NULL, condition);
	int			links;
	int			only;

	return gj_scalar_subquery(condition, &links) == NULL && bms_get_singleton_member(tables, &only) && only == table &&
		!contain_volatile_functions(condition) && !reads_cte(condition, NULL);
}

/* Is the table on a side of an outer join that may be missing? */
static bool
may_be_missing(const List *keys, int table)
{
	ListCell   *lc;

	foreach(lc, keys)
		if (((const GjCorrelation *) lfirst(lc))->outer->varno == table &&
			gj_has_nulling_joins(((const GjCorrelation *) lfirst(lc))->outer))
			return true;
	return false;
}

/*
 * Limits the groups to the values that a table has in rows that pass the query's own
 * conditions on it.  NULL if it has none.
 */
static Node *
values_of(const Query *query, List *where, int table, const List *keys)
{
	RangeTblEntry *rte = gj_plain_table(query, table);
	Query	   *values = makeNode(Query);
	SubLink    *in = makeNode(SubLink);
	List	   *conditions = NIL;
	List	   *comparisons = NIL;
	ListCell   *lc;

	foreach(lc, where)
		if (is_condition_on(lfirst(lc), table))
			conditions = lappend(conditions, copyObject(lfirst(lc)));
	if (rte == NULL || conditions == NIL || may_be_missing(keys, table))
		return NULL;
	ChangeVarNodes((Node *) conditions, table, 1, 0);
	IncrementVarSublevelsUp((Node *) conditions, 2, 1); /* below the groups, and the IN */

	values->commandType = CMD_SELECT;
	values->querySource = QSRC_ORIGINAL;
	values->canSetTag = true;
	values->hasSubLinks = checkExprHasSubLink((Node *) conditions);
	values->rtable = list_make1(copyObject(rte));
	gj_copy_permissions(query, rte, values, linitial(values->rtable));
	values->jointree = makeFromExpr(list_make1(makeNode(RangeTblRef)), NULL);
	linitial_node(RangeTblRef, values->jointree->fromlist)->rtindex = 1;
	gj_set_where(values, conditions);

	foreach(lc, keys)
	{
		const GjCorrelation *key = lfirst(lc);
		OpExpr	   *comparison = copyObject(key->condition);
		Node	   *outer = list_nth(comparison->args, 1 - key->own);
		int			n = list_length(values->targetList) + 1;
		Param	   *param = makeNode(Param);

		if (key->outer->varno != table)
			continue;
		ChangeVarNodes(outer, table, 1, 1);
		IncrementVarSublevelsUp(outer, -1, 1);
		values->targetList = lappend(values->targetList,
									 makeTargetEntry((Expr *) outer, n, pstrdup("key"), false));
		param->paramkind = PARAM_SUBLINK;
		param->paramid = n;
		param->paramtype = exprType(outer);
		param->paramtypmod = exprTypmod(outer);
		param->paramcollid = exprCollation(outer);
		/* IN has its own side first; the operator is its own commutator */
		comparison->args = list_make2(list_nth(key->condition->args, key->own), param);
		comparisons = lappend(comparisons, comparison);
	}
	in->subLinkType = ANY_SUBLINK;
	in->testexpr = (Node *) make_ands_explicit(comparisons);
	in->operName = list_make1(makeString(pstrdup("=")));
	in->subselect = (Node *) values;
	in->location = -1;
	return (Node *) copyObject(in);
}

/* Limits the groups by each table that they are joined with. */
void
gj_limit_groups(const Query *query, List *where, const List *keys, Query *groups)
{
	List	   *conditions = gj_where(groups);
	Bitmapset  *tables = NULL;
	ListCell   *lc;
	int			table = -1;

	foreach(lc, keys)
		tables = bms_add_member(tables, ((const GjCorrelation *) lfirst(lc))->outer->varno);
	while ((table = bms_next_member(tables, table)) > 0)
	{
		Node	   *in = values_of(query, where, table, keys);

		if (in != NULL)
		{
			conditions = lappend(conditions, in);
			groups->hasSubLinks = true;
		}
	}
	gj_set_where(groups, conditions);
}
