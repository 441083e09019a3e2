/*
 * plan/cost/native_scan.h - how long native scans of tables take.
 */
#ifndef PLAN_COST_NATIVE_SCAN_H
#define PLAN_COST_NATIVE_SCAN_H

#include "nodes/pathnodes.h"

/* ns to scan a table sequentially, in one of the path's processes. */
extern double gj_seqscan_ns(PlannerInfo *root, const Path *path);

/*
 * ns of one scan of an index.  ordered: each finds rows next to those that the
 * scan before found.
 */
extern double gj_indexscan_ns(PlannerInfo *root, const IndexPath *path, bool ordered);

/* ns of one scan of an index that finds no row, and is in no order. */
extern double gj_empty_indexscan_ns(const IndexPath *path);

/* ns of one scan of heap pages by a bitmap, without that of its indexes. */
extern double gj_bitmapscan_ns(PlannerInfo *root, const BitmapHeapPath *path);

/*
 * Does each scan of the inner index, as the outer path requests them, find rows
 * next to those that the scan before found?
 */
extern bool gj_probes_in_order(PlannerInfo *root, const Path *outer, const IndexPath *inner);

/* The fraction of the query's pages that are not expected in memory. */
extern double gj_missing_pages(const PlannerInfo *root);

/*
 * How far accesses to random places among so many bytes miss the processor's
 * caches, 0 to 1.
 */
extern double gj_cache_misses(double bytes);

#endif							/* PLAN_COST_NATIVE_SCAN_H */
