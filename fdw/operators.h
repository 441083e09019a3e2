/*
 * operators.h - equality operators that the daemon can evaluate.
 */
#ifndef GPUJOIN_OPERATORS_H
#define GPUJOIN_OPERATORS_H

#include "gpujoin.h"

/* How the two sides of a key become comparable. */
typedef enum GjKeyKind
{
	GJ_KEY_NONE,				/* not an operator of ours */
	GJ_KEY_INT,					/* by value, across widths */
	GJ_KEY_BYTES,				/* by the bytes of fixed columns of one width */
	GJ_KEY_TEXT,				/* by the bytes of varlena */
	GJ_KEY_BPCHAR,				/* the same without trailing blanks */
	GJ_KEY_NUMERIC				/* as scaled integers, or by canonical varlena */
} GjKeyKind;

/* The operator's kind; collation is the one that it would run under. */
extern GjKeyKind gj_key_kind(Oid opno, Oid collation);

/* Bytes of both operands' type, -1 for varlena. */
extern int	gj_key_typlen(Oid opno, bool left);

#endif							/* GPUJOIN_OPERATORS_H */
