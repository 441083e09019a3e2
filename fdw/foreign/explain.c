/*
 * foreign/explain.c - EXPLAIN of a scan of a foreign table.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/ruleutils.h"

#include "foreign/scan.h"
#include "foreign/wrapper.h"

/* The conditions that the daemon evaluates, and what became of the rows. */
static void
explain_conditions(ForeignScanState *node, ExplainState *es)
{
	const ForeignScan *scan = (const ForeignScan *) node->ss.ps.plan;
	const GjScanState *state = node->fdw_state;
	Node	   *all = (Node *) make_ands_explicit(scan->fdw_recheck_quals);
	List	   *context;

	if (scan->fdw_recheck_quals == NIL)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, NIL);
	ExplainPropertyText("Daemon Filter", deparse_expression(all, context, es->verbose, false), es);
	if (es->analyze && state->have_stats && node->ss.ps.instrument != NULL)
		ExplainPropertyFloat("Rows Removed by Daemon Filter", NULL,
							 state->rows_removed / Max(1, node->ss.ps.instrument->nloops), 0, es);
}

void
gj_foreign_explain(ForeignScanState *node, ExplainState *es)
{
	const GjScanState *state = node->fdw_state;
	const GjMirror *mirror = state->plan->inputs[0].mirror;
	const GjPin *pin = es->analyze ? state->pin : NULL;
	const char *reason = NULL;

	explain_conditions(node, es);
	if (es->verbose)
		ExplainPropertyText("Remote Table", quote_qualified_identifier(mirror->schema, mirror->table), es);
	if (pin == NULL)
		pin = gj_pin_shown(node->ss.ps.state, mirror->serverid,
						   gj_scan_user((const ForeignScan *) node->ss.ps.plan, node->ss.ps.state),
						   &reason);
	gj_explain_pin(pin, state->relid, reason, es);
}
