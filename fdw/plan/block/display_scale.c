/*
 * plan/block/display_scale.c - which one of equal numerics PostgreSQL shows.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "numeric/decimal.h"
#include "options.h"
#include "plan/block/display_scale.h"
#include "plan/expr/leaf.h"
#include "plan/expr/unscaled_numeric.h"

/* ---- columns ---- */

int
gj_scale_column(GjAggregation *a, const char *name, const GjValueJson *arg, const char *filter)
{
	char	   *known = psprintf("{\"not\":{\"is_null\":%s}}", arg->json);
	GjValueJson scale = {.json = arg->display_scale, .kind = GJ_KIND_INT};

	gj_set_width(&scale, 4);
	if (filter != NULL)
		known = psprintf("{\"and\":[%s,%s]}", filter, known);
	return gj_function_column(a, name, scale.json, known, false, scale.width);
}

/* A number that does not fit is an arithmetic error. */
char *
gj_packed(const GjValueJson *arg, char operator)
{
	char	   *shifted = gj_call_json('*', 8, arg->json,
									   psprintf("{\"int\":%d}", GJ_PACKED_FACTOR));

	return gj_call_json(operator, 8, shifted, arg->display_scale);
}

/* ---- checks ---- */

bool
gj_add_check(GjAggregation *a, GjCheck check, const Expr *expr)
{
	GjCheck    *copy = palloc(sizeof(GjCheck));

	*copy = check;
	a->checks = lappend(a->checks, copy);
	return gj_debug_force || gj_looks_alike(a->translator.root, expr);
}

static char *
column_text(int input, int column)
{
	GjOutput	place = {.input = input, .column = column};

	return psprintf("{\"column\":%s}", gj_reference_json(place));
}

/*
 * One extreme is value * factor + scale, the other one value * factor - scale,
 * and each scale is less than the factor.  So the factor's double
 * divides their sum only if the scales are equal.
 */
static char *
differ(const GjCheck *check, int input)
{
	char	   *first = column_text(input, check->first);
	char	   *second = column_text(input, check->second);

	if (check->packed)
	{
		first = gj_call_json('%', 16, gj_call_json('+', 16, first, second),
							 psprintf("{\"int\":%d}", 2 * GJ_PACKED_FACTOR));
		second = "{\"int\":0}";
	}
	first = psprintf("{\"compare\":\"<>\",\"left\":%s,\"right\":%s}", first, second);
	if (check->key < 0)
		return first;
	return psprintf("{\"and\":[{\"not\":{\"is_null\":%s}},%s]}",
					column_text(input, check->key), first);
}

char *
gj_check_text(const GjAggregation *a, int input)
{
	StringInfoData any;
	ListCell   *lc;

	if (a->checks == NIL)
		return NULL;
	initStringInfo(&any);
	foreach(lc, a->checks)
		gj_append_item(&any, differ(lfirst(lc), input));

	/* a division by zero */
	return psprintf("{\"compare\":\"=\",\"left\":%s,\"right\":{\"int\":1}}",
					gj_call_json('/', 8, "{\"int\":1}",
								 gj_choice_json(psprintf("{\"or\":[%s]}", any.data),
												"{\"int\":0}", "{\"int\":1}")));
}

/* ---- what is shown ---- */

static bool
reads(Node *node, void *key)
{
	if (node == NULL || IsA(node, Aggref) || IsA(node, GroupingFunc))
		return false;
	return equal(node, key) || expression_tree_walker(node, reads, key);
}

bool
gj_is_shown(const PlannerInfo *root, const List *having, const Expr *key)
{
	ListCell   *lc;

	/* the comparison with the native plan's rows sees all columns */
	if (gj_verify || reads((Node *) having, unconstify(Expr *, key)))
		return true;
	foreach(lc, root->processed_tlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, lc);

		/* rows are sorted by it, or only grouped: by its value */
		if (entry->resjunk && equal(entry->expr, key))
			continue;
		if (reads((Node *) entry->expr, unconstify(Expr *, key)))
			return true;
	}
	return false;
}
