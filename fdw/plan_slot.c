/*
 * plan_slot.c - where a base relation keeps its planning state.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "plan_candidate.h"

static const char base_tag = 'b';	/* its address marks our GjBase */

GjBase *
gj_base_slot(RelOptInfo *rel)
{
	GjBase	   *base = rel->fdw_private;

	if (base != NULL)
		return rel->fdwroutine == NULL && base->tag == &base_tag ? base : NULL;
	if (rel->reloptkind != RELOPT_BASEREL || rel->fdwroutine != NULL)
		return NULL;

	/* with GEQO the relation outlives the current memory context */
	base = MemoryContextAllocZero(GetMemoryChunkContext(rel), sizeof(GjBase));
	base->tag = &base_tag;
	rel->fdw_private = base;
	return base;
}
