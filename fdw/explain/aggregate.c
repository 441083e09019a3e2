/*
 * explain/aggregate.c - the aggregation of a query block, in the words of the
 * query.
 */
#include "explain/aggregate.h"

#include "nodes/makefuncs.h"
#include "utils/ruleutils.h"

/* The grouping sets, as lists of keys. */
static void
explain_sets(const List *sets, const List *keys, ExplainState *es)
{
	List	   *texts = NIL;
	ListCell   *set;
	ListCell   *key;

	foreach(set, sets)
	{
		StringInfoData text;

		initStringInfo(&text);
		foreach(key, (List *) lfirst(set))
			appendStringInfo(&text, "%s%s", text.len > 0 ? ", " : "",
							 (const char *) list_nth(keys, lfirst_int(key)));
		texts = lappend(texts, psprintf("(%s)", text.data));
	}
	ExplainPropertyList("Grouping Sets", texts, es);
}

void
gj_explain_aggregate(const CustomScan *scan, const GjPlan *plan, ExplainState *es)
{
	const GjAggregate *aggregate = plan->aggregate;
	bool		prefix = list_length(es->rtable) > 1 || es->verbose;
	List	   *having = scan->custom_exprs;
	List	   *keys = NIL;
	List	   *functions = NIL;
	ListCell   *lc;

	foreach(lc, scan->custom_scan_tlist)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;
		char	   *text = deparse_expression(expr, es->deparse_cxt, prefix, false);

		if (foreach_current_index(lc) < aggregate->nkeys)
			keys = lappend(keys, text);
		else if (IsA(expr, Aggref))
			functions = lappend(functions, text);
	}
	if (aggregate->sets != NIL)
		explain_sets(aggregate->sets, keys, es);
	else if (keys != NIL)
		ExplainPropertyList("Group Key", keys, es);
	if (functions != NIL)
		ExplainPropertyList("Aggregates", functions, es);
	if (having != NIL)
		ExplainPropertyText("Having",
							deparse_expression((Node *) make_ands_explicit(having),
											   es->deparse_cxt, prefix, false), es);
}
