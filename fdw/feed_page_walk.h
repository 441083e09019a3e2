/*
 * feed_page_walk.h - finds the attributes of the tuples of one heap page.
 */
#ifndef GPUJOIN_FEED_PAGE_WALK_H
#define GPUJOIN_FEED_PAGE_WALK_H

#include "feed_page_rows.h"

/*
 * Plans the steps up to the last attribute read, and finds the fixed offsets.
 */
extern void gj_page_walk_plan(GjPageRows *rows, TupleDesc desc);

/* Finds the attributes without a fixed offset in the current page's tuples. */
extern void gj_page_walk(GjPageRows *rows);

#endif							/* GPUJOIN_FEED_PAGE_WALK_H */
