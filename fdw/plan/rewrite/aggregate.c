/*
 * plan/rewrite/aggregate.c - a correlated subquery that returns an aggregate becomes a join
 * with the groups of all values.
 *
 *    FROM t WHERE c AND t.x < (SELECT 0.2 * avg(u.y) FROM u WHERE u.k = t.k)
 *
 * becomes (Kim, TODS 1982; with the table of values of Seshadri et al., SIGMOD 1996)
 *
 *    FROM t, (SELECT u.k, avg(u.y) AS a FROM u
 *             WHERE u.k IN (SELECT t.k FROM t WHERE c) GROUP BY u.k) g
 *    WHERE c AND g.k = t.k AND t.x < 0.2 * g.a
 *
 * Without a row of u, the subquery returns NULL, and no row with that passes the
 * condition: all in it is strict, and the aggregate is none of those that return something
 * else.  What is computed of the aggregates is computed after the join, and nothing else in the
 * subquery can fail.  So there is no error that PostgreSQL's own plan would not have.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/rewrite/rewrite.h"

/* ---- conditions that make the groups ---- */

/* Equality by which rows can be grouped: it compares two values of one type as GROUP BY does. */
static bool
is_grouping_operator(const OpExpr *op, Node *own)
{
	Oid			less;
	Oid			equal;
	bool		hashable;

	if (OidIsValid(op->inputcollid) && !get_collation_isdeterministic(op->inputcollid))
		return false;
	if (exprCollation(own) != op->inputcollid)
		return false;
	get_sort_group_operators(exprType(own), false, false, false, &less, &equal, NULL, &hashable);
	return equal == op->opno && get_commutator(equal) == equal && OidIsValid(less) && hashable;
}

static bool
read_key(Node *condition, GjCorrelation *key)
{
	OpExpr	   *op = (OpExpr *) condition;

	if (!IsA(condition, OpExpr) || list_length(op->args) != 2)
		return false;
	for (int own = 0; own < 2; own++)
	{
		Node	   *mine = list_nth(op->args, own);
		Var		   *outer = gj_bare_column(list_nth(op->args, 1 - own), 1);

		if (outer == NULL || gj_bare_column(mine, 0) == NULL || !is_grouping_operator(op, mine))
			continue;
		*key = (GjCorrelation) {.condition = op, .own = own, .outer = outer};
		return true;
	}
	return false;
}

/* ---- what may be evaluated for more rows than before ---- */

/* An operator of an order or of equality, or one that is known to raise no errors. */
static bool
is_safe_operator(Oid opno)
{
	Oid			function = get_opcode(opno);

	return function < FirstGenbkiObjectId &&
		(get_func_leakproof(function) || gj_has_order(opno));
}

/* May it fail for some values of columns?  Comparisons do not. */
static bool
can_fail(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!contain_var_clause(node) && !checkExprHasSubLink(node))
		return false;
	switch (nodeTag(node))
	{
		case T_OpExpr:
			if (!is_safe_operator(((OpExpr *) node)->opno))
				return true;
			break;
		case T_ScalarArrayOpExpr:
			if (!is_safe_operator(((ScalarArrayOpExpr *) node)->opno))
				return true;
			break;
		case T_Var:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_TargetEntry:
		case T_List:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, can_fail, context);
}

/*
 * An aggregate of columns that returns NULL, and nothing else, for no rows, whose result
 * does not depend on the order of rows.
 */
static bool
is_null_without_rows(const Aggref *agg)
{
	const char *name;
	Oid			type;

	if (agg->agglevelsup != 0 || agg->aggkind != AGGKIND_NORMAL || agg->aggvariadic ||
		agg->aggfnoid >= FirstGenbkiObjectId || list_length(agg->args) != 1 ||
		can_fail((Node *) agg->args, NULL) || can_fail((Node *) agg->aggfilter, NULL))
		return false;
	name = get_func_name(agg->aggfnoid);
	type = linitial_oid(agg->aggargtypes);
	if (name == NULL)
		return false;
	if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
		return true;
	return (strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0) &&
		(type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID);
}

/* ---- the groups ---- */

/* Replaces the aggregates of an expression by columns of the groups, which it adds. */
typedef struct Columns
{
	Query	   *groups;
	int			number;			/* of the groups among the query's tables */
	bool		fails;
} Columns;

static Var *
add_column(Columns *c, Expr *expr, const char *name, Index group)
{
	int			n = list_length(c->groups->targetList) + 1;
	TargetEntry *column = makeTargetEntry(expr, n, pstrdup(name), false);

	column->ressortgroupref = group;
	c->groups->targetList = lappend(c->groups->targetList, column);
	return makeVar(c->number, n, exprType((Node *) expr), exprTypmod((Node *) expr),
				   exprCollation((Node *) expr), 0);
}

static Node *
take_aggregates(Node *node, void *context)
{
	Columns    *c = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		if (!is_null_without_rows((Aggref *) node))
			c->fails = true;
		return (Node *) add_column(c, (Expr *) node, "aggregate", 0);
	}
	return expression_tree_mutator(node, take_aggregates, context);
}

/* Adds a column by which rows are grouped, and returns the condition that joins it. */
static Node *
add_key(Columns *c, const GjCorrelation *key)
{
	OpExpr	   *join = copyObject(key->condition);
	ListCell   *own = list_nth_cell(join->args, key->own);
	SortGroupClause *group = makeNode(SortGroupClause);

	group->tleSortGroupRef = list_length(c->groups->groupClause) + 1;
	get_sort_group_operators(exprType(lfirst(own)), true, true, false,
							 &group->sortop, &group->eqop, NULL, &group->hashable);
	c->groups->groupClause = lappend(c->groups->groupClause, group);
	lfirst(own) = add_column(c, lfirst(own), "key", group->tleSortGroupRef);
	IncrementVarSublevelsUp(list_nth(join->args, 1 - key->own), -1, 1);
	return (Node *) join;
}

/* ---- the rewrite ---- */

/* What a subquery is replaced by. */
typedef struct Replacement
{
	const SubLink *link;
	Node	   *by;
} Replacement;

static Node *
replace(Node *node, void *context)
{
	const Replacement *r = context;

	if (node == NULL)
		return NULL;
	if (node == (const Node *) r->link)
		return r->by;
	return expression_tree_mutator(node, replace, context);
}

/* Divides the conditions of the subquery into keys and others, in groups. */
static List *
take_keys(Query *groups)
{
	List	   *keys = NIL;
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, gj_where(groups))
	{
		GjCorrelation key;

		if (read_key(lfirst(lc), &key))
		{
			keys = lappend(keys, memcpy(palloc(sizeof(key)), &key, sizeof(key)));
			continue;
		}
		if (can_fail(lfirst(lc), NULL))
			return NIL;
		others = lappend(others, lfirst(lc));
	}
	gj_set_where(groups, others);
	return keys;
}

static void
add_table(Query *query, Query *groups)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	ListCell   *lc;

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = groups;
	rte->eref = makeAlias("subquery", NIL);
	foreach(lc, groups->targetList)
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(lfirst_node(TargetEntry, lc)->resname));
	rte->inFromCl = true;
	query->rtable = lappend(query->rtable, rte);
	ref->rtindex = list_length(query->rtable);
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
}

/* Rewrites a condition of where.  Returns the conditions that replace it, or NIL. */
static List *
rewrite(Query *query, List *where, Node *condition)
{
	int			links;
	SubLink    *link = gj_scalar_subquery(condition, &links);
	Columns		columns = {.number = list_length(query->rtable) + 1};
	TargetEntry *result;
	Replacement replacement;
	Query	   *groups;
	List	   *keys;
	List	   *conditions = NIL;
	ListCell   *lc;

	if (link == NULL || links != 1)
		return NIL;
	groups = copyObject(castNode(Query, link->subselect));
	result = gj_only_column(groups);
	if (!gj_is_plain_select(groups) || !groups->hasAggs || result == NULL ||
		contain_volatile_functions((Node *) groups))
		return NIL;
	keys = take_keys(groups);
	if (keys == NIL)
		return NIL;

	columns.groups = groups;
	groups->targetList = NIL;
	foreach(lc, keys)
		conditions = lappend(conditions, add_key(&columns, lfirst(lc)));
	replacement.link = link;
	replacement.by = take_aggregates((Node *) result->expr, &columns);
	/* what it has of the query's columns besides */
	IncrementVarSublevelsUp(replacement.by, -1, 1);
	condition = replace(condition, &replacement);
	if (columns.fails || contain_nonstrict_functions(condition) ||
		!bms_is_member(columns.number, pull_varnos(NULL, condition)) ||
		contain_vars_of_level((Node *) groups, 1))
		return NIL;
	gj_limit_groups(query, where, keys, groups);
	add_table(query, groups);
	return lappend(conditions, condition);
}

bool
gj_rewrite_aggregates(Query *query)
{
	List	   *where = gj_where(query);
	List	   *all = NIL;
	bool		changed = false;
	ListCell   *lc;

	if (query->rowMarks != NIL || query->hasForUpdate)
		return false;
	foreach(lc, where)
	{
		List	   *conditions = rewrite(query, where, lfirst(lc));

		changed = changed || conditions != NIL;
		all = list_concat(all, conditions != NIL ? conditions : list_make1(lfirst(lc)));
	}
	if (changed)
		gj_set_where(query, all);
	return changed;
}
