/*
 * plan/rewrite/query.c - what a query says about its rows.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "compat.h"
#include "plan/rewrite/rewrite.h"
#include "source/source.h"

List *
gj_where(const Query *query)
{
	/* before the planner has seen it, an AND may contain others */
	List	   *todo = list_make1(query->jointree->quals);
	List	   *conditions = NIL;

	while (todo != NIL)
	{
		Node	   *node = linitial(todo);

		todo = list_delete_first(todo);
		if (node == NULL)
			continue;
		if (IsA(node, BoolExpr) && ((BoolExpr *) node)->boolop == AND_EXPR)
			todo = list_concat_copy(((BoolExpr *) node)->args, todo);
		else
			conditions = lappend(conditions, node);
	}
	return conditions;
}

void
gj_set_where(Query *query, List *conditions)
{
	query->jointree->quals = conditions == NIL ? NULL : (Node *) make_ands_explicit(conditions);
}

bool
gj_is_plain_select(const Query *query)
{
	return query->commandType == CMD_SELECT && query->jointree != NULL &&
		query->jointree->fromlist != NIL && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		!query->hasRecursive && !query->hasModifyingCTE && !query->hasForUpdate &&
		query->cteList == NIL && query->groupClause == NIL && query->groupingSets == NIL &&
		query->havingQual == NULL && query->distinctClause == NIL && query->sortClause == NIL &&
		query->limitOffset == NULL && query->limitCount == NULL && query->rowMarks == NIL &&
		query->setOperations == NULL && query->utilityStmt == NULL;
}

TargetEntry *
gj_only_column(const Query *query)
{
	TargetEntry *column;

	if (list_length(query->targetList) != 1)
		return NULL;
	column = linitial_node(TargetEntry, query->targetList);
	return column->resjunk ? NULL : column;
}

Var *
gj_bare_column(Node *expr, Index level)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	if (expr == NULL || !IsA(expr, Var) || ((Var *) expr)->varlevelsup != level ||
		((Var *) expr)->varattno <= 0)
		return NULL;
	return (Var *) expr;
}

RangeTblEntry *
gj_plain_table(const Query *query, int number)
{
	RangeTblEntry *rte = rt_fetch(number, query->rtable);

	/* policies name the table by its number in the query */
	if (rte->rtekind != RTE_RELATION || rte->tablesample != NULL || rte->securityQuals != NIL)
		return NULL;
	switch (rte->relkind)
	{
		case RELKIND_RELATION:
		case RELKIND_MATVIEW:
		case RELKIND_PARTITIONED_TABLE:
			return rte;
		case RELKIND_FOREIGN_TABLE:	/* core trusts its constraints, too */
			return gj_is_mirrorable(rte->relid) ? rte : NULL;
		default:
			return NULL;
	}
}

/* ---- columns that are never NULL ---- */

/*
 * Is a table of the FROM clause on a side of an outer join that may be missing?  It is
 * if it does not occur.
 */
static bool
may_be_missing(const Node *from, int number)
{
	const JoinExpr *join;
	ListCell   *lc;

	if (IsA(from, RangeTblRef))
		return ((const RangeTblRef *) from)->rtindex != number;
	if (IsA(from, FromExpr))
	{
		foreach(lc, ((const FromExpr *) from)->fromlist)
			if (!may_be_missing(lfirst(lc), number))
				return false;
		return true;
	}
	join = castNode(JoinExpr, unconstify(Node *, from));
	if ((join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT) &&
		!may_be_missing(join->larg, number))
		return false;
	return (join->jointype != JOIN_INNER && join->jointype != JOIN_RIGHT) ||
		may_be_missing(join->rarg, number);
}

/* The constraint holds for the rows that the query reads of the table. */
static bool
is_not_null(const RangeTblEntry *rte, AttrNumber attnum)
{
	Relation	rel;
	bool		result;

	/* children of a table without partitions may lack its constraint */
	if (rte->inh && rte->relkind != RELKIND_PARTITIONED_TABLE && has_subclass(rte->relid))
		return false;
	rel = relation_open(rte->relid, NoLock);	/* the parser has locked it */
	result = attnum <= RelationGetNumberOfAttributes(rel) &&
		gj_is_not_null(RelationGetDescr(rel), attnum - 1);
	relation_close(rel, NoLock);
	return result;
}

bool
gj_never_null(const Query *query, Node *expr)
{
	const Var  *column = gj_bare_column(expr, 0);
	const RangeTblEntry *rte = column == NULL ? NULL : gj_plain_table(query, column->varno);

	return rte != NULL && !may_be_missing((const Node *) query->jointree, column->varno) &&
		is_not_null(rte, column->varattno);
}
