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

/* Prepares to walk the tuples of a page, given rows->uniform. */
extern void gj_page_walk_start(GjPageRows *rows);

/*
 * Walks the kept tuples of the current page up to an attribute, and finds all
 * that are read up to it.
 */
extern void gj_page_walk(GjPageRows *rows, int attribute);

#endif							/* GPUJOIN_FEED_PAGE_WALK_H */
