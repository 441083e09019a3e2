/*
 * feed/page/walk.h - finds the attributes of the tuples of one heap page.
 */
#ifndef FEED_PAGE_WALK_H
#define FEED_PAGE_WALK_H

#include "feed/page/rows.h"

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

/*
 * feed/page/runs.c: plans the runs of the steps from rows->first_walk on.
 */
extern void gj_page_runs_plan(GjPageRows *rows);

/* feed/page/runs.c: walks over one run in all kept tuples. */
extern void gj_page_run_walk(const GjPageRun *run, const char *const *from, uint32 offset,
							 const char **to, int n);

#endif							/* FEED_PAGE_WALK_H */
