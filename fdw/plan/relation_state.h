/*
 * plan/relation_state.h - what the planner's hooks remember about a relation.
 *
 * The state is found by the relation's address.  RelOptInfo.fdw_private would be
 * nearer, but it belongs to foreign data wrappers, and some libraries use it for
 * relations that are not foreign, too.
 */
#ifndef PLAN_RELATION_STATE_H
#define PLAN_RELATION_STATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* NULL if there is none. */
extern void *gj_find_state(const RelOptInfo *rel);

/*
 * Returns the relation's state, and creates it if necessary: size zero bytes in
 * the memory context of the relation, with which the state ends.  NULL for a
 * foreign relation, and for one that another library marks as its own by
 * fdw_private.
 */
extern void *gj_get_state(RelOptInfo *rel, Size size);

#endif							/* PLAN_RELATION_STATE_H */
