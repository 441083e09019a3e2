/*
 * plan_clauses.c - divides a join's conditions between daemon and backend.
 *
 * Equalities of two columns become keys.  The backend evaluates any other
 * condition over the joined columns on the rows that the daemon returns.  That
 * is correct because an inner join may apply its conditions late.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "plan_clauses.h"

static Expr *
strip_relabel(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/*
 * Returns the column if its bytes are valid input for the operator, else NULL.
 */
static Var *
key_column(Expr *arg, int typlen)
{
	Var		   *var = (Var *) strip_relabel(arg);

	if (!IsA(var, Var) || var->varattno <= 0 || var->varlevelsup != 0)
		return NULL;

	/* without a RelabelType it has exactly the operator's input type */
	if ((Expr *) var != arg && get_typlen(var->vartype) != typlen)
		return NULL;
	return var;
}

/* Returns the key that a clause represents, or NULL. */
static GjKey *
make_key(OpExpr *clause, Relids left, Relids right)
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
	a = key_column(linitial(clause->args), op->left);
	b = key_column(lsecond(clause->args), op->right);
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
check_residual(RestrictInfo *rinfo)
{
	ListCell   *lc;

	if (contain_volatile_functions((Node *) rinfo))
		return GJ_REJECT_VOLATILE;
	foreach(lc, pull_var_clause((Node *) rinfo->clause, PVC_INCLUDE_PLACEHOLDERS))
	{
		Var		   *var = lfirst(lc);

		if (!IsA(var, Var))
			return GJ_REJECT_EXPRESSION;
		if (var->varattno < 0)
			return GJ_REJECT_SYSTEM_COLUMN;
		if (var->varattno == 0)
			return GJ_REJECT_WHOLE_ROW;
	}
	return GJ_ACCEPTED;
}

GjReject
gj_split_clauses(PlannerInfo *root, List *restrictlist, SpecialJoinInfo *sjinfo,
				 Relids left, Relids right, bool secured, GjClauses *clauses)
{
	ListCell   *lc;

	clauses->keys = NIL;
	clauses->residual = NIL;
	clauses->selectivity = 1;

	foreach(lc, restrictlist)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		GjKey	   *key = make_key((OpExpr *) rinfo->clause, left, right);
		GjReject	reject;

		if (key == NULL)
		{
			reject = check_residual(rinfo);
			if (reject != GJ_ACCEPTED)
				return reject;
			clauses->residual = lappend(clauses->residual, rinfo);
			continue;
		}
		if (secured &&
			!get_func_leakproof(get_opcode(((OpExpr *) rinfo->clause)->opno)))
			return GJ_REJECT_LEAKPROOF;
		clauses->keys = lappend(clauses->keys, key);
	}
	if (clauses->keys == NIL)
		return GJ_REJECT_NO_KEY;
	if (clauses->residual != NIL)
		clauses->selectivity =
			clauselist_selectivity(root, clauses->residual, 0, JOIN_INNER, sjinfo);
	return GJ_ACCEPTED;
}
