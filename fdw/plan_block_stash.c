/*
 * plan_block_stash.c - what the notices need to know about a block.
 */
#include "postgres.h"

#include "plan_block_stash.h"

static const char stash_tag = 'b';	/* its address marks our stashes */

GjBlockStash *
gj_block_stash(const RelOptInfo *rel)
{
	GjBlockStash *stash = rel->fdw_private;

	if (stash == NULL || rel->fdwroutine != NULL || rel->reloptkind != RELOPT_UPPER_REL ||
		stash->tag != &stash_tag)
		return NULL;
	return stash;
}

GjBlockStash *
gj_make_block_stash(RelOptInfo *rel, Relids relids)
{
	GjBlockStash *stash;

	if (rel->fdw_private != NULL || rel->fdwroutine != NULL)
		return NULL;
	stash = palloc0(sizeof(GjBlockStash));
	stash->tag = &stash_tag;
	stash->relids = relids;
	stash->cost = -1;
	rel->fdw_private = stash;
	return stash;
}

void
gj_note_block(RelOptInfo *rel, const Path *path)
{
	GjBlockStash *stash = gj_block_stash(rel);

	if (stash != NULL && (stash->cost < 0 || path->total_cost < stash->cost))
		stash->cost = path->total_cost;
}
