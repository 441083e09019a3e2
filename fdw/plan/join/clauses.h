/*
 * plan/join/clauses.h - divides a join's conditions between daemon and backend.
 */
#ifndef PLAN_JOIN_CLAUSES_H
#define PLAN_JOIN_CLAUSES_H

#include "postgres.h"

#include "job/job.h"
#include "plan/rejected/reasons.h"

/* ---- equality operators that the daemon can evaluate ---- */

/* How the two sides of a key are made comparable. */
typedef enum GjKeyKind
{
	GJ_KEY_INT,					/* by value, across widths */
	GJ_KEY_BYTES,				/* by bytes; fixed columns of one width */
	GJ_KEY_VARLENA,				/* by the bytes of varlena */
	GJ_KEY_TEXT,				/* the same, under deterministic collations */
	GJ_KEY_NAME,				/* name with name or text, in the same way */
	GJ_KEY_BPCHAR,				/* the same without trailing blanks */
	GJ_KEY_NUMERIC,				/* as scaled integers, or by canonical varlena */
	GJ_KEY_FLOAT,				/* -0 equals 0, and NaN equals NaN */
	GJ_KEY_TIMESTAMP,			/* timestamp with date */
	GJ_KEY_INTERVAL,			/* by span */
	GJ_KEY_KINDS
} GjKeyKind;

/*
 * Do values that are equal under operators of this kind, and are of one type,
 * have the same bytes?
 */
extern bool gj_equal_by_bytes(GjKeyKind kind);

typedef struct GjOperator
{
	Oid			opno;			/* pg_operator.dat */
	int			left;			/* bytes of the operand's type; -1: varlena */
	int			right;
	GjKeyKind	kind;
} GjOperator;

/* Returns NULL if the operator is not supported under this collation. */
extern const GjOperator *gj_find_operator(Oid opno, Oid collation);

/* ---- clauses ---- */

/* One equality that the daemon joins on. */
typedef struct GjKey
{
	GjKeyKind	kind;
	Var		   *left;			/* below the join's left side */
	Var		   *right;
} GjKey;

/* The two relations of a join, and core's conditions for joining them. */
typedef struct GjPair
{
	JoinType	kind;			/* inner, left, full, semi or anti */
	Relids		left;			/* left, semi and anti keep this side */
	Relids		right;
	Relids		hidden;			/* tables whose columns no tree of this pair
								 * delivers: below it they end at a semi or
								 * anti join */
	Relids		joined;			/* of the joinrel */
	List	   *restrictlist;
	SpecialJoinInfo *sjinfo;
	bool		secured;		/* some table has security quals */
} GjPair;

/* A condition of a join, as it was, and as the daemon evaluates it. */
typedef struct GjCondition
{
	Expr	   *clause;
	struct GjExpr *expr;		/* plan/expr/expr.h */
	List	   *leaves;			/* of GjLeaf: what expr reads */
} GjCondition;

typedef struct GjClauses
{
	List	   *keys;			/* of GjKey, never empty */
	List	   *key_clauses;	/* their RestrictInfos */
	List	   *residual;		/* of GjCondition, which the daemon evaluates on
								 * pairs of rows: a pair that fails does not match */
	bool		can_fail;		/* evaluating one of them may be an error */
	List	   *filter;			/* of GjCondition, which the daemon evaluates on
								 * the join's rows */
	List	   *deferred;		/* RestrictInfos for plan.qual */
	bool		ships_deferred; /* the daemon could evaluate them as well */
	List	   *shipped;		/* the same as GjConditions, if ships_deferred */
	double		selectivity;	/* of deferred */
	double		key_growth;	/* plan/cost/rows.c */
} GjClauses;

/* Divides the pair's restrictlist. */
extern GjReject gj_split_clauses(PlannerInfo *root, const GjPair *pair,
								 GjClauses *clauses);

#endif							/* PLAN_JOIN_CLAUSES_H */
