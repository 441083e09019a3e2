/*
 * plan_slot.c - where a base relation keeps its planning state.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "plan_candidate.h"

const char gj_base_tag = 'b';

GjBase *
gj_make_base(RelOptInfo *rel)
{
	GjBase	   *base;

	if (rel->reloptkind != RELOPT_BASEREL || rel->fdwroutine != NULL)
		return NULL;

	/* with GEQO the relation outlives the current memory context */
	base = MemoryContextAllocZero(GetMemoryChunkContext(rel), sizeof(GjBase));
	base->tag = &gj_base_tag;
	rel->fdw_private = base;
	return base;
}
