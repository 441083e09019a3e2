/*
 * plan/expr/limits.c - the size of the job's document.
 *
 * The daemon refuses documents that are nested too deeply or too long.  So the
 * planner computes both from the expressions that the document will consist of.
 */
#include "postgres.h"

#include "plan/expr/expr.h"

/* The daemon's limit, docs/job.md. */
#define MAX_LEVELS 256

/* The document, "static", and "root" enclose the joins. */
#define ENCLOSING_LEVELS 3

/* "keys": [{"left": {}}] */
#define KEYS_LEVELS 3

/* {"and": []} */
#define AND_LEVELS 2

/* The levels of a conjunction of the conditions; adds their other sizes to *size. */
static int
add_conditions(GjTreeSize *size, const List *conditions, const List *more)
{
	int			levels = 0;
	const List *lists[] = {conditions, more};

	for (int i = 0; i < (int) lengthof(lists); i++)
	{
		ListCell   *lc;

		foreach(lc, lists[i])
		{
			const GjCondition *condition = lfirst(lc);

			levels = Max(levels, condition->expr->levels);
			size->bytes += condition->expr->bytes;
			size->parameters += gj_count_parameters(condition->leaves);
		}
	}
	return levels + (list_length(conditions) + list_length(more) > 1 ? AND_LEVELS : 0);
}

/*
 * A join of trees of these sizes, with the tree's conditions, and the deferred ones
 * if the daemon evaluates them.
 */
static GjTreeSize
join_size(const GjTreeSize *left, const GjTreeSize *right, const GjTree *tree, const List *deferred)
{
	bool		inner = tree->kind == JOIN_INNER;
	GjTreeSize	size = {
		.bytes = left->bytes + right->bytes,
		.parameters = left->parameters + right->parameters,
	};
	int			residual = add_conditions(&size, tree->residual, inner ? deferred : NIL);
	int			filter = add_conditions(&size, tree->filter, inner ? NIL : deferred);

	size.levels = 1 + Max(Max(KEYS_LEVELS, residual), Max(left->levels, right->levels));
	if (filter > 0)
		size.levels = 1 + Max(size.levels, filter);
	return size;
}

/* As plan/join/joins.c describes the join and job/json.c writes it. */
void
gj_measure_tree(GjTree *tree)
{
	tree->size = join_size(&tree->left->size, &tree->right->size, tree, NIL);
	tree->whole_size = join_size(&tree->left->whole_size, &tree->right->whole_size, tree,
								 tree->shipped);
}

void
gj_add_above(GjTreeSize *size, int levels, int bytes)
{
	size->levels = 1 + Max(size->levels, levels);
	size->bytes += bytes;
}

bool
gj_size_fits(const GjTreeSize *size)
{
	return ENCLOSING_LEVELS + size->levels <= MAX_LEVELS &&
		size->bytes <= GJ_MAX_EXPRESSION_BYTES && size->parameters <= GJ_MAX_PARAMETERS;
}
