/*
 * plan/expr/expr.c - makes the nodes of translated expressions.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "plan/expr/expr.h"

static const char *const test_words[] = {
	[GJ_TEST_LT] = "<", [GJ_TEST_LE] = "<=", [GJ_TEST_EQ] = "=",
	[GJ_TEST_GE] = ">=", [GJ_TEST_GT] = ">", [GJ_TEST_NE] = "<>",
};

/* A node that is complete but for what the caller sets before finish(). */
static GjExpr *
make(GjExprTag tag, int nargs)
{
	GjExpr	   *expr = palloc0(sizeof(GjExpr));

	expr->tag = tag;
	expr->nargs = nargs;
	if (nargs > 0)
		expr->args = palloc(nargs * sizeof(GjExpr *));
	return expr;
}

static GjExpr *
finish(GjExpr *expr, GjKind kind, int width)
{
	expr->kind = kind;
	expr->width = width;
	gj_measure_expr(expr);
	return expr;
}

/* A node of one or two arguments. */
static GjExpr *
make_of(GjExprTag tag, const char *word, GjExpr *a, GjExpr *b)
{
	GjExpr	   *expr = make(tag, b != NULL ? 2 : 1);

	expr->word = word;
	expr->args[0] = a;
	if (b != NULL)
		expr->args[1] = b;
	return expr;
}

static GjExpr *
condition_of(GjExprTag tag, const char *word, GjExpr *a, GjExpr *b)
{
	return finish(make_of(tag, word, a, b), GJ_KIND_BOOL, 1);
}

static const char *
hexadecimal(const char *bytes, int length)
{
	char	   *hex = palloc(2 * length + 1);

	hex_encode(bytes, length, hex);
	hex[2 * length] = '\0';
	return hex;
}

/* ---- values ---- */

GjExpr *
gj_int(int64 number)
{
	GjExpr	   *expr = make(GJ_EXPR_INT, 0);

	expr->number = number;
	return finish(expr, GJ_KIND_INT, GJ_CONSTANT_WIDTH);
}

GjExpr *
gj_null(int width)
{
	GjExpr	   *expr = make(GJ_EXPR_NULL, 0);

	expr->number = width;
	return finish(expr, width == 0 ? GJ_KIND_TEXT : GJ_KIND_INT, width);
}

GjExpr *
gj_text(const char *bytes, int length)
{
	GjExpr	   *expr = make(GJ_EXPR_TEXT, 0);

	expr->word = hexadecimal(bytes, length);
	return finish(expr, GJ_KIND_TEXT, 0);
}

GjExpr *
gj_column_expr(GjLeaf *leaf, bool checked)
{
	GjExpr	   *expr = make(GJ_EXPR_COLUMN, 0);

	expr->leaf = leaf;
	expr->checked = checked;
	return finish(expr, GJ_KIND_INT, 0);
}

GjExpr *
gj_parameter_expr(GjLeaf *leaf)
{
	GjExpr	   *expr = make(GJ_EXPR_PARAMETER, 0);

	expr->leaf = leaf;
	return finish(expr, GJ_KIND_INT, GJ_CONSTANT_WIDTH);
}

GjExpr *
gj_call(const char *operator, int width, GjExpr *a, GjExpr *b)
{
	GjExpr	   *expr = make_of(GJ_EXPR_CALL, operator, a, b);

	expr->number = width;
	return finish(expr, GJ_KIND_INT, width);
}

GjExpr *
gj_function(const char *name, GjExpr *a, GjExpr *b)
{
	return finish(make_of(GJ_EXPR_CALL, name, a, b), GJ_KIND_INT, 4);
}

GjExpr *
gj_substring(GjExpr *text, int from, int length, const char *encoding)
{
	GjExpr	   *expr = make_of(GJ_EXPR_SUBSTRING, NULL, text, NULL);

	expr->encoding = encoding;
	expr->number = from;
	expr->length = length;
	return finish(expr, GJ_KIND_TEXT, 0);
}

GjExpr *
gj_case(GjExpr **conditions, GjExpr **values, int n, GjExpr *otherwise)
{
	GjExpr	   *expr = make(GJ_EXPR_CASE, 2 * n + 1);

	for (int i = 0; i < n; i++)
	{
		expr->args[2 * i] = conditions[i];
		expr->args[2 * i + 1] = values[i];
	}
	expr->args[2 * n] = otherwise;
	return gj_described_as(finish(expr, GJ_KIND_INT, 0), otherwise);
}

GjExpr *
gj_choice(GjExpr *condition, GjExpr *then, GjExpr *otherwise)
{
	return gj_case(&condition, &then, 1, otherwise);
}

GjExpr *
gj_truth(GjExpr *condition)
{
	return finish(make_of(GJ_EXPR_TRUTH, NULL, condition, NULL), GJ_KIND_BOOL, 1);
}

/* ---- conditions ---- */

GjExpr *
gj_compare(GjPageTest test, GjExpr *left, GjExpr *right)
{
	return condition_of(GJ_EXPR_COMPARE, test_words[test], left, right);
}

GjExpr *
gj_both(GjExpr *a, GjExpr *b)
{
	return condition_of(GJ_EXPR_AND, NULL, a, b);
}

GjExpr *
gj_either(GjExpr *a, GjExpr *b)
{
	return condition_of(GJ_EXPR_OR, NULL, a, b);
}

GjExpr *
gj_junction(GjExprTag tag, const List *conditions)
{
	GjExpr	   *expr = make(tag, list_length(conditions));
	ListCell   *lc;

	foreach(lc, conditions)
		expr->args[foreach_current_index(lc)] = lfirst(lc);
	return finish(expr, GJ_KIND_BOOL, 1);
}

GjExpr *
gj_conjunction(const List *conditions)
{
	return list_length(conditions) == 1 ? linitial(conditions) :
		gj_junction(GJ_EXPR_AND, conditions);
}

GjExpr *
gj_not(GjExpr *condition)
{
	return condition_of(GJ_EXPR_NOT, NULL, condition, NULL);
}

GjExpr *
gj_is_null(GjExpr *value)
{
	return condition_of(GJ_EXPR_IS_NULL, NULL, value, NULL);
}

GjExpr *
gj_like(GjExpr *value, const char *bytes, int length, const char *encoding)
{
	GjExpr	   *expr = make_of(GJ_EXPR_LIKE, hexadecimal(bytes, length), value, NULL);

	expr->encoding = encoding;
	return finish(expr, GJ_KIND_BOOL, 1);
}

GjExpr *
gj_in(GjExpr *value, const List *constants, bool has_null)
{
	GjExpr	   *expr = make(GJ_EXPR_IN, 1 + list_length(constants));
	ListCell   *lc;

	expr->args[0] = value;
	foreach(lc, constants)
		expr->args[1 + foreach_current_index(lc)] = lfirst(lc);
	expr->number = has_null;
	return finish(expr, GJ_KIND_BOOL, 1);
}

/* ---- descriptions ---- */

GjExpr *
gj_described_as(GjExpr *expr, const GjExpr *model)
{
	expr->kind = model->kind;
	expr->width = model->width;
	expr->scale = model->scale;
	expr->display_scale = model->display_scale;
	return expr;
}

GjExpr *
gj_as_kind(const GjExpr *value, GjKind kind)
{
	GjExpr	   *copy = palloc(sizeof(GjExpr));

	*copy = *value;
	copy->kind = kind;
	return copy;
}

static bool
same_word(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool
gj_same_expr(const GjExpr *a, const GjExpr *b)
{
	if (a == b)
		return true;
	if (a == NULL || b == NULL || a->tag != b->tag || a->number != b->number ||
		a->length != b->length || a->checked != b->checked || a->leaf != b->leaf ||
		a->nargs != b->nargs || !same_word(a->word, b->word))
		return false;
	for (int i = 0; i < a->nargs; i++)
		if (!gj_same_expr(a->args[i], b->args[i]))
			return false;
	return true;
}
