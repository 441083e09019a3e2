/*
 * plan/rejected/block_state.c - what the notices need to know about a block.
 */
#include "postgres.h"

#include "plan/rejected/block_state.h"
#include "plan/relation_state.h"

GjBlockStash *
gj_block_stash(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_UPPER_REL ? gj_find_state(rel) : NULL;
}

GjBlockStash *
gj_make_block_stash(RelOptInfo *rel, Relids relids)
{
	GjBlockStash *stash = gj_get_state(rel, sizeof(GjBlockStash));

	if (stash == NULL)
		return NULL;
	stash->relids = relids;
	stash->price.cost = -1;
	return stash;
}

void
gj_note_block(RelOptInfo *rel, const Path *path)
{
	GjBlockStash *stash = gj_block_stash(rel);

	if (stash != NULL && (stash->price.cost < 0 || gj_is_cheaper(gj_price(path), stash->price)))
		stash->price = gj_price(path);
}
