/*
 * plan/filter/legal.c - which columns of a job tree can filter which.
 *
 * A row is dropped by a join that returns only rows with a partner, if its key
 * is not among those of the other side.  A key column of that side may equal
 * columns of other inputs below it, whose values are then a superset: all of
 * these can be sources.  In the same way, other columns of the row's own side
 * may equal its key: all of these can be targets.  The daemon checks each
 * filter by the same rules (joincore.CanFilter), and so a mistake here makes a
 * job fail and never changes a result.
 *
 * A column is known by the form in which it is fed.  Columns that are equal by
 * way of others are so in their forms, whose bytes the daemon compares.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "plan/filter/filter.h"
#include "plan/join/join.h"

StaticAssertDecl(GJ_LEGAL_COLUMNS <= 64, "one bit for each column");

/* Position of a column; -1 if there are too many. */
static int
column_of(GjLegalFilters *legal, const Var *var, GjForm form)
{
	for (int i = 0; i < legal->ncolumns; i++)
	{
		const GjKeyColumn *c = &legal->columns[i];

		if (c->var->varno == var->varno && c->var->varattno == var->varattno &&
			c->form == form)
			return i;
	}
	if (legal->ncolumns == GJ_LEGAL_COLUMNS)
		return -1;
	legal->columns[legal->ncolumns] = (GjKeyColumn)
	{
		.var = var, .form = form
	};
	return legal->ncolumns++;
}

static void
collect_pairs(GjLegalFilters *legal, const GjTree *tree)
{
	int			left_begin = legal->npairs;
	int			right_begin;
	int			join_begin;
	ListCell   *lc;

	if (tree->source != NULL)
		return;
	collect_pairs(legal, tree->left);
	right_begin = legal->npairs;
	collect_pairs(legal, tree->right);
	join_begin = legal->npairs;
	foreach(lc, tree->keys)
	{
		const GjKey *key = lfirst(lc);
		const Var  *left = gj_equal_column(tree->left, key->left, key->kind);
		const Var  *right = gj_equal_column(tree->right, key->right, key->kind);
		GjKeyPair	pair = {
			.join = tree,
			.left_begin = left_begin,
			.right_begin = right_begin,
			.join_begin = join_begin,
		};
		GjForm		left_form;
		GjForm		right_form;

		if (legal->npairs == GJ_LEGAL_PAIRS)
			continue;
		(void) gj_key_forms(key->kind, left, right, &left_form, &right_form);
		pair.left = column_of(legal, left, left_form);
		pair.right = column_of(legal, right, right_form);
		if (pair.left >= 0 && pair.right >= 0)
			legal->pairs[legal->npairs++] = pair;
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

/* All columns that the keys of some joins lead to from one of them. */
static GjColumnSet
reach(const GjLegalFilters *legal, int begin, int end, int column,
	  void (*leads) (JoinType kind, bool *right, bool *left))
{
	GjColumnSet reached = GJ_COLUMN_BIT(column);
	GjColumnSet before = 0;

	while (begin < end && reached != before)
	{
		before = reached;
		for (int i = begin; i < end; i++)
		{
			const GjKeyPair *pair = &legal->pairs[i];
			bool		right;
			bool		left;

			leads(pair->join->kind, &right, &left);
			if (right && (reached & GJ_COLUMN_BIT(pair->left)))
				reached |= GJ_COLUMN_BIT(pair->right);
			if (left && (reached & GJ_COLUMN_BIT(pair->right)))
				reached |= GJ_COLUMN_BIT(pair->left);
		}
	}
	return reached;
}

/*
 * Does a row of the relation only ever lead to rows of the tree that contain
 * it?  Then the tree lacks just these without that row.
 */
static bool
passes_rows(const GjTree *tree, int relid)
{
	if (!bms_is_member(relid, tree->relids))
		return false;
	if (tree->source != NULL)
		return true;
	return (tree->kind != JOIN_FULL && passes_rows(tree->left, relid)) ||
		(tree->kind == JOIN_INNER && passes_rows(tree->right, relid));
}

/*
 * Adds what follows from a key of a join that drops rows of its side "from", of
 * columns "targets", without a partner on its other side, of columns "sources".
 */
static void
add_sources(GjLegalFilters *legal, const GjTree *from, GjColumnSet targets,
			GjColumnSet sources)
{
	for (; targets != 0; targets &= targets - 1)
	{
		GjKeyColumn *target = &legal->columns[pg_rightmost_one_pos64(targets)];

		if (!passes_rows(from, target->var->varno))
			continue;
		target->sources |= sources;
	}
}

static GjColumnSet
reach_left(const GjLegalFilters *legal, const GjKeyPair *pair,
		   void (*leads) (JoinType kind, bool *right, bool *left))
{
	return reach(legal, pair->left_begin, pair->right_begin, pair->left, leads);
}

static GjColumnSet
reach_right(const GjLegalFilters *legal, const GjKeyPair *pair,
			void (*leads) (JoinType kind, bool *right, bool *left))
{
	return reach(legal, pair->right_begin, pair->join_begin, pair->right, leads);
}

void
gj_find_sources(const GjTree *tree, GjLegalFilters *legal)
{
	collect_pairs(legal, tree);
	for (int i = 0; i < legal->npairs; i++)
	{
		const GjKeyPair *pair = &legal->pairs[i];
		const GjTree *join = pair->join;

		if (join->kind == JOIN_INNER || join->kind == JOIN_SEMI)
			add_sources(legal, join->left, reach_left(legal, pair, leads_to_value),
						reach_right(legal, pair, leads_to_superset));
		if (join->kind != JOIN_FULL)
			add_sources(legal, join->right, reach_right(legal, pair, leads_to_value),
						reach_left(legal, pair, leads_to_superset));
	}
}
