/*
 * plan/rejected/block_state.c - what the notices need to know about a block.
 */
#include "postgres.h"

#include "plan/rejected/block_state.h"
#include "plan/relation_state.h"

GjBlockState *
gj_block_state(const RelOptInfo *rel)
{
	return rel->reloptkind == RELOPT_UPPER_REL ? gj_find_state(rel) : NULL;
}

GjBlockState *
gj_make_block_state(RelOptInfo *rel, Relids relids)
{
	GjBlockState *state = gj_get_state(rel, sizeof(GjBlockState));

	if (state == NULL)
		return NULL;
	state->relids = relids;
	state->price.cost = -1;
	return state;
}

void
gj_note_block(RelOptInfo *rel, const Path *path)
{
	GjBlockState *state = gj_block_state(rel);

	if (state != NULL && (state->price.cost < 0 || gj_is_cheaper(gj_price(path), state->price)))
		state->price = gj_price(path);
}
