/*
 * plan/cost/kept.c - which part of a table the daemon is expected to have already, and
 * what the table's conditions cost there.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "compat.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/cost/rates.h"
#include "plan/expr/expr.h"

/* Has each condition a form that the daemon evaluates?  Else it cannot serve the table. */
static bool
are_conditions_known(PlannerInfo *root, const RelOptInfo *rel)
{
	bool		aggregates = root->parse->hasAggs || root->parse->groupClause != NIL;
	GjTranslator t = {.root = root, .kept = true};
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		GjExpr	   *condition = gj_translate_condition(&t, lfirst_node(RestrictInfo, lc)->clause);

		if (condition == NULL || (condition->can_fail && !aggregates))
			return false;
	}
	return true;
}

bool
gj_may_be_served(PlannerInfo *root, const RelOptInfo *rel)
{
	const struct gj_status *status;

	if (gj_keep == GJ_KEEP_OFF)
		return false;
	status = gj_query_daemon(gj_query(root));
	return status != NULL && status->load.kept != 0 && are_conditions_known(root, rel);
}

/*
 * The daemon does not know how far a table has grown since it was last read.  What is
 * new is not all-visible before VACUUM, which says how much is.  0: COPY FREEZE does not.
 */
static double
all_visible_share(const RelOptInfo *rel)
{
	return rel->allvisfrac > 0 ? rel->allvisfrac : 1;
}

double
gj_expected_kept(PlannerInfo *root, RelOptInfo *rel, Relation relation)
{
	Bitmapset  *read = NULL;
	GjTableFile file;
	double		share;

	if (rel->pages < GJ_LEAST_KEPT_BLOCKS)
		return 0;
	gj_relation_file(relation, &file.tablespace, &file.database, &file.number);
	pull_varattnos((Node *) rel->reltarget->exprs, rel->relid, &read);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rel->relid, &read);
	share = gj_kept_share(&gj_query_daemon(gj_query(root))->load, &file, read);
	bms_free(read);
	return Min(share, all_visible_share(rel));
}

/* ---- what conditions cost ---- */

/* Of a condition within AND or OR, of which nothing more is known. */
#define PASSING 0.5

static bool
is_text(Node *operand)
{
	Oid			type = getBaseType(exprType(operand));

	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID;
}

/* Does a condition read bytes that lie elsewhere? */
static bool
reads_texts(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return is_text(node);
	return expression_tree_walker(node, reads_texts, context);
}

/* ns of the functions and operators that compute a value. */
static bool
add_value_ns(Node *node, void *context)
{
	double	   *ns = context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) || IsA(node, OpExpr))
		*ns += KEPT_CALL_NS;
	return expression_tree_walker(node, add_value_ns, context);
}

static double
like_ns(Node *pattern)
{
	const Const *constant = (const Const *) pattern;

	if (!IsA(pattern, Const) || constant->constisnull || constant->consttype != TEXTOID)
		return KEPT_LIKE_NS;
	return *TextDatumGetCString(constant->constvalue) == '%' ? KEPT_LIKE_NS : KEPT_PREFIX_NS;
}

static double
comparison_ns(const struct gj_status *status, OpExpr *op)
{
	set_opfuncid(op);
	switch (op->opfuncid)
	{
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
			return like_ns(lsecond(op->args));
	}
	return is_text(linitial(op->args)) ? KEPT_TEXT_NS : status->condition_ns;
}

static double conditions_ns(const struct gj_status *status, const List *conditions);

/* ns of one condition on a row. */
static double
condition_ns(const struct gj_status *status, Node *node)
{
	double		ns = status->condition_ns;

	switch (nodeTag(node))
	{
		case T_RestrictInfo:
			return condition_ns(status, (Node *) ((RestrictInfo *) node)->clause);
		case T_BoolExpr:
			return conditions_ns(status, ((BoolExpr *) node)->args);
		case T_OpExpr:
			ns = comparison_ns(status, (OpExpr *) node);
			(void) add_value_ns((Node *) ((OpExpr *) node)->args, &ns);
			return ns;
		case T_ScalarArrayOpExpr:
			{
				List	   *args = ((ScalarArrayOpExpr *) node)->args;

				ns = is_text(linitial(args)) ? KEPT_TEXT_LIST_NS : KEPT_LIST_NS;
				(void) add_value_ns((Node *) args, &ns);
				return ns;
			}
		default:
			(void) add_value_ns(node, &ns);
			return ns;
	}
}

/* Arguments of AND or OR: those that read no texts come first, and leave fewer rows. */
static double
conditions_ns(const struct gj_status *status, const List *conditions)
{
	double		ns = 0;
	double		rows = 1;
	ListCell   *lc;

	for (int texts = 0; texts < 2; texts++)
		foreach(lc, conditions)
		{
			Node	   *node = lfirst(lc);
			const RestrictInfo *rinfo = (const RestrictInfo *) node;

			if (reads_texts(IsA(node, RestrictInfo) ? (Node *) rinfo->clause : node, NULL) != texts)
				continue;
			ns += rows * (condition_ns(status, node) + (ns > 0 ? KEPT_FURTHER_NS : 0));
			rows *= IsA(node, RestrictInfo) && rinfo->norm_selec >= 0 ? Min(rinfo->norm_selec, 1) : PASSING;
		}
	return ns;
}

double
gj_kept_conditions_ns(const struct gj_status *status, const List *conditions)
{
	return conditions == NIL ? 0 : KEPT_ROW_NS + conditions_ns(status, conditions);
}
