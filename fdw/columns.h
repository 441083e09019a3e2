/*
 * columns.h - how a value of a PostgreSQL type lies in a batch.
 */
#ifndef GPUJOIN_COLUMNS_H
#define GPUJOIN_COLUMNS_H

#include "gpujoin.h"

/* True for numeric(p, s) whose every value is an int64 times 10^-s; sets s. */
extern bool gj_decimal_scale(Oid type, int32 typmod, int *scale);

/*
 * Fills form, encoding, width, align and scale for a column that carries the
 * type's values as they are.  False: the type cannot travel.
 */
extern bool gj_describe_payload(Oid type, int32 typmod, GjColumn *column);

/* The same for a column that only carries a canonical form to compare. */
extern void gj_describe_key(GjForm form, GjColumn *column);

/* Bytes that a value is expected to take in a batch, but for its validity bit. */
extern int64 gj_column_bytes(const GjColumn *column);

/* What feeding or returning the column costs, in columns of 8 fixed bytes. */
extern double gj_column_weight(const GjColumn *column);

#endif							/* GPUJOIN_COLUMNS_H */
