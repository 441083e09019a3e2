/*
 * plan/join/keys.h - equality operators that the daemon can evaluate.
 */
#ifndef PLAN_JOIN_KEYS_H
#define PLAN_JOIN_KEYS_H

#include "job/job.h"

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

#endif							/* PLAN_JOIN_KEYS_H */
