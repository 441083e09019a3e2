/*
 * plan_clustering.h - how rows that are neighbours in an index are stored.
 */
#ifndef GPUJOIN_PLAN_CLUSTERING_H
#define GPUJOIN_PLAN_CLUSTERING_H

#include "nodes/pathnodes.h"

/*
 * Returns the fraction of the index's entries whose row is on another page of
 * the table than the row of the entry before, 0 to 1.  1 if it is not known.
 */
extern double gj_page_changes(const IndexOptInfo *index);

#endif							/* GPUJOIN_PLAN_CLUSTERING_H */
