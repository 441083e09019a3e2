/*
 * result/variance.h - variances and standard deviations from sums.
 */
#ifndef RESULT_VARIANCE_H
#define RESULT_VARIANCE_H

#include "gpujoin.h"

/* Which of the four functions. */
typedef struct GjSpread
{
	bool		sample;			/* of a sample, else of the population */
	bool		root;			/* the standard deviation */
} GjSpread;

/*
 * The variance of count values, or its square root, from their sum and the sum
 * of their squares: numerics with the display scale of the values, and twice
 * that.  Sets *isnull if there are too few values.
 */
extern Datum gj_spread(GjSpread spread, int64 count, Datum sum, Datum squares, bool *isnull);

#endif							/* RESULT_VARIANCE_H */
