/*
 * plan/rejected/reasons.h - reasons why a join or a query block is not offloaded.
 */
#ifndef PLAN_REJECTED_REASONS_H
#define PLAN_REJECTED_REASONS_H

#include "postgres.h"

#include "compat.h"
#include "daemon/status.h"
#include "job/job.h"

/*
 * In the order in which the conditions are checked.  If several attempts at
 * one joinrel fail, the reason of the one that got furthest is reported.
 */
typedef enum GjReject
{
	GJ_ACCEPTED,
	GJ_REJECT_COMMAND,
	GJ_REJECT_UNIQUE,
	GJ_REJECT_LATERAL,
	GJ_REJECT_SIZE,
	GJ_REJECT_NOT_A_TABLE,
	GJ_REJECT_FOREIGN,
	GJ_REJECT_SUBQUERY,
	GJ_REJECT_RECURSIVE,
	GJ_REJECT_TABLESAMPLE,
	GJ_REJECT_EXPRESSION,
	GJ_REJECT_SYSTEM_COLUMN,
	GJ_REJECT_WHOLE_ROW,
	GJ_REJECT_COLUMN_TYPE,
	GJ_REJECT_VOLATILE,
	GJ_REJECT_NO_PATH,
	GJ_REJECT_DAEMON,
	GJ_REJECT_VERSION,
	GJ_REJECT_SILENT,
	GJ_REJECT_SIDE,
	GJ_REJECT_NO_KEY,
	GJ_REJECT_CONDITION,
	GJ_REJECT_HIDDEN,
	GJ_REJECT_LEAKPROOF,
	GJ_REJECT_TOO_LARGE,
	GJ_REJECT_BUDGET,
	GJ_REJECT_JOB_MEMORY,
	GJ_REJECT_DISTINCT,
	GJ_REJECT_GROUPING_SETS,
	GJ_REJECT_SET_RETURNING,
	GJ_REJECT_NO_COLUMN,
	GJ_REJECT_GROUP_KEY,
	GJ_REJECT_AGGREGATE,
	GJ_REJECT_FLOAT_AGGREGATE,
	GJ_REJECT_VALUE,
	GJ_REJECT_CORRELATED,
	GJ_REJECT_NATIVE,
	GJ_REJECT_PARTITIONWISE,
	GJ_REJECT_GATED,
	GJ_REJECT_CURSOR,
	GJ_REJECT_PLAN,
	GJ_REJECT_COST,
	GJ_REJECTS
} GjReject;

/* Keyword for a reason, as used in notices and documentation. */
extern const char *gj_reject_word(GjReject reason);

/* The reason why a daemon that is not ready gets no job. */
extern GjReject gj_reject_daemon(GjDaemon daemon);

/* Is there memory for a job whose inputs have this many bytes? */
extern GjReject gj_check_memory(const struct gj_status *status, double bytes);

/* Sentence for a reason, without the final period. */
extern const char *gj_reject_detail(GjReject reason);

/* What the user can do about it, as a whole sentence; NULL for most reasons. */
extern const char *gj_reject_hint(GjReject reason);

/*
 * Remembers why a joinrel was rejected.  Free unless the reason will be shown.
 */
extern void gj_reject(PlannerInfo *root, RelOptInfo *joinrel, GjReject reason);

/* ---- what the notices need to know about a block ---- */

/* The state of an aggregation's relation. */
typedef struct GjBlockState
{
	Relids		relids;			/* the aggregated tables */
	GjReject	reject;
	GjPrice		price;			/* of the cheapest job; cost < 0: no job was added */
} GjBlockState;

/* NULL if there is none. */
extern GjBlockState *gj_block_state(const RelOptInfo *rel);

/* Creates an empty one; NULL as for gj_get_state(). */
extern GjBlockState *gj_make_block_state(RelOptInfo *rel, Relids relids);

/* Remembers the price of a path that is added for the relation. */
extern void gj_note_block(RelOptInfo *rel, const Path *path);

#endif							/* PLAN_REJECTED_REASONS_H */
