/*
 * plan_clauses.h - divides a join's conditions between daemon and backend.
 */
#ifndef GPUJOIN_PLAN_CLAUSES_H
#define GPUJOIN_PLAN_CLAUSES_H

#include "plan_operators.h"
#include "plan_reject.h"

/* One equality that the daemon joins on. */
typedef struct GjKey
{
	GjKeyKind	kind;
	Var		   *left;			/* below the join's left side */
	Var		   *right;
} GjKey;

typedef struct GjClauses
{
	List	   *keys;			/* of GjKey, never empty */
	List	   *residual;		/* RestrictInfos for plan.qual */
	double		selectivity;	/* of residual */
} GjClauses;

/*
 * Divides the restrictlist of an inner join.  secured tells that some table
 * below it has security quals.
 */
extern GjReject gj_split_clauses(PlannerInfo *root, List *restrictlist,
								 SpecialJoinInfo *sjinfo,
								 Relids left, Relids right, bool secured,
								 GjClauses *clauses);

#endif							/* GPUJOIN_PLAN_CLAUSES_H */
