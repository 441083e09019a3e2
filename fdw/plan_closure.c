/*
 * plan_closure.c - which columns of a job tree can filter which.
 *
 * A row is dropped by a join that returns only rows with a partner, if its key
 * is not among those of the other side.  A key column of that side may equal
 * columns of other inputs below it, whose values are then a superset: all of
 * these can be sources.  In the same way, other columns of the row's own side
 * may equal its key: all of these can be targets.  The daemon checks each
 * filter by the same rules (joincore.CanFilter), and so a mistake here makes a
 * job fail and never changes a result.
 */
#include "postgres.h"

#include "plan_closure.h"
#include "plan_key_form.h"

/* Columns of a closure. */
typedef uint64 Columns;

StaticAssertDecl(GJ_CLOSURE_COLUMNS <= 64, "one bit for each column");

#define COLUMN(i) (UINT64CONST(1) << (i))

/* Position of a column; -1 if there are too many. */
static int
column_of(GjClosure *closure, const Var *var, GjForm form)
{
	for (int i = 0; i < closure->ncolumns; i++)
	{
		const GjKeyColumn *c = &closure->columns[i];

		if (c->var->varno == var->varno && c->var->varattno == var->varattno &&
			c->form == form)
			return i;
	}
	if (closure->ncolumns == GJ_CLOSURE_COLUMNS)
		return -1;
	closure->columns[closure->ncolumns] = (GjKeyColumn)
	{
		.var = var, .form = form
	};
	return closure->ncolumns++;
}

/* Can a feed test values that are fed in this form (feed_keys.c)? */
static bool
is_tested(GjForm form)
{
	return form == GJ_FORM_VALUE || form == GJ_FORM_DECIMAL;
}

static void
collect_pairs(GjClosure *closure, const GjCandidate *tree)
{
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	collect_pairs(closure, tree->left);
	collect_pairs(closure, tree->right);
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjKeyPair	pair = {.join = tree};
		GjForm		left_form;
		GjForm		right_form;

		if (gj_key_forms(key->kind, left, right, &left_form, &right_form) != GJ_CLASS_INT ||
			left_form != right_form || !is_tested(left_form) ||
			closure->npairs == GJ_CLOSURE_PAIRS)
			continue;
		pair.left = column_of(closure, left, left_form);
		pair.right = column_of(closure, right, right_form);
		if (pair.left >= 0 && pair.right >= 0)
			closure->pairs[closure->npairs++] = pair;
	}
}

/*
 * From a key of a join of this kind, which side leads to the other?  Upwards:
 * to columns whose value, or NULL, this column has in the same row.
 */
static void
leads_to_value(JoinType kind, bool *right, bool *left)
{
	*right = kind == JOIN_INNER;
	*left = kind == JOIN_INNER || kind == JOIN_LEFT;
}

/* To columns whose input has all values that this column has. */
static void
leads_to_superset(JoinType kind, bool *right, bool *left)
{
	*right = kind == JOIN_INNER || kind == JOIN_SEMI;
	*left = kind == JOIN_INNER || kind == JOIN_LEFT;
}

/* All columns that the keys of joins in the tree lead to from one of them. */
static Columns
reach(const GjClosure *closure, const GjCandidate *tree, int column,
	  void (*leads) (JoinType kind, bool *right, bool *left))
{
	Columns		reached = COLUMN(column);
	Columns		before;

	do
	{
		before = reached;
		for (int i = 0; i < closure->npairs; i++)
		{
			const GjKeyPair *pair = &closure->pairs[i];
			bool		right;
			bool		left;

			if (!bms_is_subset(pair->join->relids, tree->relids))
				continue;
			leads(pair->join->kind, &right, &left);
			if (right && (reached & COLUMN(pair->left)))
				reached |= COLUMN(pair->right);
			if (left && (reached & COLUMN(pair->right)))
				reached |= COLUMN(pair->left);
		}
	} while (reached != before);
	return reached;
}

/*
 * Does a row of the relation only ever lead to rows of the tree that contain
 * it?  Then the tree lacks just these without that row.
 */
static bool
passes_rows(const GjCandidate *tree, int relid)
{
	if (!bms_is_member(relid, tree->relids))
		return false;
	if (tree->source != NULL)
		return true;
	return (tree->kind != JOIN_FULL && passes_rows(tree->left, relid)) ||
		(tree->kind == JOIN_INNER && passes_rows(tree->right, relid));
}

static void
add_edge(GjClosure *closure, int source, int target)
{
	for (int i = 0; i < closure->nedges; i++)
		if (closure->edges[i].source == source && closure->edges[i].target == target)
			return;
	if (closure->nedges < GJ_CLOSURE_EDGES)
		closure->edges[closure->nedges++] = (GjEdge)
	{
		.source = source, .target = target
	};
}

/*
 * Adds the edges of a key of a join that drops rows of its side "from" without
 * a partner on its side "by".
 */
static void
add_edges(GjClosure *closure, const GjCandidate *from, int key,
		  const GjCandidate *by, int other)
{
	Columns		targets = reach(closure, from, key, leads_to_value);
	Columns		sources = reach(closure, by, other, leads_to_superset);

	for (int t = 0; t < closure->ncolumns; t++)
	{
		const GjKeyColumn *target = &closure->columns[t];

		if ((targets & COLUMN(t)) == 0 || !passes_rows(from, target->var->varno))
			continue;
		for (int s = 0; s < closure->ncolumns; s++)
			if ((sources & COLUMN(s)) != 0 && closure->columns[s].form == target->form)
				add_edge(closure, s, t);
	}
}

void
gj_find_edges(const GjCandidate *tree, GjClosure *closure)
{
	collect_pairs(closure, tree);
	for (int i = 0; i < closure->npairs; i++)
	{
		const GjKeyPair *pair = &closure->pairs[i];
		const GjCandidate *join = pair->join;

		if (join->kind == JOIN_INNER || join->kind == JOIN_SEMI)
			add_edges(closure, join->left, pair->left, join->right, pair->right);
		if (join->kind != JOIN_FULL)
			add_edges(closure, join->right, pair->right, join->left, pair->left);
	}
}
