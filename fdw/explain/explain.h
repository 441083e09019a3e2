/*
 * explain/explain.h - the parts of EXPLAIN's output.
 */
#ifndef EXPLAIN_EXPLAIN_H
#define EXPLAIN_EXPLAIN_H

#include "postgres.h"

#include "compat.h"
#include "daemon/connection.h"
#include "daemon/stats.h"
#include "job/job.h"
#include "source/source.h"

/* What EXPLAIN ANALYZE shows; the statistics are the daemon's own report. */
typedef struct GjReport
{
	char		fallback[GJ_REASON_SIZE];	/* why the native plan ran; empty: it
										 * did not */
	bool		have_stats;
	GjStats		stats;			/* valid if have_stats */
	const GjBlockCounts *blocks;	/* of each input; zeros: its table was fed like any
									 * other */
	const GjPin *const *pins;	/* of each input; NULL: it is no mirror, or was not read */
} GjReport;

/*
 * Adds the node's own lines.  algorithm is the one that the job asks for, and
 * report is NULL unless the node was executed.
 */
extern void gj_explain(CustomScanState *node, const GjPlan *plan,
					   GjAlgorithm algorithm, const GjReport *report,
					   List *ancestors, ExplainState *es);

/*
 * What set_plan_references has added to the numbers of a node's relations.  Returns
 * false if that is not known.  explain/offset.c.
 */
extern bool gj_explain_offset(const CustomScan *scan, const GjPlan *plan, int *offset);

static inline bool
gj_explain_is_text(const ExplainState *es)
{
	return es->format == EXPLAIN_FORMAT_TEXT;
}

/* Begins a line of text, which the caller ends. */
static inline void
gj_explain_line(ExplainState *es)
{
	appendStringInfoSpaces(es->str, es->indent * 2);
}

/* explain/stats.c: statistics of one join, by its position in post-order. */
extern void gj_explain_join_stats(const GjReport *report, int join, ExplainState *es);

/* explain/stats.c: effect of one filter, by its position in the plan. */
extern void gj_explain_filter_stats(const GjReport *report, int filter, ExplainState *es);

/* explain/stats.c: what became of the blocks of an input that the daemon keeps. */
extern void gj_explain_blocks(const GjReport *report, int input, ExplainState *es);

/* explain/stats.c: statistics of the whole job and its participants. */
extern void gj_explain_job_stats(const GjStats *stats, ExplainState *es);

/* ---- tables of other servers (explain/pin.c) ---- */

/*
 * From where a table is read: its mirror, with the pin's position, or directly.
 * pin NULL: that is not known, for this reason.
 */
extern void gj_explain_pin(const GjPin *pin, Oid relid, const char *reason, ExplainState *es);

/* The same of a node's input.  pin NULL: it was not read, and is asked for. */
extern void gj_explain_mirror(const GjInput *input, const GjPin *pin, EState *estate, ExplainState *es);

/* ---- the aggregation of a query block in EXPLAIN ---- */

/* Shows keys or grouping sets, aggregates, and conditions on groups. */
extern void gj_explain_aggregate(const CustomScan *scan, const GjPlan *plan, ExplainState *es);

#endif							/* EXPLAIN_EXPLAIN_H */
