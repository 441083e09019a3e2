/*
 * plan/cost/rows_input.c - rows of subqueries and CTEs that core underestimates.
 *
 * Joins in a subquery or CTE may be underestimated, and then so are its rows,
 * and those of the joins above that read them.
 */
#include "postgres.h"

#include "options.h"
#include "plan/cost/native.h"
#include "plan/cost/rows_input.h"
#include "plan/cost/rows_scan.h"

double
gj_rel_growth(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte = root->simple_rte_array[rel->relid];
	GjBaserel  *base = gj_base_slot(rel);
	GjTime		time;

	if (!gj_estimate_native || base == NULL || rel->pathlist == NIL ||
		(rte->rtekind != RTE_SUBQUERY && rte->rtekind != RTE_CTE))
		return gj_scan_growth(root, rel);
	if (base->growth == 0)
	{
		(void) gj_path_ns(root, linitial(rel->pathlist), &time);
		base->growth = Max(1, time.growth);
	}
	return base->growth;
}
