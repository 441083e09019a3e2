/*
 * plan_reject.c - reasons why a join is not offloaded.
 *
 * A joinrel is tried once for every way to split it in two, and most joinrels
 * are not part of the final plan.  So this file only remembers a reason, and
 * plan_notices.c reports it after planning.
 */
#include "postgres.h"

#include "plan_candidate.h"
#include "plan_reject.h"

static const struct
{
	const char *word;
	const char *detail;
}			reasons[] =
{
	[GJ_ACCEPTED] = {"accepted", ""},
	[GJ_REJECT_COMMAND] = {"command", "Only SELECT without row locks and INSERT are offloaded"},
	[GJ_REJECT_JOIN_TYPE] = {"join_type", "Only inner joins are offloaded"},
	[GJ_REJECT_LATERAL] = {"lateral", "A side of the join refers to the other laterally"},
	[GJ_REJECT_SIZE] = {"size", "The tables have fewer rows than gpujoin.min_rows"},
	[GJ_REJECT_NOT_A_TABLE] = {"not_a_table", "Only tables and materialized views are joined by gpujoind"},
	[GJ_REJECT_FOREIGN] = {"foreign", "Foreign tables and scans of other extensions are not offloaded"},
	[GJ_REJECT_TABLESAMPLE] = {"tablesample", "A sampled table is not offloaded"},
	[GJ_REJECT_EXPRESSION] = {"expression", "A table delivers something else than its columns"},
	[GJ_REJECT_SYSTEM_COLUMN] = {"system_column", "System columns are not offloaded"},
	[GJ_REJECT_WHOLE_ROW] = {"whole_row", "Whole rows are not offloaded"},
	[GJ_REJECT_COLUMN_TYPE] = {"column_type", "A column has a type that cannot be carried"},
	[GJ_REJECT_VOLATILE] = {"volatile", "A condition calls a volatile function"},
	[GJ_REJECT_NO_PATH] = {"no_path", "A table can only be scanned with values from another one"},
	[GJ_REJECT_DAEMON] = {"daemon", "gpujoind does not run behind gpujoin.socket"},
	[GJ_REJECT_SIDE] = {"side", "A side of the join cannot be offloaded itself"},
	[GJ_REJECT_NO_KEY] = {"no_key", "No condition equates columns of both sides by a supported operator"},
	[GJ_REJECT_LEAKPROOF] = {"leakproof", "An operator is not leakproof and a table has row security"},
	[GJ_REJECT_TOO_LARGE] = {"too_large", "The job would have too many inputs, columns, outputs or levels"},
	[GJ_REJECT_BUDGET] = {"budget", "The expected rows do not fit gpujoind's memory budget"},
	[GJ_REJECT_NATIVE] = {"native", "There is no native plan to fall back to"},
	[GJ_REJECT_PARTITIONWISE] = {"partitionwise", "The tables are joined partition by partition, as enable_partitionwise_join allows"},
	[GJ_REJECT_GATED] = {"gated", "A condition refers to no table, and PostgreSQL 15 and 16 offer no such join to an extension"},
	[GJ_REJECT_PLAN] = {"plan", "A native join suits the rest of the plan better, by its order, first rows, workers or parameters"},
	[GJ_REJECT_COST] = {"cost", "The native plan is expected to be cheaper"},
};

const char *
gj_reject_word(GjReject reason)
{
	return reasons[reason].word;
}

const char *
gj_reject_detail(GjReject reason)
{
	return reasons[reason].detail;
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
