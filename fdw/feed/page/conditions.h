/*
 * feed/page/conditions.h - the page feed's conditions on vectors of values.
 */
#ifndef FEED_PAGE_CONDITIONS_H
#define FEED_PAGE_CONDITIONS_H

#include "feed/page/rows.h"

/*
 * Evaluates the value that the column is compared with, if any.  A list is
 * made in the memory context.  Returns false if the value is NULL, in which
 * case no row passes.
 */
extern bool gj_page_check_bind(GjPageCheck *check, ExprContext *econtext,
							   MemoryContext lists);

/*
 * Makes one check of all comparisons of one column.  Returns false if no row
 * passes them.
 */
extern bool gj_page_checks_merge(GjPageCheck *checks, int n);

/*
 * Stores in kept, in ascending order, which of n rows pass.  Returns their
 * number, or -1 if a value does not have the form that its type promises.
 */
extern int	gj_page_check_filter(const GjPageCheck *check, const GjVector *vector,
								 int n, uint16 *kept);

/* The same for a check of two columns. */
extern int	gj_page_check_compare(const GjPageCheck *check, const GjVector *left,
								  const GjVector *right, int n, uint16 *kept);

#endif							/* FEED_PAGE_CONDITIONS_H */
