/*
 * job/columns.h - how values of PostgreSQL types are stored in a batch.
 */
#ifndef JOB_COLUMNS_H
#define JOB_COLUMNS_H

#include "gpujoin.h"

/*
 * Is every value of this type an int64 times 10^-s, as for numeric(p, s)?
 * Sets s.
 */
extern bool gj_decimal_scale(Oid type, int32 typmod, int *scale);

/*
 * Fills in form, encoding, width, align and scale for a column that carries
 * the type's values unchanged.  Returns false if the type is not supported.
 */
extern bool gj_describe_payload(Oid type, int32 typmod, GjColumn *column);

/* The same for a column that only carries a canonical form of a key. */
extern void gj_describe_key(GjForm form, GjColumn *column);

/* Is it such a form, which is compared but cannot be returned? */
extern bool gj_is_key_form(GjForm form);

/* Expected bytes per value in a batch, not counting the validity bit. */
extern int64 gj_column_bytes(const GjColumn *column);

/*
 * Relative cost of feeding or returning the column; 1 is a fixed column of 8
 * bytes.
 */
extern double gj_column_weight(const GjColumn *column);

#endif							/* JOB_COLUMNS_H */
