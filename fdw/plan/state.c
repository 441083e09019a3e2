/*
 * plan/state.c - what the hooks remember about relations and query levels.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "daemon/status.h"
#include "plan/cost/cost.h"
#include "plan/state.h"
#include "source/source.h"

/* ---- what the planner's hooks remember about a relation ---- */

/*
 * One table has the relations of all calls of the planner that are under way: a
 * call within another one has relations of its own.  An entry is removed by the
 * memory context of its relation, when that is reset or deleted.  So it ends with
 * the relation after an error, too, and before its address is used again: the
 * genetic search builds thousands of relations, each in a context that it deletes.
 */

#define INITIAL_SIZE 256

typedef struct Entry
{
	const RelOptInfo *rel;		/* hash key */
	void	   *state;
	char		status;			/* of simplehash.h */
} Entry;

/* Relations are some hundred bytes apart; the upper half of the product depends on all bits. */
static inline uint32
hash_address(const RelOptInfo *rel)
{
	return ((uint64) (uintptr_t) rel * UINT64CONST(0x9E3779B97F4A7C15)) >> 32;
}

#define SH_PREFIX states
#define SH_ELEMENT_TYPE Entry
#define SH_KEY_TYPE const RelOptInfo *
#define SH_KEY rel
#define SH_HASH_KEY(table, key) hash_address(key)
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

bool
gj_is_mirrored(const RelOptInfo *rel)
{
	return rel->fdwroutine != NULL && gj_is_ours(rel->serverid);
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
	if (rel->fdwroutine != NULL ? !gj_is_mirrored(rel) : rel->fdw_private != NULL)
		return NULL;
	if (states == NULL)
		states = states_create(TopMemoryContext, INITIAL_SIZE, NULL);

	/* all memory first: an entry without its callback would never be removed */
	context = GetMemoryChunkContext(rel);
	state = MemoryContextAllocZero(context, MAXALIGN(size) + sizeof(*callback));
	callback = (MemoryContextCallback *) ((char *) state + MAXALIGN(size));
	callback->func = forget;
	callback->arg = rel;
	states_insert(states, rel, &found)->state = state;
	MemoryContextRegisterResetCallback(context, callback);
	return state;
}

/* ---- facts that are determined once per query level ---- */

/*
 * Most queries have no join that can be offloaded, and a large join search
 * calls the hook thousands of times.  So the answers are stored with the first
 * base relation of the level, which lives exactly as long as they are valid.
 */

/* Collects the properties of the query's tables. */
static void
survey_tables(PlannerInfo *root, GjQuery *query)
{
	int			relid = -1;

	while ((relid = bms_next_member(root->all_baserels, relid)) >= 0)
	{
		RelOptInfo *rel = gj_base_rel(root, relid);

		if (rel == NULL)
			continue;
		query->rows += Max(gj_rows_read(root, rel), rel->rows * gj_rel_growth(root, rel));
		query->shares |= rel->partial_pathlist != NIL;
		query->mirrored |= gj_is_mirrored(rel);
	}
}

/*
 * Does the query, at every level, neither lock nor change the rows that it
 * reads?  Rows added by an INSERT are not visible to its own SELECT.
 */
static bool
has_no_rechecks(PlannerInfo *root)
{
	for (; root != NULL; root = root->parent_root)
	{
		CmdType		command = root->parse->commandType;

		if ((command != CMD_SELECT && command != CMD_INSERT) ||
			root->rowMarks != NIL || root->parse->rowMarks != NIL)
			return false;
	}
	return true;
}

GjQuery *
gj_query(PlannerInfo *root)
{
	GjBaserel  *base = NULL;
	GjQuery    *query;
	int			relid = -1;

	while (base == NULL && (relid = bms_next_member(root->all_baserels, relid)) >= 0)
		base = gj_base_slot(gj_base_rel(root, relid));
	if (base != NULL && base->query != NULL)
		return base->query;

	query = MemoryContextAllocZero(root->planner_cxt, sizeof(GjQuery));
	survey_tables(root, query);
	query->no_rechecks = has_no_rechecks(root);
	query->single_process = !query->shares && root->parent_root == NULL &&
		!gj_parallel_is_forced();
	if (base != NULL)
		base->query = query;
	return query;
}

const struct gj_status *
gj_ask_daemon(GjQuery *query)
{
	if (!query->asked_daemon)
	{
		query->asked_daemon = true;
		query->daemon = gj_daemon_state(&query->status);
		if (query->daemon == GJ_DAEMON_READY)
			gj_set_machine(&query->status);
	}
	return query->daemon == GJ_DAEMON_READY ? &query->status : NULL;
}

/* ---- errors of ours that are noticed while a plan is made ---- */

/*
 * A query whose native plan is at hand must not fail because of them.
 */

void
gj_note_defect(const char **defect, const char *format,...)
{
	char		text[256];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
#ifdef USE_ASSERT_CHECKING
	elog(ERROR, "%s", text);
#endif
	if (*defect == NULL)
		*defect = psprintf("internal: %s", text);
}
