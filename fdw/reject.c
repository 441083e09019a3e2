/*
 * reject.c - why a join stays native, as gpujoin.explain_rejected shows it.
 *
 * A joinrel is tried once for every way to split it in two, and may be
 * swallowed by a larger job, so nothing can be said before the join search is
 * over.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"

#include "candidate.h"
#include "compat.h"
#include "reject.h"

static const struct
{
	const char *word;
	const char *detail;
}			reasons[] =
{
	[GJ_ACCEPTED] = {"accepted", ""},
	[GJ_REJECT_COMMAND] = {"command", "Only SELECT without row locks and INSERT are offloaded."},
	[GJ_REJECT_JOIN_TYPE] = {"join_type", "Only inner joins are offloaded."},
	[GJ_REJECT_LATERAL] = {"lateral", "A side of the join refers to the other laterally."},
	[GJ_REJECT_SIZE] = {"size", "The tables have fewer rows than gpujoin.min_rows."},
	[GJ_REJECT_NOT_A_TABLE] = {"not_a_table", "Only tables and materialized views are joined by gpujoind."},
	[GJ_REJECT_FOREIGN] = {"foreign", "Foreign tables and scans of other extensions are not offloaded."},
	[GJ_REJECT_TABLESAMPLE] = {"tablesample", "A sampled table is not offloaded."},
	[GJ_REJECT_EXPRESSION] = {"expression", "A table delivers something else than its columns."},
	[GJ_REJECT_SYSTEM_COLUMN] = {"system_column", "System columns are not offloaded."},
	[GJ_REJECT_WHOLE_ROW] = {"whole_row", "Whole rows are not offloaded."},
	[GJ_REJECT_COLUMN_TYPE] = {"column_type", "A column has a type that cannot be carried."},
	[GJ_REJECT_VOLATILE] = {"volatile", "A condition calls a volatile function."},
	[GJ_REJECT_NO_PATH] = {"no_path", "A table can only be scanned with values from another one."},
	[GJ_REJECT_DAEMON] = {"daemon", "gpujoind does not run behind gpujoin.socket."},
	[GJ_REJECT_SIDE] = {"side", "A side of the join cannot be offloaded itself."},
	[GJ_REJECT_NO_KEY] = {"no_key", "No condition equates columns of both sides by a supported operator."},
	[GJ_REJECT_LEAKPROOF] = {"leakproof", "An operator is not leakproof and a table has row security."},
	[GJ_REJECT_TOO_LARGE] = {"too_large", "The job would have too many inputs, columns or levels."},
	[GJ_REJECT_BUDGET] = {"budget", "The expected rows do not fit gpujoind's memory budget."},
	[GJ_REJECT_NATIVE] = {"native", "There is no native plan to fall back to."},
	[GJ_REJECT_COST] = {"cost", "The native plan is expected to be cheaper."},
};

const char *
gj_reject_word(GjReject reason)
{
	return reasons[reason].word;
}

void
gj_reject(PlannerInfo *root, RelOptInfo *joinrel, GjReject reason)
{
	GjStash    *stash;

	if (!gj_explain_rejected || joinrel->reloptkind != RELOPT_JOINREL)
		return;
	stash = gj_make_stash(root, joinrel);
	if (stash != NULL)
		stash->reject = Max(stash->reject, reason);
}

/* Aliases of the joined tables, in the order of the query. */
static char *
relation_names(PlannerInfo *root, Relids relids)
{
	StringInfoData names;
	int			relid = -1;

	initStringInfo(&names);
	while ((relid = bms_next_member(relids, relid)) >= 0)
	{
		RangeTblEntry *rte = root->simple_rte_array[relid];

		if (gj_base_rel(root, relid) == NULL)
			continue;
		appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
						 quote_identifier(rte->eref->aliasname));
	}
	return names.data;
}

/* Is the joinrel part of a larger one for which a GpuJoin was offered? */
static bool
is_swallowed(PlannerInfo *root, RelOptInfo *joinrel)
{
	ListCell   *lc;

	foreach(lc, root->join_rel_list)
	{
		RelOptInfo *other = lfirst(lc);
		GjStash    *stash = gj_joinrel_stash(other);

		if (stash != NULL && stash->offered &&
			bms_is_subset(joinrel->relids, other->relids))
			return true;
	}
	return false;
}

void
gj_report_rejected(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->join_rel_list)
	{
		RelOptInfo *joinrel = lfirst(lc);
		GjStash    *stash = gj_joinrel_stash(joinrel);
		bool		possible;

		if (stash == NULL || stash->reject == GJ_ACCEPTED || stash->offered)
			continue;
		possible = stash->candidates[GJ_SERIAL] || stash->candidates[GJ_PARALLEL];
		if (possible && is_swallowed(root, joinrel))
			continue;
		ereport(NOTICE,
				(errmsg("join of %s stays native: %s",
						relation_names(root, joinrel->relids),
						gj_reject_word(stash->reject)),
				 errdetail("%s", reasons[stash->reject].detail)));
	}
}
