/*
 * plan/join/clauses.c - divides a join's conditions between daemon and backend.
 *
 * Equalities of two columns become keys.  Any other condition belongs to one
 * of two groups:
 *   - Join conditions decide which rows match, and an outer, semi or anti join
 *     treats rows without a match in its own way.  So the daemon must evaluate
 *     them, or the join stays native.
 *   - Filters drop rows of the join's result.  These are all conditions of an
 *     inner join, and those that an outer join applies after it has added
 *     NULLs.  A filter that the daemon cannot evaluate may be deferred to the
 *     backend, as long as no join above depends on it (plan/join/hook.c).
 *
 * Evaluating a condition may be an arithmetic error, after which the native
 * plan runs instead.  So the daemon would have to keep all joined rows until
 * it has evaluated all conditions.  An OffloadJoin may return more rows than that,
 * and such a filter is deferred.  An aggregation returns no group before, so
 * the daemon evaluates its filters itself.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"
#include "plan/join/clauses.h"
#include "util.h"

/*
 * Returns the column if its bytes are valid input for the operator, else NULL.
 */
static Var *
key_column(PlannerInfo *root, Expr *arg, int typlen)
{
	Expr	   *plain = gj_strip_relabel(arg);
	Var		   *var = gj_key_expression(root, plain);

	if (var == NULL || var->varattno <= 0 || var->varlevelsup != 0)
		return NULL;

	/* without a RelabelType it has exactly the operator's input type */
	if (plain != arg && get_typlen(var->vartype) != typlen)
		return NULL;
	return var;
}

/* Returns the key that a clause represents, or NULL. */
static GjKey *
make_key(PlannerInfo *root, OpExpr *clause, Relids left, Relids right)
{
	const GjOperator *op;
	GjKey	   *key;
	Var		   *a;
	Var		   *b;

	if (!IsA(clause, OpExpr) || list_length(clause->args) != 2)
		return NULL;
	op = gj_find_operator(clause->opno, clause->inputcollid);
	if (op == NULL)
		return NULL;
	a = key_column(root, linitial(clause->args), op->left);
	b = key_column(root, lsecond(clause->args), op->right);
	if (a == NULL || b == NULL)
		return NULL;
	if (bms_is_member(b->varno, left) && bms_is_member(a->varno, right))
	{
		Var		   *swap = a;

		a = b;
		b = swap;
	}
	else if (!bms_is_member(a->varno, left) || !bms_is_member(b->varno, right))
		return NULL;

	key = palloc(sizeof(GjKey));
	key->kind = op->kind;
	key->left = a;
	key->right = b;
	return key;
}

/* Can the backend evaluate the clause on rows of plain columns? */
static GjReject
check_deferred(PlannerInfo *root, RestrictInfo *rinfo)
{
	ListCell   *lc;

	if (contain_volatile_functions((Node *) rinfo))
		return GJ_REJECT_VOLATILE;
	foreach(lc, pull_var_clause((Node *) rinfo->clause, PVC_INCLUDE_PLACEHOLDERS))
	{
		const Var  *var = gj_column(root, lfirst(lc));

		if (var == NULL)
			return GJ_REJECT_EXPRESSION;
		if (var->varattno < 0)
			return GJ_REJECT_SYSTEM_COLUMN;
		if (var->varattno == 0)
			return GJ_REJECT_WHOLE_ROW;
	}
	return GJ_ACCEPTED;
}

/*
 * Replaces the columns of tables that an anti join hides by NULL.  No row of
 * them has joined, so above it they are NULL, and so is what is computed below
 * it.
 */
static Node *
null_hidden(Node *node, Relids *hidden)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && bms_is_member(((Var *) node)->varno, *hidden))
		return (Node *) makeNullConst(((Var *) node)->vartype, ((Var *) node)->vartypmod,
									  ((Var *) node)->varcollid);
	if (IsA(node, PlaceHolderVar) && bms_overlap(((PlaceHolderVar *) node)->phrels, *hidden))
		return bms_is_subset(((PlaceHolderVar *) node)->phrels, *hidden) ?
			(Node *) makeNullConst(exprType(node), exprTypmod(node), exprCollation(node)) :
			(Node *) copyObject(node);
	return expression_tree_mutator(node, null_hidden, hidden);
}

static bool
is_true(const Expr *clause)
{
	return IsA(clause, Const) && !((const Const *) clause)->constisnull &&
		DatumGetBool(((const Const *) clause)->constvalue);
}

/* The condition as the daemon evaluates it, or NULL. */
static GjCondition *
shipped(PlannerInfo *root, const GjPair *pair, const RestrictInfo *rinfo)
{
	GjTranslator t = {
		.root = root,
		.hidden = pair->hidden,
	};
	GjExpr	   *expr = rinfo->pseudoconstant ? NULL : gj_translate_condition(&t, rinfo->clause);
	GjCondition *condition;

	if (expr == NULL)
		return NULL;
	condition = palloc(sizeof(GjCondition));
	condition->clause = rinfo->clause;
	condition->expr = expr;
	condition->leaves = t.leaves;
	return condition;
}

/* Adds a filter, which applies to the join's result. */
static GjReject
add_filter(PlannerInfo *root, const GjPair *pair, RestrictInfo *rinfo, GjClauses *clauses)
{
	Expr	   *clause = rinfo->clause;
	GjReject	reject;
	GjCondition *condition;

	/* a LEFT JOIN with "right side IS NULL" became an anti join */
	if (pair->kind == JOIN_ANTI && !rinfo->pseudoconstant &&
		bms_overlap(rinfo->clause_relids, pair->right))
	{
		Relids		right = pair->right;

		if (contain_volatile_functions((Node *) clause))
			return GJ_REJECT_VOLATILE;
		clause = (Expr *) eval_const_expressions(root, null_hidden((Node *) clause, &right));
		if (is_true(clause))
			return GJ_ACCEPTED;
		return GJ_REJECT_CONDITION;
	}
	condition = shipped(root, pair, rinfo);
	if (condition != NULL && !condition->expr->can_fail)
	{
		List	  **conditions = pair->kind == JOIN_INNER ? &clauses->residual : &clauses->filter;

		*conditions = lappend(*conditions, condition);
		return GJ_ACCEPTED;
	}
	reject = check_deferred(root, rinfo);
	if (reject != GJ_ACCEPTED)
		return reject;
	clauses->deferred = lappend(clauses->deferred, rinfo);
	if (condition == NULL)
		clauses->ships_deferred = false;
	else
		clauses->shipped = lappend(clauses->shipped, condition);
	return GJ_ACCEPTED;
}

/* Adds a condition that is not a filter and not a key. */
static GjReject
add_join_condition(PlannerInfo *root, const GjPair *pair, RestrictInfo *rinfo,
				   GjClauses *clauses)
{
	GjCondition *condition = shipped(root, pair, rinfo);
	bool		can_fail = condition != NULL && condition->expr->can_fail;

	/* a semi join may as well drop rows of its left side afterwards */
	if ((condition == NULL || can_fail) && pair->kind == JOIN_SEMI &&
		bms_is_subset(rinfo->clause_relids, pair->left))
		return add_filter(root, pair, rinfo, clauses);
	if (condition == NULL)
		return GJ_REJECT_CONDITION;
	clauses->residual = lappend(clauses->residual, condition);
	clauses->can_fail |= can_fail;
	return GJ_ACCEPTED;
}

GjReject
gj_split_clauses(PlannerInfo *root, const GjPair *pair, GjClauses *clauses)
{
	ListCell   *lc;

	memset(clauses, 0, sizeof(*clauses));
	clauses->selectivity = 1;
	clauses->key_growth = 1;
	clauses->ships_deferred = true;

	foreach(lc, pair->restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		bool		filter = IS_OUTER_JOIN(pair->kind) &&
			RINFO_IS_PUSHED_DOWN(rinfo, pair->joined);
		GjKey	   *key = filter ? NULL :
			make_key(root, (OpExpr *) rinfo->clause, pair->left, pair->right);
		GjReject	reject;

		if (key == NULL)
		{
			if (filter || pair->kind == JOIN_INNER)
				reject = add_filter(root, pair, rinfo, clauses);
			else
				reject = add_join_condition(root, pair, rinfo, clauses);
			if (reject != GJ_ACCEPTED)
				return reject;
			continue;
		}
		if (pair->secured &&
			!get_func_leakproof(get_opcode(((OpExpr *) rinfo->clause)->opno)))
			return GJ_REJECT_LEAKPROOF;
		clauses->keys = lappend(clauses->keys, key);
		if (list_length(pair->restrictlist) > 1)
			clauses->key_clauses = lappend(clauses->key_clauses, rinfo);
	}
	if (clauses->keys == NIL)
		return GJ_REJECT_NO_KEY;
	if (clauses->key_clauses == NIL)
		clauses->key_clauses = pair->restrictlist;
	if (pair->kind == JOIN_INNER)
		clauses->key_growth = gj_key_growth(root, clauses->key_clauses);
	if (clauses->deferred != NIL)
		clauses->selectivity =
			clauselist_selectivity(root, clauses->deferred, 0, pair->kind, pair->sjinfo);
	return GJ_ACCEPTED;
}
