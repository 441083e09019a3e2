/*
 * feed_page_filter.h - the page feed's conditions on vectors of values.
 */
#ifndef GPUJOIN_FEED_PAGE_FILTER_H
#define GPUJOIN_FEED_PAGE_FILTER_H

#include "feed_page_rows.h"

/* Evaluates the value that the column is compared with; false where it is
 * NULL, so that no row passes. */
extern bool gj_page_check_bind(GjPageCheck *check, ExprContext *econtext);

/*
 * Lists in kept, ascending, which of n rows pass; returns their number, or -1
 * where a value is not what its type says.
 */
extern int	gj_page_check_filter(const GjPageCheck *check, const GjVector *vector,
								 int n, uint16 *kept);

#endif							/* GPUJOIN_FEED_PAGE_FILTER_H */
