/*
 * plan/input/kept.c - which inputs of a job the daemon may keep.
 *
 * The daemon keeps columns of whole blocks, with all their rows, and evaluates the
 * table's conditions itself.  So each condition must have a form in which the daemon
 * evaluates it, and the columns that only conditions read become hidden columns
 * behind the fed ones.  An input without such a form is fed, as are all inputs whose
 * blocks the daemon does not keep: the feed evaluates the conditions in any case.
 *
 * This takes place when the plan of a job is made, not for its paths.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "job/page_qual.h"
#include "options.h"
#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"

/*
 * Of the conditions of a job.  With the expressions of its tree, of
 * GJ_MAX_EXPRESSION_BYTES, they stay below the daemon's limits of a document.
 */
#define MAX_CONDITION_BYTES (64 * 1024)

/* A hidden column that is only tested for NULL has no longer values on average. */
#define MAX_TESTED_WIDTH 64

/* Can it be proved that blocks of the table have not changed? */
static bool
is_provable(Relation relation)
{
	return relation->rd_rel->relam == HEAP_TABLE_AM_OID &&
		(relation->rd_rel->relkind == RELKIND_RELATION || relation->rd_rel->relkind == RELKIND_MATVIEW) &&
		relation->rd_rel->relpersistence == RELPERSISTENCE_PERMANENT &&
		RelationNeedsWAL(relation) && !IsSystemRelation(relation);
}

/* ---- conditions ---- */

static bool
reads_subquery(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, reads_subquery, context);
}

/*
 * A job's parameters are evaluated when it starts.  The result of a subquery may be
 * an error that the feed does not meet, unless it needs the value then, too.
 */
static bool
may_start(Expr *clause)
{
	GjPageQual	qual;

	return !reads_subquery((Node *) clause, NULL) || gj_page_qual(clause, &qual);
}

static bool
may_all_start(const List *quals)
{
	ListCell   *lc;

	foreach(lc, quals)
		if (!may_start(lfirst(lc)))
			return false;
	return true;
}

/* ---- the columns that they read ---- */

/* Is a value of the table stored out of line? */
static bool
has_long_values(Oid relid)
{
	Relation	relation = table_open(relid, NoLock);	/* locked for the query */
	bool		found = false;

	if (OidIsValid(relation->rd_rel->reltoastrelid))
	{
		Relation	toast = table_open(relation->rd_rel->reltoastrelid, AccessShareLock);

		found = RelationGetNumberOfBlocks(toast) > 0;
		table_close(toast, AccessShareLock);
	}
	table_close(relation, NoLock);
	return found;
}

/*
 * May a value be too long for a batch?  The daemon does not read such values, which
 * lie elsewhere.  They are not expected of a type with a limit, nor if no value of the
 * table is stored out of line.
 */
static bool
may_be_long(const List *relids, const Var *var)
{
	int32		typmod = var->vartypmod;
	Oid			type = getBaseTypeAndTypmod(var->vartype, &typmod);
	int			most = type_maximum_size(type, typmod);
	ListCell   *lc;

	if (most > 0 && most <= BLCKSZ)
		return false;
	foreach(lc, relids)
		if (has_long_values(lfirst_oid(lc)))
			return true;
	return false;
}

/* Can the column be read, as a fed one or as a hidden one? */
static bool
is_readable(GjInputs *inputs, const GjInput *input, const List *relids, const GjLeaf *leaf)
{
	int			found = gj_find_stored(input, leaf);
	GjColumn	column = {0};

	if ((Index) leaf->var->varno != input->rti)
		return false;
	if (found >= 0)
		column = input->columns[found];
	else
		gj_describe_column(inputs, leaf->var, leaf->form, &column);
	if (column.encoding == GJ_ENC_VARLENA && leaf->is_key && !column.is_key)
		return !may_be_long(relids, leaf->var);

	/* feeding an unscaled numeric may fail, and would because of a mere condition */
	return found >= 0 ||
		(leaf->form != GJ_FORM_UNSCALED && leaf->form != GJ_FORM_SCALE &&
		 (leaf->is_key || column.avg_width <= MAX_TESTED_WIDTH));
}

static bool
are_readable(GjInputs *inputs, const GjInput *input, const List *relids, const List *leaves)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		const GjLeaf *leaf = lfirst(lc);

		if (leaf->parameter == NULL && !is_readable(inputs, input, relids, leaf))
			return false;
	}
	return input->ncolumns + list_length(leaves) <= GJ_MAX_COLUMNS &&
		inputs->plan->nparameters + gj_count_parameters(leaves) <= GJ_MAX_PARAMETERS;
}

/* ---- what could be kept ---- */

/* A smaller table is read in a few milliseconds. */
#define LEAST_PROMISED_BLOCKS 1024

/* Has each column that the query reads a form that can be kept? */
static bool
are_columns_short(RelOptInfo *rel, Oid relid)
{
	List	   *relids = list_make1_oid(relid);
	List	   *exprs = list_concat_copy(rel->reltarget->exprs,
										 extract_actual_clauses(rel->baserestrictinfo, false));
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) exprs, PVC_RECURSE_PLACEHOLDERS))
	{
		const Var  *var = lfirst_node(Var, lc);
		GjColumn	column = {0};

		if (!gj_describe_payload(var->vartype, var->vartypmod, &column) ||
			(column.encoding == GJ_ENC_VARLENA && may_be_long(relids, var)))
			return false;
	}
	return true;
}

double
gj_promised_kept(PlannerInfo *root, RelOptInfo *rel, Relation relation)
{
	GjTableFile file;

	if (rel->pages < LEAST_PROMISED_BLOCKS || rel->allvisfrac <= 0 || !is_provable(relation) ||
		!are_columns_short(rel, RelationGetRelid(relation)))
		return 0;
	gj_relation_file(relation, &file.tablespace, &file.database, &file.number);
	return gj_kept_refused(&gj_query_daemon(gj_query(root))->load, &file) ? 0 : rel->allvisfrac;
}

/* ---- inputs ---- */

/*
 * The tables whose rows a relation has.  NIL: of none it can be proved that blocks have not
 * changed.
 */
static List *
tables_of(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *tables = gj_base_slot(rel)->tables;
	List	   *relids = NIL;
	bool		any = false;
	ListCell   *lc;

	foreach(lc, tables != NIL ? tables : list_make1(rel))
	{
		Oid			relid = root->simple_rte_array[((RelOptInfo *) lfirst(lc))->relid]->relid;
		Relation	relation = table_open(relid, NoLock);	/* locked for the query */

		any = any || is_provable(relation);
		relids = lappend_oid(relids, relid);
		table_close(relation, NoLock);
	}
	return any ? relids : NIL;
}

/* The conditions of an input; those of a table are in the order in which they are evaluated. */
static List *
conditions_of(const GjInputs *inputs, int i, const RelOptInfo *rel)
{
	const Plan *child = list_nth(inputs->children, i);

	return IsA(child, SeqScan) ? child->qual :
		extract_actual_clauses(rel->baserestrictinfo, false);
}

/*
 * Makes an input of these tables with these conditions keepable, if it can be.  *bytes: of
 * all conditions, so far.
 */
static void
add_kept_form(GjInputs *inputs, int i, const List *relids, const List *quals, int *bytes)
{
	GjInput    *input = &inputs->plan->inputs[i];
	GjTranslator t = {.root = inputs->root, .kept = true};
	GjExpr	   *condition;

	if (quals == NIL)
	{
		input->keepable = true;
		return;
	}
	condition = may_all_start(quals) ? gj_translate_conditions(&t, quals) : NULL;

	/* an aggregate has read all rows before its first one */
	if (condition == NULL || (condition->can_fail && inputs->plan->aggregate == NULL) ||
		condition->levels > GJ_MAX_CONDITION_LEVELS || *bytes + condition->bytes > MAX_CONDITION_BYTES ||
		!are_readable(inputs, input, relids, t.leaves))
		return;
	gj_place_conditions(inputs, i, t.leaves);
	input->condition = gj_write_expr(condition);
	input->keepable = true;
	*bytes += condition->bytes;
}

void
gj_add_kept_forms(GjInputs *inputs)
{
	GjPlan	   *plan = inputs->plan;
	int			bytes = 0;

	plan->plain_parameters = plan->nparameters;
	if (gj_keep == GJ_KEEP_OFF)
		return;
	for (int i = 0; i < plan->ninputs; i++)
	{
		RelOptInfo *rel;
		List	   *relids;

		if (plan->inputs[i].feed != GJ_FEED_PAGE)
			continue;
		rel = find_base_rel(inputs->root, plan->inputs[i].rti);
		relids = tables_of(inputs->root, rel);
		if (relids != NIL)
			add_kept_form(inputs, i, relids, conditions_of(inputs, i, rel), &bytes);
	}
}
