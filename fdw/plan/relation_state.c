/*
 * plan/relation_state.c - what the planner's hooks remember about a relation.
 *
 * One table has the relations of all calls of the planner that are under way: a
 * call within another one has relations of its own.  An entry is removed by the
 * memory context of its relation, when that is reset or deleted.  So it ends with
 * the relation after an error, too, and before its address is used again: the
 * genetic search builds thousands of relations, each in a context that it deletes.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "plan/relation_state.h"

#define INITIAL_SIZE 256

typedef struct Entry
{
	const RelOptInfo *rel;		/* hash key */
	void	   *state;
	char		status;			/* of simplehash.h */
} Entry;

#define SH_PREFIX states
#define SH_ELEMENT_TYPE Entry
#define SH_KEY_TYPE const RelOptInfo *
#define SH_KEY rel
#define SH_HASH_KEY(table, key) murmurhash32((uint32) ((uintptr_t) (key) / MAXIMUM_ALIGNOF))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static states_hash *states;

static void
forget(void *rel)
{
	(void) states_delete(states, rel);
}

void *
gj_find_state(const RelOptInfo *rel)
{
	const Entry *entry = states != NULL ? states_lookup(states, rel) : NULL;

	return entry != NULL ? entry->state : NULL;
}

void *
gj_get_state(RelOptInfo *rel, Size size)
{
	void	   *state = gj_find_state(rel);
	MemoryContext context;
	MemoryContextCallback *callback;
	bool		found;

	if (state != NULL)
		return state;
	if (rel->fdwroutine != NULL || rel->fdw_private != NULL)
		return NULL;
	if (states == NULL)
		states = states_create(TopMemoryContext, INITIAL_SIZE, NULL);

	/* all memory first: an entry without its callback would never be removed */
	context = GetMemoryChunkContext(rel);
	state = MemoryContextAllocZero(context, size);
	callback = MemoryContextAllocZero(context, sizeof(*callback));
	callback->func = forget;
	callback->arg = rel;
	states_insert(states, rel, &found)->state = state;
	MemoryContextRegisterResetCallback(context, callback);
	return state;
}
