/*
 * plan/cost/rows_scan.c - scans of groups and CTEs, of whose columns core has no
 * statistics, and of functions.
 */
#include "postgres.h"

#include <math.h>

#include "plan/cost/rows_scan.h"

bool
gj_lacks_statistics(PlannerInfo *root, const RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	const Query *query = rte->subquery;

	if (rte->rtekind == RTE_CTE)
		return true;
	return rte->rtekind == RTE_SUBQUERY &&
		(query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
		 query->distinctClause != NIL || query->setOperations != NULL);
}

/*
 * A library that knows how many rows a function returns may say so in the
 * function's path only.
 */
static double
function_growth(const RelOptInfo *rel)
{
	double		rows = rel->rows;
	ListCell   *lc;

	if (rel->rtekind != RTE_FUNCTION)
		return 1;
	foreach(lc, rel->pathlist)
	{
		const Path *path = lfirst(lc);

		if (path->param_info == NULL)
			rows = Max(rows, path->rows);
	}
	return rows / Max(rel->rows, 1);
}

/* core expects that one row in 200 has a value, of several columns one in 40000. */
double
gj_scan_growth(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind != RELOPT_BASEREL)
		return 1;
	if (rel->baserestrictinfo == NIL || !gj_lacks_statistics(root, rel))
		return function_growth(rel);
	return Max(1, sqrt(rel->tuples / Max(rel->rows, 1)));
}

double
gj_rows_read(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind == RELOPT_BASEREL && gj_lacks_statistics(root, rel))
		return Max(rel->rows, rel->tuples);
	return rel->rows;
}
