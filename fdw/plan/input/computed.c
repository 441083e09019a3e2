/*
 * plan/input/computed.c - columns that the plan of an input computes.
 *
 * To the daemon, such a column is like any other.  In planning, a Var stands
 * for it, whose attribute number follows those of the relation, so that keys,
 * outputs and conditions need not know the difference.  The expression is
 * evaluated once for each row of the input, before any join of the job.
 *
 * PlaceHolderVars are such expressions by nature: core evaluates them below an
 * outer join that makes them NULL.  Keys of which one side is converted to the
 * other's type are another sort.  A third one are expressions of a query block
 * that the daemon cannot evaluate, such as lower() of a text.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/input/input.h"
#include "util.h"

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
find_computed(const GjBaserel *base, const Expr *expr)
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
gj_compute(RelOptInfo *rel, GjBaserel *base, Expr *expr)
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
	const GjBaserel *base;
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
 * Functions that are strict, free of errors, and independent of settings.  They
 * may be called for rows that a native plan would not call them for, and outer
 * joins make their results NULL as they make their arguments NULL.
 */
static const Oid total_functions[] = {
	F_INT4_INT2, F_INT4_BOOL,
	F_INT8_INT2, F_INT8_INT4,
	F_NUMERIC_INT2, F_NUMERIC_INT4, F_NUMERIC_INT8,
	F_FLOAT4_INT2, F_FLOAT4_INT4, F_FLOAT4_INT8,
	F_FLOAT8_INT2, F_FLOAT8_INT4, F_FLOAT8_INT8, F_FLOAT8_FLOAT4,
	F_DATE_TIMESTAMP,
	F_TEXT_BPCHAR, F_TEXT_NAME, F_TEXT_CHAR,
	F_BPCHAR_NAME, F_BPCHAR_CHAR,
	F_LOWER_TEXT, F_UPPER_TEXT, F_BTRIM_TEXT, F_LTRIM_TEXT, F_RTRIM_TEXT,
};

static bool
is_member(const Oid *functions, int n, Oid function)
{
	for (int i = 0; i < n; i++)
		if (functions[i] == function)
			return true;
	return false;
}

static bool
is_total(Oid function)
{
	return is_member(total_functions, lengthof(total_functions), function);
}

/* The column of var's relation that its plan computes by the expression. */
static Var *
compute_at_input(PlannerInfo *root, Expr *expr, const Var *var)
{
	RelOptInfo *rel = gj_base_rel(root, var->varno);
	GjBaserel  *base = rel != NULL ? gj_base_slot(rel) : NULL;

	if (base == NULL || !base->decided || base->reject != GJ_ACCEPTED)
		return NULL;
	return gj_compute(rel, base, gj_before_joins(expr, var));
}

Var *
gj_key_expression(PlannerInfo *root, Expr *expr)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	Expr	   *arg;

	if (!IsA(expr, FuncExpr))
		return gj_column(root, expr);
	if (!is_total(call->funcid))
		return NULL;
	arg = gj_strip_relabel(linitial(call->args));
	if (!IsA(arg, Var) || ((Var *) arg)->varattno <= 0 || ((Var *) arg)->varlevelsup != 0)
		return NULL;
	return compute_at_input(root, expr, (Var *) arg);
}

/*
 * More strict functions without errors, of which only values are needed.  Some
 * fail under nondeterministic collations.
 */
static const Oid total_value_functions[] = {
	F_TEXTCAT, F_LENGTH_TEXT, F_CHAR_LENGTH_TEXT, F_CHARACTER_LENGTH_TEXT, F_LENGTH_BPCHAR,
	F_CHAR_LENGTH_BPCHAR, F_CHARACTER_LENGTH_BPCHAR, F_OCTET_LENGTH_TEXT, F_OCTET_LENGTH_BPCHAR,
	F_LEFT, F_RIGHT, GJ_F_REVERSE, F_REPLACE, F_INITCAP, F_STRPOS, F_POSITION_TEXT_TEXT,
	F_STARTS_WITH, F_BTRIM_TEXT_TEXT, F_LTRIM_TEXT_TEXT, F_RTRIM_TEXT_TEXT, F_TRANSLATE,
	F_MD5_TEXT,
	F_TEXT_LT, F_TEXT_LE, F_TEXT_GT, F_TEXT_GE,
	F_BPCHARLT, F_BPCHARLE, F_BPCHARGT, F_BPCHARGE,
	F_INT2AND, F_INT2OR, F_INT2XOR, F_INT2NOT, F_INT2SHL, F_INT2SHR,
	F_INT4AND, F_INT4OR, F_INT4XOR, F_INT4NOT, F_INT4SHL, F_INT4SHR,
	F_INT8AND, F_INT8OR, F_INT8XOR, F_INT8NOT, F_INT8SHL, F_INT8SHR,
	F_FLOAT4EQ, F_FLOAT4NE, F_FLOAT4LT, F_FLOAT4LE, F_FLOAT4GT, F_FLOAT4GE,
	F_FLOAT8EQ, F_FLOAT8NE, F_FLOAT8LT, F_FLOAT8LE, F_FLOAT8GT, F_FLOAT8GE,
	F_FLOAT48EQ, F_FLOAT48NE, F_FLOAT48LT, F_FLOAT48LE, F_FLOAT48GT, F_FLOAT48GE,
	F_FLOAT84EQ, F_FLOAT84NE, F_FLOAT84LT, F_FLOAT84LE, F_FLOAT84GT, F_FLOAT84GE,
	F_NUMERIC_EQ, F_NUMERIC_NE, F_NUMERIC_LT, F_NUMERIC_LE, F_NUMERIC_GT, F_NUMERIC_GE,
};

static bool
is_total_value(Oid function)
{
	return is_total(function) ||
		is_member(total_value_functions, lengthof(total_value_functions), function);
}

/* An expression that is searched for anything that is not total. */
typedef struct Total
{
	const Var  *var;			/* one of its columns */
	bool		other;			/* it has something that is not allowed */
} Total;

static bool
is_deterministic(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* Output of integers as text is total and depends on no setting. */
static bool
is_integer_text(const CoerceViaIO *cast)
{
	Oid			from = exprType((const Node *) cast->arg);

	return cast->resulttype == TEXTOID && (from == INT2OID || from == INT4OID || from == INT8OID);
}

/* Stops at the first thing that is not allowed. */
static bool
check_total(Node *node, Total *total)
{
	bool		ok = false;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_RelabelType:
			ok = true;
			break;
		case T_Const:
			return total->other = ((const Const *) node)->constisnull;
		case T_Var:
			{
				const Var  *var = (const Var *) node;

				if (var->varlevelsup != 0 || var->varattno <= 0 ||
					(total->var != NULL && total->var->varno != var->varno))
					return total->other = true;
				total->var = var;
				return false;
			}
		case T_FuncExpr:
			ok = is_total_value(((FuncExpr *) node)->funcid) &&
				is_deterministic(((FuncExpr *) node)->inputcollid);
			break;
		case T_OpExpr:
			set_opfuncid((OpExpr *) node);
			ok = is_total_value(((OpExpr *) node)->opfuncid) &&
				is_deterministic(((OpExpr *) node)->inputcollid);
			break;
		case T_CoerceViaIO:
			ok = is_integer_text((CoerceViaIO *) node);
			break;
		default:
			break;
	}
	if (!ok)
		return total->other = true;
	return expression_tree_walker(node, check_total, total);
}

Var *
gj_total_expression(PlannerInfo *root, Expr *expr)
{
	Total		total = {0};

	(void) check_total((Node *) expr, &total);
	if (total.other || total.var == NULL)
		return NULL;
	return compute_at_input(root, expr, total.var);
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
