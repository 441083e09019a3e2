/*
 * plan/expr/write.c - the text of translated expressions, docs/internals/job.md.
 */
#include "postgres.h"

#include "plan/expr/expr.h"

/*
 * Writes nodes, or measures one: its text is then written without those of its
 * arguments, whose sizes are known.
 */
typedef struct Writer
{
	StringInfo	json;
	GjExpr	   *measured;		/* NULL: writes */
} Writer;

static void append(Writer *w, const GjExpr *expr);

/* Writes an argument, which this many objects and lists of its node enclose. */
static void
append_arg(Writer *w, const GjExpr *arg, int depth)
{
	GjExpr	   *measured = w->measured;

	if (measured == NULL)
	{
		append(w, arg);
		return;
	}
	measured->levels = Max(measured->levels, depth + arg->levels);
	measured->bytes = Min(measured->bytes + arg->bytes, GJ_MAX_EXPRESSION_BYTES + 1);
	measured->can_fail |= arg->can_fail;
}

/* A node of one argument. */
static void
append_unary(Writer *w, const char *member, const GjExpr *expr)
{
	appendStringInfo(w->json, "{\"%s\":", member);
	append_arg(w, expr->args[0], 1);
}

static void
append_list(Writer *w, const char *member, const GjExpr *expr)
{
	appendStringInfo(w->json, "\"%s\":[", member);
	for (int i = 0; i < expr->nargs; i++)
	{
		if (i > 0)
			appendStringInfoChar(w->json, ',');
		append_arg(w, expr->args[i], 2);
	}
	appendStringInfoChar(w->json, ']');
}

static void
append_case(Writer *w, const GjExpr *expr)
{
	int			last = expr->nargs - 1;

	appendStringInfoString(w->json, "{\"case\":[");
	for (int i = 0; i < last; i += 2)
	{
		appendStringInfoString(w->json, i > 0 ? ",{\"when\":" : "{\"when\":");
		append_arg(w, expr->args[i], 3);
		appendStringInfoString(w->json, ",\"then\":");
		append_arg(w, expr->args[i + 1], 3);
		appendStringInfoChar(w->json, '}');
	}
	appendStringInfoString(w->json, "],\"else\":");
	append_arg(w, expr->args[last], 1);
}

/* The constants are written without their own objects. */
static void
append_in(Writer *w, const GjExpr *expr)
{
	const GjExpr *value = expr->args[0];

	append_unary(w, "in", expr);
	appendStringInfo(w->json, ",\"%s\":[", value->kind == GJ_KIND_TEXT ? "texts" : "ints");
	for (int i = 1; i < expr->nargs; i++)
	{
		const GjExpr *constant = expr->args[i];

		if (i > 1)
			appendStringInfoChar(w->json, ',');
		if (constant->tag == GJ_EXPR_TEXT)
			appendStringInfo(w->json, "\"%s\"", constant->word);
		else
			appendStringInfo(w->json, INT64_FORMAT, constant->number);
	}
	appendStringInfo(w->json, "],\"null\":%s", expr->number ? "true" : "false");
}

void
gj_append_reference(StringInfo json, GjOutput place)
{
	appendStringInfo(json, "{\"input\":%d,\"column\":%d}", place.input, place.column);
}

static void
append(Writer *w, const GjExpr *expr)
{
	StringInfo	json = w->json;

	switch (expr->tag)
	{
		case GJ_EXPR_COLUMN:
			appendStringInfoString(json, expr->checked ? "{\"decimal\":" : "{\"column\":");
			gj_append_reference(json, expr->leaf->place);
			break;
		case GJ_EXPR_PARAMETER:
			appendStringInfo(json, "{\"parameter\":%d", expr->leaf->number);
			if (expr->leaf->rounding == GJ_ROUND_TEXT)
				appendStringInfoString(json, ",\"is_text\":true");
			break;
		case GJ_EXPR_INT:
			appendStringInfo(json, "{\"int\":" INT64_FORMAT, expr->number);
			break;
		case GJ_EXPR_NULL:
			appendStringInfo(json, "{\"null\":%d", (int) expr->number);
			break;
		case GJ_EXPR_TEXT:
			appendStringInfo(json, "{\"text\":\"%s\"", expr->word);
			break;
		case GJ_EXPR_CALL:
			appendStringInfo(json, "{\"fn\":\"%s\",", expr->word);
			if (expr->number > 0)
				appendStringInfo(json, "\"width\":%d,", (int) expr->number);
			append_list(w, "args", expr);
			break;
		case GJ_EXPR_SUBSTRING:
			appendStringInfoString(json, "{\"fn\":\"substring\",");
			append_list(w, "args", expr);
			appendStringInfo(json, ",\"from\":%d,\"for\":%d,\"encoding\":\"%s\"",
							 (int) expr->number, expr->length, expr->encoding);
			break;
		case GJ_EXPR_CASE:
			append_case(w, expr);
			break;
		case GJ_EXPR_TRUTH:
			append_unary(w, "truth", expr);
			break;
		case GJ_EXPR_COMPARE:
			appendStringInfo(json, "{\"compare\":\"%s\",\"left\":", expr->word);
			append_arg(w, expr->args[0], 1);
			appendStringInfoString(json, ",\"right\":");
			append_arg(w, expr->args[1], 1);
			break;
		case GJ_EXPR_AND:
		case GJ_EXPR_OR:
			appendStringInfoChar(json, '{');
			append_list(w, expr->tag == GJ_EXPR_AND ? "and" : "or", expr);
			break;
		case GJ_EXPR_NOT:
			append_unary(w, "not", expr);
			break;
		case GJ_EXPR_IS_NULL:
			append_unary(w, "is_null", expr);
			break;
		case GJ_EXPR_LIKE:
			append_unary(w, "like", expr);
			appendStringInfo(json, ",\"pattern\":\"%s\",\"encoding\":\"%s\"",
							 expr->word, expr->encoding);
			break;
		case GJ_EXPR_IN:
			append_in(w, expr);
			break;
	}
	appendStringInfoChar(json, '}');
}

/* May the node itself be an arithmetic error?  The daemon's rule is joincore.ValueCanFail. */
static bool
can_fail(const GjExpr *expr)
{
	if (expr->tag == GJ_EXPR_CALL)
		return strcmp(expr->word, "coalesce") != 0;
	return expr->tag == GJ_EXPR_COLUMN && expr->checked;
}

void
gj_measure_expr(GjExpr *expr)
{
	StringInfoData json;
	Writer		w = {.json = &json, .measured = expr};

	initStringInfo(&json);
	expr->levels = expr->tag == GJ_EXPR_COLUMN || expr->tag == GJ_EXPR_IN ? 2 : 1;
	expr->bytes = 0;
	expr->can_fail = can_fail(expr);
	append(&w, expr);
	expr->bytes = Min(expr->bytes + json.len, GJ_MAX_EXPRESSION_BYTES + 1);
	pfree(json.data);
}

void
gj_append_expr(StringInfo json, const GjExpr *expr)
{
	Writer		w = {.json = json};

	append(&w, expr);
}

char *
gj_write_expr(const GjExpr *expr)
{
	StringInfoData json;

	initStringInfo(&json);
	gj_append_expr(&json, expr);
	return json.data;
}

/* ---- the size of the job's document ---- */

/*
 * The daemon refuses documents that are nested too deeply or too long.  So the
 * planner computes both from the expressions that the document will consist of.
 */

/* The daemon's limit, docs/internals/job.md. */
#define MAX_LEVELS 256

/* The document, "static", and "root" enclose the joins. */
#define ENCLOSING_LEVELS 3

/* "keys": [{"left": {}}] */
#define KEYS_LEVELS 3

/* {"and": []} */
#define AND_LEVELS 2

/* The levels of a conjunction of the conditions; adds their other sizes to *size. */
static int
add_conditions(GjTreeSize *size, const List *conditions, const List *more)
{
	int			levels = 0;
	const List *lists[] = {conditions, more};

	if (conditions == NIL && more == NIL)
		return 0;
	for (int i = 0; i < (int) lengthof(lists); i++)
	{
		ListCell   *lc;

		foreach(lc, lists[i])
		{
			const GjCondition *condition = lfirst(lc);

			levels = Max(levels, condition->expr->levels);
			size->bytes += condition->expr->bytes;
			size->parameters += gj_count_parameters(condition->leaves);
		}
	}
	return levels + (list_length(conditions) + list_length(more) > 1 ? AND_LEVELS : 0);
}

/*
 * A join of trees of these sizes, with the tree's conditions, and the deferred ones
 * if the daemon evaluates them.
 */
static GjTreeSize
join_size(const GjTreeSize *left, const GjTreeSize *right, const GjTree *tree, const List *deferred)
{
	bool		inner = tree->kind == JOIN_INNER;
	GjTreeSize	size = {
		.bytes = left->bytes + right->bytes,
		.parameters = left->parameters + right->parameters,
	};
	int			residual = add_conditions(&size, tree->residual, inner ? deferred : NIL);
	int			filter = add_conditions(&size, tree->filter, inner ? NIL : deferred);

	size.levels = 1 + Max(Max(KEYS_LEVELS, residual), Max(left->levels, right->levels));
	if (filter > 0)
		size.levels = 1 + Max(size.levels, filter);
	return size;
}

/* As plan/join/plan.c describes the join and job/json.c writes it. */
void
gj_measure_tree(GjTree *tree)
{
	tree->size = join_size(&tree->left->size, &tree->right->size, tree, NIL);
	tree->whole_size = tree->ndeferred == 0 ? tree->size :
		join_size(&tree->left->whole_size, &tree->right->whole_size, tree, tree->shipped);
}

void
gj_add_above(GjTreeSize *size, int levels, int bytes)
{
	size->levels = 1 + Max(size->levels, levels);
	size->bytes += bytes;
}

bool
gj_size_fits(const GjTreeSize *size)
{
	return ENCLOSING_LEVELS + size->levels <= MAX_LEVELS &&
		size->bytes <= GJ_MAX_EXPRESSION_BYTES && size->parameters <= GJ_MAX_PARAMETERS;
}
