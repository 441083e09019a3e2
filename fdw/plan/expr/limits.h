/*
 * plan/expr/limits.h - the size of the job's document.
 */
#ifndef PLAN_EXPR_LIMITS_H
#define PLAN_EXPR_LIMITS_H

#include "plan/state.h"

/*
 * The longest text of one expression, and of all expressions of a job.  Keeps
 * the document below the daemon's limits of 1 MiB and 65,536 objects: an
 * object has at least 9 bytes.
 */
#define GJ_MAX_EXPRESSION_BYTES (256 * 1024)

/* Returns how deeply objects and lists of a JSON text are nested. */
extern int gj_json_levels(const char *json);

/*
 * May the daemon fail to evaluate this condition or value (docs/job.md) with
 * an arithmetic error?
 */
extern bool gj_json_can_fail(const char *json);

/* Adds the text of one more condition to those of a join. */
extern void gj_add_text(GjTextSize *size, const char *json);

/* Records the size of a join with these conditions, whose sides have theirs. */
extern void gj_measure(const GjClauses *clauses, GjTree *tree);

/*
 * Does the daemon accept the document of this job?  aggregate is NULL for a
 * OffloadJoin.
 */
extern bool gj_document_fits(const GjTree *tree, const GjAggregate *aggregate);

#endif							/* PLAN_EXPR_LIMITS_H */
