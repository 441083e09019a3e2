/*
 * feed/page/lists.h - the page feed's searches of values in a list.
 */
#ifndef FEED_PAGE_LISTS_H
#define FEED_PAGE_LISTS_H

#include "feed/page/rows.h"

/*
 * Makes the list of a check from the text or array it is compared with, in the
 * current memory context.  NULLs are left out: no value equals them.
 */
extern void gj_page_list_read(GjPageCheck *check, Datum value);

/* gj_page_check_filter() for GJ_TEST_IN and GJ_TEST_NOT_IN. */
extern int	gj_page_list_filter(const GjPageCheck *check, const GjVector *vector,
								int n, uint16 *kept);

#endif							/* FEED_PAGE_LISTS_H */
