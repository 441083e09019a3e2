/*
 * plan/rewrite/not_in.c - NOT IN becomes NOT EXISTS where no value can be NULL.
 *
 * x NOT IN (SELECT y ...) is NULL, not true, if x or a y is NULL and no y equals x.  So
 * PostgreSQL does not make an anti join of it.  Where neither can be NULL, it is
 * NOT EXISTS (SELECT ... WHERE y = x), which is one.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "plan/rewrite/rewrite.h"

/* The column of the subquery for which a parameter of the comparison stands. */
static Node *
compared_column(const Query *sub, Node *expr)
{
	Node	   *inner = expr;
	const Param *param;

	while (inner != NULL && IsA(inner, RelabelType))
		inner = (Node *) ((RelabelType *) inner)->arg;
	if (inner == NULL || !IsA(inner, Param))
		return NULL;
	param = (const Param *) inner;
	if (param->paramkind != PARAM_SUBLINK || param->paramid > list_length(sub->targetList))
		return NULL;
	return (Node *) list_nth_node(TargetEntry, sub->targetList, param->paramid - 1)->expr;
}

/* Replaces the parameters of a comparison by the columns for which they stand. */
static Node *
insert_columns(Node *node, void *context)
{
	Query	   *sub = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
		return copyObject(compared_column(sub, node));
	return expression_tree_mutator(node, insert_columns, context);
}

/* Is a comparison true or false for all rows, and true if and only if both sides are equal? */
static bool
is_equality(const Query *query, const Query *sub, Node *comparison)
{
	const OpExpr *op = (const OpExpr *) comparison;
	Node	   *left;
	Node	   *right;

	if (!IsA(comparison, OpExpr) || list_length(op->args) != 2 || !op_strict(op->opno))
		return false;
	left = linitial(op->args);
	right = compared_column(sub, lsecond(op->args));
	return right != NULL && gj_never_null(query, left) && gj_never_null(sub, right) &&
		op_mergejoinable(op->opno, exprType(left));
}

static List *
comparisons_of(const SubLink *link)
{
	if (IsA(link->testexpr, BoolExpr) && ((BoolExpr *) link->testexpr)->boolop == AND_EXPR)
		return ((BoolExpr *) link->testexpr)->args;
	return list_make1(link->testexpr);
}

/* Changes the subquery of a NOT IN if nothing that is compared can be NULL. */
static bool
rewrite(const Query *query, SubLink *link)
{
	Query	   *sub = castNode(Query, link->subselect);
	List	   *comparisons = comparisons_of(link);
	List	   *where;
	ListCell   *lc;

	if (!gj_is_plain_select(sub) || sub->hasAggs || contain_volatile_functions((Node *) sub))
		return false;
	foreach(lc, comparisons)
		if (!is_equality(query, sub, lfirst(lc)))
			return false;
	where = gj_where(sub);
	foreach(lc, comparisons)
	{
		/* one level down, and only then the subquery's own columns */
		Node	   *comparison = copyObject(lfirst(lc));

		IncrementVarSublevelsUp(comparison, 1, 0);
		where = lappend(where, insert_columns(comparison, sub));
	}
	gj_set_where(sub, where);
	link->subLinkType = EXISTS_SUBLINK;
	link->testexpr = NULL;
	link->operName = NIL;
	return true;
}

bool
gj_rewrite_not_in(Query *query)
{
	bool		changed = false;
	ListCell   *lc;

	foreach(lc, gj_where(query))
	{
		const BoolExpr *negation = lfirst(lc);
		SubLink    *link;

		if (!IsA(negation, BoolExpr) || negation->boolop != NOT_EXPR)
			continue;
		link = linitial(negation->args);
		if (IsA(link, SubLink) && link->subLinkType == ANY_SUBLINK && rewrite(query, link))
			changed = true;
	}
	return changed;
}
