/*
 * plan/cost/native_expr.c - how long the executor takes for expressions.
 *
 * core charges cpu_operator_cost for every operator.  An operator of numerics
 * takes ten times as long as one of integers, and the sum of numerics more
 * than all the rest of a row, so these are told apart by the types of the
 * operands.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "job/job.h"
#include "job/page_qual.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID;
}

static double
operator_ns(Oid function, const List *args, Oid result)
{
	Oid			type = args == NIL ? InvalidOid : exprType(linitial(args));

	switch (function)
	{
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
		case F_TEXTICLIKE:
		case F_TEXTICNLIKE:
		case F_TEXTREGEXEQ:
		case F_TEXTREGEXNE:
			return LIKE_NS;
	}
	if (type == NUMERICOID)
		return result == BOOLOID ? NUMERIC_COMPARISON_NS : NUMERIC_OPERATOR_NS;
	if (is_text(type))
		return TEXT_NS;
	return result == NUMERICOID ? NUMERIC_OPERATOR_NS : OPERATOR_NS;
}

/* The expected number of comparisons of value = ANY(array). */
static double
array_comparisons(const ScalarArrayOpExpr *expr)
{
	const Const *array = lsecond(expr->args);

	if (OidIsValid(expr->hashfuncid))
		return 2;				/* a hash table of the array */
	if (IsA(array, Const) && !array->constisnull)
	{
		ArrayType  *values = DatumGetArrayTypeP(array->constvalue);

		return ArrayGetNItems(ARR_NDIM(values), ARR_DIMS(values)) / 2.0 + 0.5;
	}
	return 4;
}

static bool
add_ns(Node *node, double *ns)
{
	if (node == NULL || IsA(node, Aggref))
		return false;
	if (IsA(node, RestrictInfo))
		return add_ns((Node *) ((RestrictInfo *) node)->clause, ns);
	*ns += STEP_NS;
	switch (nodeTag(node))
	{
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				set_opfuncid(op);
				*ns += operator_ns(op->opfuncid, op->args, op->opresulttype);
				break;
			}
		case T_FuncExpr:
			{
				FuncExpr   *call = (FuncExpr *) node;

				*ns += operator_ns(call->funcid, call->args, call->funcresulttype);
				break;
			}
		case T_ScalarArrayOpExpr:
			{
				ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) node;

				set_sa_opfuncid(any);
				*ns += array_comparisons(any) * operator_ns(any->opfuncid, any->args, BOOLOID);
				break;
			}
		case T_SubPlan:
			{
				SubPlan    *plan = (SubPlan *) node;

				/* core's cost, for lack of the subquery's path */
				if (plan->useHashTable)
					*ns += HASHED_SUBPLAN_NS;
				else
					*ns += CPU_NS(plan->per_call_cost / GJ_NS_COST);
				return false;
			}
		default:
			break;
	}
	return expression_tree_walker(node, add_ns, ns);
}

double
gj_expression_ns(Node *node)
{
	double		ns = 0;

	(void) add_ns(node, &ns);
	return ns;
}

/* Adds a condition that is tested on so many rows, and drops those that fail. */
static void
add_condition(const RestrictInfo *rinfo, double row_ns, double *rows, double *ns)
{
	*ns += *rows * row_ns;
	if (rinfo->norm_selec >= 0)
		*rows *= Min(rinfo->norm_selec, 1);
}

double
gj_conditions_ns(const List *conditions)
{
	double		ns = 0;
	double		rows = 1;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);

		add_condition(rinfo, gj_expression_ns((Node *) rinfo->clause), &rows, &ns);
	}
	return ns;
}

/* A condition that the page feed tests itself. */
static double
page_condition_ns(const GjPageQual *qual)
{
	double		ns = qual->type == NUMERICOID ? PAGE_NUMERIC_NS : PAGE_INTEGER_NS;

	if (qual->test == GJ_TEST_IS_NULL || qual->test == GJ_TEST_IS_NOT_NULL)
		return PAGE_INTEGER_NS;
	if (is_text(qual->type))
		return PAGE_TEXT_NS;
	return qual->other != 0 || qual->array ? 2 * ns : ns;
}

/* The page feed tests its own conditions first. */
double
gj_page_conditions_ns(const List *conditions, double *by_row)
{
	double		ns = 0;
	double		rows = 1;
	bool		all = true;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		GjPageQual	qual;

		if (gj_page_qual(rinfo->clause, &qual))
			add_condition(rinfo, page_condition_ns(&qual), &rows, &ns);
		else
			all = false;
	}
	*by_row = 0;
	if (all)
		return ns;
	*by_row = rows * PAGE_EXPRESSION_NS;
	foreach(lc, conditions)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		GjPageQual	qual;

		if (!gj_page_qual(rinfo->clause, &qual))
			add_condition(rinfo, gj_expression_ns((Node *) rinfo->clause), &rows, by_row);
	}
	return ns + *by_row;
}

static double
transition_ns(const Aggref *agg)
{
	double		ns = gj_expression_ns((Node *) agg->args) +
		gj_expression_ns((Node *) agg->aggfilter);
	Oid			type = agg->aggargtypes == NIL ? InvalidOid : linitial_oid(agg->aggargtypes);

	if (agg->aggdistinct != NIL || agg->aggorder != NIL)
		ns += ORDERED_TRANSITION_NS;
	if (type == NUMERICOID)
		return ns + NUMERIC_TRANSITION_NS;
	return ns + (is_text(type) ? TEXT_NS : 0) + TRANSITION_NS;
}

double
gj_transitions_ns(const List *exprs)
{
	List	   *nodes = pull_var_clause((Node *) exprs, PVC_INCLUDE_AGGREGATES |
										PVC_RECURSE_WINDOWFUNCS | PVC_INCLUDE_PLACEHOLDERS);
	double		ns = 0;
	ListCell   *lc;
	ListCell   *other;

	foreach(lc, nodes)
	{
		const Aggref *agg = lfirst(lc);
		bool		shared = false;

		if (!IsA(agg, Aggref))
			continue;
		/* avg(x) and sum(x), or two sums of x, have one state */
		foreach(other, nodes)
		{
			const Aggref *before = lfirst(other);

			if (before == agg || shared)
				break;
			shared = IsA(before, Aggref) && before->aggtransno == agg->aggtransno;
		}
		if (!shared)
			ns += transition_ns(agg);
	}
	list_free(nodes);
	return ns;
}
