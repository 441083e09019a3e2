/*
 * plan/input/mirror.c - which foreign tables are inputs that nobody feeds.
 *
 * The daemon has the rows of a foreign table, in a mirror or as it reads them from
 * the other server, and evaluates the table's conditions.  So each of these must have
 * a form in which it does, and all columns must have types of which it makes payloads.
 * Other foreign tables are fed by their scan, as subqueries are.
 *
 * This is decided when a table's path is chosen.  What the conditions read is known when
 * the plan is made.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"

#include "plan/cost/cost.h"
#include "plan/expr/expr.h"
#include "plan/input/input.h"
#include "source/source.h"

/* Does the daemon make payloads of all columns that are read? */
static bool
are_encoded(const List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
		if (!IsA(lfirst(lc), Var) || !gj_is_encoded(lfirst_node(Var, lc)->vartype))
			return false;
	return true;
}

static bool
are_leaves_encoded(const List *leaves, const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, leaves)
	{
		const GjLeaf *leaf = lfirst(lc);

		if (leaf->parameter == NULL &&
			((Index) leaf->var->varno != rel->relid || leaf->var->varattno > rel->max_attr ||
			 !gj_is_encoded(leaf->var->vartype)))
			return false;
	}
	return true;
}

/*
 * Translates the table's conditions.  Returns false if the daemon cannot evaluate them;
 * *condition is NULL if there are none.  An arithmetic error ends the job, and must not
 * tell of rows that security conditions hide.
 */
static bool
translate(PlannerInfo *root, RelOptInfo *rel, bool aggregates, GjTranslator *t, GjExpr **condition)
{
	bool		secured = root->simple_rte_array[rel->relid]->securityQuals != NIL;

	*t = (GjTranslator)
	{
		.root = root, .kept = true
	};
	*condition = NULL;
	if (rel->baserestrictinfo == NIL)
		return true;
	*condition = gj_translate_conditions(t, extract_actual_clauses(rel->baserestrictinfo, false));
	return *condition != NULL && (!(*condition)->can_fail || (aggregates && !secured)) &&
		(*condition)->levels <= GJ_MAX_CONDITION_LEVELS && are_leaves_encoded(t->leaves, rel);
}

/* ---- paths ---- */

/* core puts a node above the scan for conditions that read no table. */
static bool
has_pseudoconstant(const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	return false;
}

void
gj_offer_mirror(PlannerInfo *root, RelOptInfo *rel, const GjBaserel *base, GjSource *source,
				GjTreeSize *size)
{
	const struct gj_status *status;
	bool		aggregates = root->parse->hasAggs || root->parse->groupClause != NIL;
	GjTranslator t;
	GjExpr	   *condition;

	if (source->path == NULL || !IsA(source->path, ForeignPath) || !gj_is_mirrored(rel) ||
		root->simple_rte_array[rel->relid]->inh || base->computed != NIL ||
		has_pseudoconstant(rel) || !are_encoded(rel->reltarget->exprs) ||
		!translate(root, rel, aggregates, &t, &condition))
		return;
	status = gj_query_daemon(gj_query(root));
	if (status == NULL)
		return;
	if (condition != NULL)
	{
		size->bytes = condition->bytes;
		size->parameters = gj_count_parameters(t.leaves);
	}
	source->feed = GJ_FEED_MIRROR;
	source->tuples = Max(rel->tuples, rel->rows);
	source->fed = 0;
	source->scan_cost = 0;
	source->cost = gj_kept_cost(status, rel, source->tuples);
	source->disabled = 0;
}

/* ---- plan ---- */

/* Names the columns of a complete input. */
static GjMirror *
make_mirror(const RelOptInfo *rel, const GjInput *input)
{
	int			ncolumns = input->ncolumns + input->nhidden;
	GjMirror   *mirror = palloc0(sizeof(GjMirror));

	mirror->serverid = rel->serverid;
	mirror->userid = rel->userid;
	mirror->table = gj_remote_name(input->relid, &mirror->schema);
	mirror->columns = palloc(ncolumns * sizeof(char *));
	mirror->text = palloc0(ncolumns * sizeof(bool));
	for (int i = 0; i < ncolumns; i++)
		mirror->columns[i] = gj_remote_column(input->relid, input->columns[i].attnum);
	return mirror;
}

static bool
has_computed(const GjInput *input)
{
	for (int i = 0; i < input->ncolumns; i++)
		if (input->columns[i].computed != NULL)
			return true;
	return false;
}

/* Adds what the daemon needs.  Returns false if the input cannot be a mirror. */
static bool
complete(GjInputs *inputs, int i)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input = &plan->inputs[i];
	RelOptInfo *rel = find_base_rel(inputs->root, input->rti);
	GjTranslator t;
	GjExpr	   *condition;

	if (has_computed(input) ||
		!translate(inputs->root, rel, plan->aggregate != NULL, &t, &condition) ||
		input->ncolumns + list_length(t.leaves) > GJ_MAX_COLUMNS ||
		plan->nparameters + gj_count_parameters(t.leaves) > GJ_MAX_PARAMETERS)
		return false;
	if (condition != NULL)
	{
		gj_place_conditions(inputs, i, t.leaves);
		input->condition = gj_write_expr(condition);
	}
	input->mirror = make_mirror(rel, input);
	return true;
}

/* The columns of a mirror need not be in the child's target list, those that it feeds do. */
static void
feed_from_child(GjInputs *inputs, GjInput *input)
{
	input->feed = GJ_FEED_CHILD;
	for (int i = 0; i < input->ncolumns; i++)
		if (input->columns[i].resno == 0)
			gj_note_defect(&inputs->plan->defect, "the scan of a foreign table lacks column %d",
						   input->columns[i].attnum);
}

void
gj_add_mirrors(GjInputs *inputs)
{
	for (int i = 0; i < inputs->plan->ninputs; i++)
	{
		GjInput    *input = &inputs->plan->inputs[i];

		if (input->feed == GJ_FEED_MIRROR && !complete(inputs, i))
			feed_from_child(inputs, input);
	}
}
