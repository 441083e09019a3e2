/*
 * plan/block/display_scale.h - which one of equal numerics PostgreSQL shows.
 *
 * 1.0 and 1.00 are equal and look different.  Of such values PostgreSQL shows
 * one that depends on the order of the rows.  A check of the groups ends the
 * job before its first row if there is more than one to choose from.
 */
#ifndef PLAN_BLOCK_DISPLAY_SCALE_H
#define PLAN_BLOCK_DISPLAY_SCALE_H

#include "plan/block/column.h"

/* Two columns of the daemon's result that must agree. */
typedef struct GjCheck
{
	int			first;
	int			second;
	bool		packed;			/* extremes of both ways to pack, else integers */
	int			key;			/* column; where it is NULL, nothing is shown; or -1 */
} GjCheck;

/*
 * The column with the least or greatest display scale of the values that are
 * not NULL, by the function's name.
 */
extern int	gj_scale_column(GjAggregation *a, const char *name, const GjValueJson *arg,
							const char *filter);

/*
 * A value and its display scale as one integer, so that values are compared
 * first.  operator: '+' or '-'; of values that are equal, the order by scale
 * is then ascending or descending.
 */
extern char *gj_packed(const GjValueJson *arg, char operator);

/*
 * Adds a check of the looks of an expression.  Returns false if it would
 * probably fail, unless joins are forced.
 */
extern bool gj_add_check(GjAggregation *a, GjCheck check, const Expr *expr);

/*
 * The condition of all checks on the result, which is the daemon's input of
 * this number.  It is true or an arithmetic error.  NULL: there is no check.
 */
extern char *gj_check_text(const GjAggregation *a, int input);

/* Does anything above the aggregation depend on how this key looks? */
extern bool gj_is_shown(const PlannerInfo *root, const List *having, const Expr *key);

#endif							/* PLAN_BLOCK_DISPLAY_SCALE_H */
