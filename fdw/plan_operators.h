/*
 * plan_operators.h - equality operators that the daemon can evaluate.
 */
#ifndef GPUJOIN_PLAN_OPERATORS_H
#define GPUJOIN_PLAN_OPERATORS_H

#include "gpujoin.h"

/* How the two sides of a key are made comparable. */
typedef enum GjKeyKind
{
	GJ_KEY_INT,					/* by value, across widths */
	GJ_KEY_BYTES,				/* by bytes; fixed columns of one width */
	GJ_KEY_TEXT,				/* by the bytes of varlena */
	GJ_KEY_BPCHAR,				/* the same without trailing blanks */
	GJ_KEY_NUMERIC				/* as scaled integers, or by canonical varlena */
} GjKeyKind;

typedef struct GjOperator
{
	Oid			opno;			/* pg_operator.dat */
	int			left;			/* bytes of the operand's type; -1: varlena */
	int			right;
	GjKeyKind	kind;
} GjOperator;

/* Returns NULL if the operator is not supported under this collation. */
extern const GjOperator *gj_find_operator(Oid opno, Oid collation);

#endif							/* GPUJOIN_PLAN_OPERATORS_H */
