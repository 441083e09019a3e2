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

/*
 * A node like this one with arguments.  NULL if one of them is: an expression is
 * translated as a whole or not at all.
 */
static GjExpr *
make(GjExpr node, GjExpr *const *args, int nargs)
{
	GjExpr	   *expr;

	for (int i = 0; i < nargs; i++)
		if (args[i] == NULL)
			return NULL;
	expr = palloc(sizeof(GjExpr));
	*expr = node;
	expr->nargs = nargs;
	expr->args = nargs > 0 ? palloc(nargs * sizeof(GjExpr *)) : NULL;
	for (int i = 0; i < nargs; i++)
		expr->args[i] = args[i];
	gj_measure_expr(expr);
	return expr;
}

static GjExpr *
make_leaf(GjExpr node)
{
	return make(node, NULL, 0);
}

static GjExpr *
make_unary(GjExpr node, GjExpr *arg)
{
	return make(node, &arg, 1);
}

static GjExpr *
make_binary(GjExpr node, GjExpr *a, GjExpr *b)
{
	GjExpr	   *args[] = {a, b};

	return make(node, args, 2);
}

#define CONDITION(tag_) .tag = (tag_), .kind = GJ_KIND_BOOL, .width = 1

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
	return make_leaf((GjExpr) {.tag = GJ_EXPR_INT, .width = GJ_CONSTANT_WIDTH, .number = number});
}

GjExpr *
gj_null(int width)
{
	return make_leaf((GjExpr) {.tag = GJ_EXPR_NULL, .width = width, .number = width});
}

GjExpr *
gj_text(const char *bytes, int length)
{
	return make_leaf((GjExpr) {.tag = GJ_EXPR_TEXT, .kind = GJ_KIND_TEXT,
							   .word = hexadecimal(bytes, length)});
}

GjExpr *
gj_column_expr(GjLeaf *leaf, bool checked)
{
	return make_leaf((GjExpr) {.tag = GJ_EXPR_COLUMN, .leaf = leaf, .checked = checked});
}

GjExpr *
gj_parameter_expr(GjLeaf *leaf)
{
	return make_leaf((GjExpr) {.tag = GJ_EXPR_PARAMETER, .width = GJ_CONSTANT_WIDTH, .leaf = leaf});
}

GjExpr *
gj_call(const char *operator, int width, GjExpr *a, GjExpr *b)
{
	return make_binary((GjExpr) {.tag = GJ_EXPR_CALL, .width = width, .number = width,
								 .word = operator}, a, b);
}

GjExpr *
gj_date_part(const char *name, GjExpr *date)
{
	return make_unary((GjExpr) {.tag = GJ_EXPR_CALL, .width = 4, .word = name}, date);
}

GjExpr *
gj_substring(GjExpr *text, int from, int length, const char *encoding)
{
	return make_unary((GjExpr) {.tag = GJ_EXPR_SUBSTRING, .kind = GJ_KIND_TEXT, .number = from,
								.length = length, .encoding = encoding}, text);
}

GjExpr *
gj_case(GjExpr **conditions, GjExpr **values, int n, GjExpr *otherwise)
{
	GjExpr	  **args = palloc((2 * n + 1) * sizeof(GjExpr *));

	for (int i = 0; i < n; i++)
	{
		args[2 * i] = conditions[i];
		args[2 * i + 1] = values[i];
	}
	args[2 * n] = otherwise;
	return gj_described_as(make((GjExpr) {.tag = GJ_EXPR_CASE}, args, 2 * n + 1), otherwise);
}

GjExpr *
gj_choice(GjExpr *condition, GjExpr *then, GjExpr *otherwise)
{
	return gj_case(&condition, &then, 1, otherwise);
}

GjExpr *
gj_truth(GjExpr *condition)
{
	return make_unary((GjExpr) {CONDITION(GJ_EXPR_TRUTH)}, condition);
}

/* ---- conditions ---- */

GjExpr *
gj_compare(GjPageTest test, GjExpr *left, GjExpr *right)
{
	return make_binary((GjExpr) {CONDITION(GJ_EXPR_COMPARE), .word = test_words[test]}, left, right);
}

GjExpr *
gj_both(GjExpr *a, GjExpr *b)
{
	return make_binary((GjExpr) {CONDITION(GJ_EXPR_AND)}, a, b);
}

GjExpr *
gj_either(GjExpr *a, GjExpr *b)
{
	return make_binary((GjExpr) {CONDITION(GJ_EXPR_OR)}, a, b);
}

static GjExpr **
array_of(const List *exprs, int before)
{
	GjExpr	  **array = palloc((before + list_length(exprs) + 1) * sizeof(GjExpr *));
	ListCell   *lc;

	foreach(lc, exprs)
		array[before + foreach_current_index(lc)] = lfirst(lc);
	return array;
}

GjExpr *
gj_junction(GjExprTag tag, const List *conditions)
{
	return make((GjExpr) {CONDITION(tag)}, array_of(conditions, 0), list_length(conditions));
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
	return make_unary((GjExpr) {CONDITION(GJ_EXPR_NOT)}, condition);
}

GjExpr *
gj_is_null(GjExpr *value)
{
	return make_unary((GjExpr) {CONDITION(GJ_EXPR_IS_NULL)}, value);
}

GjExpr *
gj_like(GjExpr *value, const char *bytes, int length, const char *encoding)
{
	return make_unary((GjExpr) {CONDITION(GJ_EXPR_LIKE), .word = hexadecimal(bytes, length),
								.encoding = encoding}, value);
}

GjExpr *
gj_in(GjExpr *value, const List *constants, bool has_null)
{
	GjExpr	  **args = array_of(constants, 1);

	args[0] = value;
	return make((GjExpr) {CONDITION(GJ_EXPR_IN), .number = has_null}, args, 1 + list_length(constants));
}

/* ---- descriptions ---- */

GjExpr *
gj_described_as(GjExpr *expr, const GjExpr *model)
{
	if (expr == NULL)
		return NULL;
	expr->kind = model->kind;
	expr->width = model->width;
	expr->scale = model->scale;
	expr->display_scale = model->display_scale;
	return expr;
}

GjExpr *
gj_as_kind(const GjExpr *value, GjKind kind)
{
	GjExpr	   *copy;

	if (value == NULL)
		return NULL;
	copy = palloc(sizeof(GjExpr));
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
