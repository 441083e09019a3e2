/*
 * plan/rejected/reasons.c - reasons why a join or an aggregation is not offloaded.
 *
 * A joinrel is tried once for every way to split it in two, and most joinrels
 * are not part of the final plan.  So this file only remembers a reason, and
 * plan/rejected/notices.c reports it after planning.
 */
#include "postgres.h"

#include "daemon/status.h"
#include "job/job.h"
#include "options.h"
#include "plan/rejected/reasons.h"
#include "plan/state.h"

/* ---- what the notices need to know about a block ---- */

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

/* ---- reasons ---- */

static const struct
{
	const char *word;
	const char *detail;
}			reasons[] =
{
	[GJ_ACCEPTED] = {"accepted", ""},
	[GJ_REJECT_COMMAND] = {"command", "Only SELECT without row locks and INSERT are offloaded"},
	[GJ_REJECT_UNIQUE] = {"unique", "A semi join became an inner join with the distinct rows of its inner side"},
	[GJ_REJECT_LATERAL] = {"lateral", "One side of the join refers to the other laterally"},
	[GJ_REJECT_SIZE] = {"size", "The tables have fewer rows than gpujoin.min_rows"},
	[GJ_REJECT_NOT_A_TABLE] = {"not_a_table", "An input is not a table, subquery, CTE, function or list of values"},
	[GJ_REJECT_FOREIGN] = {"foreign", "Foreign tables of other wrappers and scans of other extensions are not offloaded"},
	[GJ_REJECT_SUBQUERY] = {"subquery", "A subquery cannot be planned twice: it is lateral, locks rows, has grouping sets or an EXISTS that is not a join, reads min or max from an index, or has a parallel WITH"},
	[GJ_REJECT_RECURSIVE] = {"recursive", "The working table of a WITH RECURSIVE is read"},
	[GJ_REJECT_TABLESAMPLE] = {"tablesample", "A sample without REPEATABLE, or by a method that ignores it, cannot be taken twice"},
	[GJ_REJECT_EXPRESSION] = {"expression", "An outer join makes an expression over several tables NULL"},
	[GJ_REJECT_SYSTEM_COLUMN] = {"system_column", "System columns are not offloaded"},
	[GJ_REJECT_WHOLE_ROW] = {"whole_row", "Whole rows are not offloaded"},
	[GJ_REJECT_COLUMN_TYPE] = {"column_type", "A column has a type that is not supported"},
	[GJ_REJECT_VOLATILE] = {"volatile", "A condition or an input calls a volatile function"},
	[GJ_REJECT_NO_PATH] = {"no_path", "A table can only be scanned with values from another one"},
	[GJ_REJECT_DAEMON] = {"daemon", "gpujoind is not running at gpujoin.socket"},
	[GJ_REJECT_VERSION] = {"version", "gpujoind does not have protocol " CppAsString2(GJ_PROTOCOL_VERSION) ", layout " CppAsString2(GJ_LAYOUT_VERSION) " and job " CppAsString2(GJ_JOB_VERSION) " as this extension has: install the same version of both, restart gpujoind and connect again"},
	[GJ_REJECT_SILENT] = {"silent", "gpujoind has shown no sign of life for some seconds: it is stopped or stuck, or the machine is overloaded"},
	[GJ_REJECT_SIDE] = {"side", "A part of the join or aggregation cannot be offloaded"},
	[GJ_REJECT_NO_KEY] = {"no_key", "No condition compares columns of both sides by a supported equality operator"},
	[GJ_REJECT_CONDITION] = {"condition", "An outer, semi or anti join depends on a condition that gpujoind cannot evaluate"},
	[GJ_REJECT_HIDDEN] = {"hidden", "A column of a semi or anti join's inner side is read above it"},
	[GJ_REJECT_LEAKPROOF] = {"leakproof", "An operator is not leakproof and a table has row security"},
	[GJ_REJECT_TOO_LARGE] = {"too_large", "The job would have too many inputs, columns, outputs or levels"},
	[GJ_REJECT_BUDGET] = {"budget", "The expected rows do not fit gpujoind's memory budget"},
	[GJ_REJECT_JOB_MEMORY] = {"job_memory", "The job is expected to need more memory than gpujoin.max_job_memory allows"},
	[GJ_REJECT_DISTINCT] = {"distinct", "DISTINCT with ON expressions, or above an aggregation or a window function, is not offloaded"},
	[GJ_REJECT_GROUPING_SETS] = {"grouping_sets", "A query with GROUPING SETS, ROLLUP or CUBE has an aggregate whose results for several groups cannot be combined, or a key that cannot be replaced by NULL or occurs twice"},
	[GJ_REJECT_SET_RETURNING] = {"set_returning", "The target list calls a set-returning function"},
	[GJ_REJECT_NO_COLUMN] = {"no_column", "The aggregation of a single input reads no column of it"},
	[GJ_REJECT_GROUP_KEY] = {"group_key", "A GROUP BY or DISTINCT expression has a type whose equality is not that of its bytes, or cannot be evaluated by gpujoind"},
	[GJ_REJECT_AGGREGATE] = {"aggregate", "An aggregate function is not one that gpujoind computes exactly"},
	[GJ_REJECT_FLOAT_AGGREGATE] = {"float_aggregate", "Sums and averages of floats are not offloaded, since their last digits depend on the order of rows, unless gpujoin.float_aggregates is on and gpujoin.verify is off"},
	[GJ_REJECT_VALUE] = {"value", "An expression cannot be evaluated by gpujoind"},
	[GJ_REJECT_CORRELATED] = {"correlated", "The subquery runs once for each row of the outer query"},
	[GJ_REJECT_NATIVE] = {"native", "There is no native plan to fall back to"},
	[GJ_REJECT_PARTITIONWISE] = {"partitionwise", "enable_partitionwise_join lets PostgreSQL join the tables partition by partition"},
	[GJ_REJECT_GATED] = {"gated", "A condition refers to no table, and PostgreSQL 15 and 16 do not offer such joins to extensions"},
	[GJ_REJECT_CURSOR] = {"cursor", "The plan of a cursor is chosen for its first rows, which a native plan returns sooner. For all rows, the offloaded plan is expected to be cheaper"},
	[GJ_REJECT_PLAN] = {"plan", "A native node suits the rest of the plan better because of its sort order, first rows, workers or parameters"},
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

const char *
gj_reject_hint(GjReject reason)
{
	return reason == GJ_REJECT_CURSOR ?
		"Set cursor_tuple_fraction to 1 if cursors are read to the end." : NULL;
}

GjReject
gj_reject_daemon(GjDaemon daemon)
{
	switch (daemon)
	{
		case GJ_DAEMON_OTHER_VERSION:
			return GJ_REJECT_VERSION;
		case GJ_DAEMON_SILENT:
			return GJ_REJECT_SILENT;
		case GJ_DAEMON_ABSENT:
		case GJ_DAEMON_READY:
			break;
	}
	return GJ_REJECT_DAEMON;
}

void
gj_reject(PlannerInfo *root, RelOptInfo *joinrel, GjReject reason)
{
	GjJoinrel  *state;

	if (!gj_explain_rejected || joinrel->reloptkind != RELOPT_JOINREL)
		return;
	state = gj_make_joinrel_state(joinrel, gj_query(root));
	if (state != NULL)
		state->reject = Max(state->reject, reason);
}

GjReject
gj_check_memory(const struct gj_status *status, double bytes)
{
	double		needed = 2 * bytes; /* in extents, and a second copy during partitioning */

	if (needed > status->budget)
		return GJ_REJECT_BUDGET;
	return gj_exceeds_job_memory(needed) ? GJ_REJECT_JOB_MEMORY : GJ_ACCEPTED;
}
