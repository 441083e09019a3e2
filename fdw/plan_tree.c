/*
 * plan_tree.c - the joins of a job.
 *
 * Describes the joins of a tree with the positions of their keys, and with
 * their conditions as the daemon evaluates them.
 */
#include "postgres.h"

#include "optimizer/restrictinfo.h"

#include "plan_computed.h"
#include "plan_subquery.h"
#include "plan_tree.h"
#include "plan_value.h"

static void
add_inputs(GjInputs *inputs, const GjCandidate *tree)
{
	GjPlan	   *plan = inputs->plan;
	GjInput    *input;
	const GjSource *source = tree->source;
	const RangeTblEntry *rte;
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
	input->columns = palloc0(2 * (list_length(child->targetlist) + 1) * sizeof(GjColumn));
}

/* Decides how both sides of a key are carried and compared. */
static GjKeyClass
key_form(GjKeyKind kind, const Var *left_var, const Var *right_var, GjForm *form)
{
	int			left;
	int			right;

	*form = GJ_FORM_VALUE;
	switch (kind)
	{
		case GJ_KEY_INT:
			return GJ_CLASS_INT;
		case GJ_KEY_BYTES:
			return GJ_CLASS_BYTES;
		case GJ_KEY_BPCHAR:
			*form = GJ_FORM_BPCHAR_KEY;
			return GJ_CLASS_VARLENA;
		case GJ_KEY_NUMERIC:
			if (gj_decimal_scale(left_var->vartype, left_var->vartypmod, &left) &&
				gj_decimal_scale(right_var->vartype, right_var->vartypmod, &right) &&
				left == right)
			{
				*form = GJ_FORM_DECIMAL;
				return GJ_CLASS_INT;
			}
			*form = GJ_FORM_NUMERIC_KEY;
			return GJ_CLASS_VARLENA;
		case GJ_KEY_TEXT:
			break;
	}
	return GJ_CLASS_VARLENA;
}

/* The conditions as JSON; NULL: none. */
static char *
condition_json(GjInputs *inputs, const GjCandidate *tree, List *exprs)
{
	GjTranslator t = {
		.methods = &gj_translator_methods,
		.root = inputs->root,
		.inputs = inputs,
		.hidden = bms_union(tree->left->hidden, tree->right->hidden),
	};
	char	   *json = exprs == NIL ? NULL : gj_translate_conditions(&t, exprs);

	if (exprs != NIL && json == NULL)
		elog(ERROR, "a condition of a job cannot be evaluated by the daemon");
	return json;
}

/* Adds the tree's joins in post-order, with the columns that they read. */
static void
add_joins(GjInputs *inputs, const GjCandidate *tree, bool whole)
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
	join->residual = condition_json(inputs, tree, residual);
	join->residual_exprs = (List *) gj_without_placeholders((Expr *) residual);
	join->filter = condition_json(inputs, tree, filter);
	join->filter_exprs = (List *) gj_without_placeholders((Expr *) filter);
	join->left_inputs = tree->left->ninputs;
	join->left = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->right = palloc(list_length(tree->keys) * sizeof(GjOutput));
	join->classes = palloc(list_length(tree->keys) * sizeof(GjKeyClass));
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjForm		form;

		join->classes[join->nkeys] = key_form(key->kind, left, right, &form);
		join->left[join->nkeys] = gj_need_column(inputs, left, form, true);
		join->right[join->nkeys] = gj_need_column(inputs, right, form, true);
		join->nkeys++;
	}
}

void
gj_add_tree(GjInputs *inputs, const GjCandidate *tree, bool whole)
{
	add_inputs(inputs, tree);
	add_joins(inputs, tree, whole);
}
