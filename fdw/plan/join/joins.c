/*
 * plan/join/joins.c - the joins of a job.
 *
 * Describes the joins of a tree with the positions of their keys, and with
 * their conditions as the daemon evaluates them.
 */
#include "postgres.h"

#include "optimizer/restrictinfo.h"

#include "plan/expr/translate.h"
#include "plan/filter/filter.h"
#include "plan/input/computed.h"
#include "plan/input/input.h"
#include "plan/join/join.h"
#include "plan/state.h"

/* A value, a key, and two of a numeric without a declared scale. */
#define GJ_FORMS_OF_A_COLUMN 4

static void
add_inputs(GjInputs *inputs, const GjTree *tree)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input;
	const GjSource *source = tree->source;
	const RangeTblEntry *rte;
	const GjBaserel *base;
	Plan	   *child;

	if (source == NULL)
	{
		add_inputs(inputs, tree->left);
		add_inputs(inputs, tree->right);
		return;
	}
	child = list_nth(inputs->children, plan->ninputs);
	input = &plan->inputs[plan->ninputs++];

	/*
	 * core may have added a node above the scan, which a page feed would skip
	 */
	input->feed = IsA(child, SeqScan) ? source->feed : GJ_FEED_CHILD;
	input->partial = source->partial;
	input->rti = source->rel->relid;
	rte = inputs->root->simple_rte_array[input->rti];
	if (rte->rtekind == RTE_RELATION)
		input->relid = rte->relid;
	else
		input->name = rte->eref->aliasname;
	gj_planned_twice(inputs->root, source->rel);
	input->rows = source->rel->rows;
	base = gj_base_slot(source->rel);
	input->columns = palloc0(GJ_FORMS_OF_A_COLUMN * (list_length(child->targetlist) + list_length(base->computed) + 1) *
							 sizeof(GjColumn));
}

/* The conditions as JSON; NULL after a defect. */
static char *
condition_json(GjInputs *inputs, const GjTree *tree, List *exprs)
{
	GjTranslator t = {
		.methods = &gj_translator_methods,
		.root = inputs->root,
		.inputs = inputs,
		.hidden = bms_union(tree->left->hidden, tree->right->hidden),
	};
	char	   *json = gj_translate_conditions(&t, exprs);

	if (json == NULL)
		gj_note_defect(&inputs->plan->defect, "the daemon cannot evaluate a condition");
	return json;
}

/* Adds the tree's joins in post-order, with the columns that they read. */
static void
add_joins(GjInputs *inputs, const GjTree *tree, bool whole)
{
	GjJoin	   *join;
	List	   *residual;
	List	   *filter;
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	add_joins(inputs, tree->left, whole);
	add_joins(inputs, tree->right, whole);

	residual = tree->residual;
	filter = tree->filter;
	if (whole)
	{
		List	   *deferred = extract_actual_clauses(tree->deferred, false);

		/* below an aggregation, what the backend would evaluate later */
		if (tree->kind == JOIN_INNER)
			residual = list_concat_copy(residual, deferred);
		else
			filter = list_concat_copy(filter, deferred);
	}

	join = &inputs->plan->joins[inputs->plan->njoins++];
	join->kind = tree->kind;
	join->rows = tree->rows;
	if (residual != NIL)
	{
		join->residual = condition_json(inputs, tree, residual);
		join->residual_exprs = (List *) gj_without_placeholders((Expr *) residual);
	}
	if (filter != NIL)
	{
		join->filter = condition_json(inputs, tree, filter);
		join->filter_exprs = (List *) gj_without_placeholders((Expr *) filter);
	}
	join->left_inputs = tree->left->ninputs;
	join->left = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->right = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->classes = palloc(list_length(tree->keys) * sizeof(GjKeyClass));
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjForm		left_form;
		GjForm		right_form;

		join->classes[join->nkeys] = gj_key_forms(key->kind, left, right, &left_form, &right_form);
		join->left[join->nkeys] = gj_need_column(inputs, left, left_form, true);
		join->right[join->nkeys] = gj_need_column(inputs, right, right_form, true);
		join->nkeys++;
	}
}

void
gj_add_tree(GjInputs *inputs, GjTree *tree, bool whole)
{
	add_inputs(inputs, tree);
	add_joins(inputs, tree, whole);
	gj_add_filters(inputs, tree);
}
