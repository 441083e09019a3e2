/*
 * plan_surplus_scan.c - scans of groups and CTEs, of whose columns core has no
 * statistics.
 */
#include "postgres.h"

#include <math.h>

#include "plan_surplus_scan.h"

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

/* core expects that one row in 200 has a value, of several columns one in 40000. */
double
gj_scan_surplus(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind != RELOPT_BASEREL || rel->baserestrictinfo == NIL ||
		!gj_lacks_statistics(root, rel))
		return 1;
	return Max(1, sqrt(rel->tuples / Max(rel->rows, 1)));
}

double
gj_rows_read(PlannerInfo *root, const RelOptInfo *rel)
{
	if (rel->reloptkind == RELOPT_BASEREL && gj_lacks_statistics(root, rel))
		return Max(rel->rows, rel->tuples);
	return rel->rows;
}
