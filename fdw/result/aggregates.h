/*
 * result/aggregates.h - makes PostgreSQL's results of aggregates from the daemon's
 * sums and counts.
 */
#ifndef RESULT_AGGREGATES_H
#define RESULT_AGGREGATES_H

#include "gpujoin.h"

/*
 * Makes the values of custom_scan_tlist from one row of the daemon's result.
 * raw has aggregate->ncolumns entries, values has aggregate->nresults.  New
 * datums are allocated in the current memory context.
 */
extern void gj_finish_group(const GjAggregate *aggregate, const Datum *raw,
							const bool *raw_null, Datum *values, bool *isnull);

#endif							/* RESULT_AGGREGATES_H */
