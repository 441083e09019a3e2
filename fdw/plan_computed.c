/*
 * plan_computed.c - columns that the plan of an input computes.
 *
 * To the daemon, such a column is like any other.  In planning, a Var stands
 * for it, whose attribute number follows those of the relation, so that keys,
 * outputs and conditions need not know the difference.  The expression is
 * evaluated once for each row of the input, before any join of the job.
 *
 * PlaceHolderVars are such expressions by nature: core evaluates them below an
 * outer join that makes them NULL.  Keys of which one side is converted to the
 * other's type are another sort.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan_computed.h"

/* The attribute numbers of computed columns begin here. */
static AttrNumber
first_computed(const RelOptInfo *rel)
{
	return rel->max_attr + 1;
}

static Var *
computed_var(const RelOptInfo *rel, int i, Expr *expr)
{
	return makeVar(rel->relid, first_computed(rel) + i, exprType((Node *) expr),
				   exprTypmod((Node *) expr), exprCollation((Node *) expr), 0);
}

/* Returns the position of the expression among the computed columns, or -1. */
static int
find_computed(const GjBase *base, const Expr *expr)
{
	ListCell   *lc;

	foreach(lc, base->computed)
	{
		const Expr *computed = lfirst(lc);

		/* outer joins may distinguish PlaceHolderVars of one expression */
		if (IsA(expr, PlaceHolderVar) ?
			IsA(computed, PlaceHolderVar) &&
			((const PlaceHolderVar *) computed)->phid == ((const PlaceHolderVar *) expr)->phid :
			equal(computed, expr))
			return foreach_current_index(lc);
	}
	return -1;
}

Var *
gj_compute(RelOptInfo *rel, GjBase *base, Expr *expr)
{
	int			i = find_computed(base, expr);

	if (i < 0)
	{
		/* with GEQO the relation outlives the current memory context */
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rel));

		i = list_length(base->computed);
		base->computed = lappend(base->computed, copyObject(expr));
		MemoryContextSwitchTo(old);
	}
	return computed_var(rel, i, expr);
}

/* The only base relation that can evaluate the expression, or NULL. */
static RelOptInfo *
evaluated_at(PlannerInfo *root, const PlaceHolderVar *phv)
{
	ListCell   *lc;

	foreach(lc, root->placeholder_list)
	{
		const PlaceHolderInfo *info = lfirst_node(PlaceHolderInfo, lc);
		int			relid;

		if (info->phid != phv->phid)
			continue;
		if (!bms_get_singleton_member(info->ph_eval_at, &relid))
			return NULL;
		return gj_base_rel(root, relid);
	}
	return NULL;
}

Var *
gj_column(PlannerInfo *root, Expr *expr)
{
	RelOptInfo *rel;
	const GjBase *base;
	int			i;

	if (IsA(expr, Var))
		return (Var *) expr;
	if (!IsA(expr, PlaceHolderVar) || ((PlaceHolderVar *) expr)->phlevelsup != 0)
		return NULL;
	rel = evaluated_at(root, (PlaceHolderVar *) expr);
	base = rel != NULL ? gj_base_slot(rel) : NULL;
	i = base != NULL ? find_computed(base, expr) : -1;
	return i >= 0 ? computed_var(rel, i, expr) : NULL;
}

/*
 * Is the function strict, free of errors, and independent of settings?  Then it
 * may be called for rows that a native plan would not call it for, and outer
 * joins make its result NULL as they make its argument NULL.
 */
static bool
is_total(Oid function)
{
	switch (function)
	{
		case F_INT4_INT2:
		case F_INT4_BOOL:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_FLOAT4_INT2:
		case F_FLOAT4_INT4:
		case F_FLOAT4_INT8:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_DATE_TIMESTAMP:
		case F_TEXT_BPCHAR:
		case F_TEXT_NAME:
		case F_TEXT_CHAR:
		case F_BPCHAR_NAME:
		case F_BPCHAR_CHAR:
		case F_LOWER_TEXT:
		case F_UPPER_TEXT:
		case F_BTRIM_TEXT:
		case F_LTRIM_TEXT:
		case F_RTRIM_TEXT:
			return true;
		default:
			return false;
	}
}

Var *
gj_key_expression(PlannerInfo *root, Expr *expr)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	Expr	   *arg;
	RelOptInfo *rel;
	GjBase	   *base;

	if (!IsA(expr, FuncExpr))
		return gj_column(root, expr);
	if (!is_total(call->funcid))
		return NULL;
	arg = linitial(call->args);
	while (IsA(arg, RelabelType))
		arg = ((RelabelType *) arg)->arg;
	if (!IsA(arg, Var) || ((Var *) arg)->varattno <= 0 || ((Var *) arg)->varlevelsup != 0)
		return NULL;
	rel = gj_base_rel(root, ((Var *) arg)->varno);
	base = rel != NULL ? gj_base_slot(rel) : NULL;
	if (base == NULL || !base->decided || base->reject != GJ_ACCEPTED)
		return NULL;
	return gj_compute(rel, base, gj_before_joins(expr, (Var *) arg));
}

Expr *
gj_computed(PlannerInfo *root, const Var *var)
{
	RelOptInfo *rel = gj_base_rel(root, var->varno);

	if (var->varattno <= rel->max_attr)
		return NULL;
	return list_nth(gj_base_slot(rel)->computed, var->varattno - first_computed(rel));
}

int
gj_average_width(PlannerInfo *root, const Var *var)
{
	const RelOptInfo *rel = gj_base_rel(root, var->varno);

	return var->varattno <= rel->max_attr ? rel->attr_widths[var->varattno - rel->min_attr] :
		get_typavgwidth(var->vartype, var->vartypmod);
}

static Node *
strip_placeholders(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		return strip_placeholders((Node *) ((PlaceHolderVar *) node)->phexpr, context);
	return expression_tree_mutator(node, strip_placeholders, context);
}

Expr *
gj_without_placeholders(Expr *expr)
{
	return (Expr *) strip_placeholders((Node *) expr, NULL);
}
