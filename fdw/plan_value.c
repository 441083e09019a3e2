/*
 * plan_value.c - expressions in the form in which the daemon evaluates them.
 *
 * Functions are recognised by their OIDs: built-in ones only, whose meaning is
 * known.  A function that this file does not know makes the whole expression
 * untranslatable.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "plan_document.h"
#include "plan_parameter.h"
#include "plan_value.h"
#include "plan_value_compare.h"

static const struct
{
	Oid			function;
	char		operator;
}			arithmetic[] =
{
	{F_INT2PL, '+'}, {F_INT4PL, '+'}, {F_INT8PL, '+'},
	{F_INT24PL, '+'}, {F_INT42PL, '+'}, {F_INT28PL, '+'},
	{F_INT82PL, '+'}, {F_INT48PL, '+'}, {F_INT84PL, '+'},
	{F_INT2MI, '-'}, {F_INT4MI, '-'}, {F_INT8MI, '-'},
	{F_INT24MI, '-'}, {F_INT42MI, '-'}, {F_INT28MI, '-'},
	{F_INT82MI, '-'}, {F_INT48MI, '-'}, {F_INT84MI, '-'},
	{F_INT2MUL, '*'}, {F_INT4MUL, '*'}, {F_INT8MUL, '*'},
	{F_INT24MUL, '*'}, {F_INT42MUL, '*'}, {F_INT28MUL, '*'},
	{F_INT82MUL, '*'}, {F_INT48MUL, '*'}, {F_INT84MUL, '*'},
	{F_INT2DIV, '/'}, {F_INT4DIV, '/'}, {F_INT8DIV, '/'},
	{F_INT24DIV, '/'}, {F_INT42DIV, '/'}, {F_INT28DIV, '/'},
	{F_INT82DIV, '/'}, {F_INT48DIV, '/'}, {F_INT84DIV, '/'},
	{F_INT2MOD, '%'}, {F_INT4MOD, '%'}, {F_INT8MOD, '%'},
};

static bool
decimal_arithmetic(char operator, GjValueJson *a, GjValueJson *b, GjValueJson *value)
{
	/* a display scale that depends on the row cannot follow arithmetic */
	if (a->display_scale != NULL || b->display_scale != NULL)
		return false;
	if (operator != '*' && !gj_align(a, b))
		return false;
	value->kind = GJ_KIND_DECIMAL;
	value->width = 16;
	value->scale = operator == '*' ? a->scale + b->scale : a->scale;
	value->display_scale = NULL;
	value->json = psprintf("{\"fn\":\"%c\",\"width\":16,\"args\":[%s,%s]}",
						   operator, a->json, b->json);
	return value->scale <= GJ_MAX_SCALE;
}

/* ---- functions ---- */

static bool
integer_arithmetic(GjTranslator *t, Oid function, List *args, Oid type, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	for (int i = 0; i < (int) lengthof(arithmetic); i++)
	{
		if (arithmetic[i].function != function)
			continue;
		if (!gj_translate_value(t, linitial(args), &a) || !gj_translate_value(t, lsecond(args), &b) ||
			!gj_describe_value(type, value))
			return false;
		value->json = psprintf("{\"fn\":\"%c\",\"width\":%d,\"args\":[%s,%s]}",
							   arithmetic[i].operator, value->width, a.json, b.json);
		return true;
	}
	return false;
}

static bool
numeric_arithmetic(GjTranslator *t, char operator, List *args, GjValueJson *value)
{
	GjValueJson a;
	GjValueJson b;

	return gj_translate_value(t, linitial(args), &a) &&
		gj_translate_value(t, lsecond(args), &b) &&
		decimal_arithmetic(operator, &a, &b, value);
}

static bool
negation(GjTranslator *t, List *args, Oid type, GjValueJson *value)
{
	GjValueJson a;

	if (!gj_translate_value(t, linitial(args), &a) || !gj_describe_value(type, value) ||
		a.display_scale != NULL)
		return false;
	value->scale = a.scale;
	value->json = psprintf("{\"fn\":\"-\",\"width\":%d,\"args\":[{\"int\":0},%s]}",
						   value->width, a.json);
	return true;
}

/* extract(field from date), a numeric without decimals */
static bool
date_field(GjTranslator *t, List *args, GjValueJson *value)
{
	const Const *field = linitial(args);
	GjValueJson date;
	char	   *name;

	if (!IsA(field, Const) || field->constisnull ||
		!gj_translate_value(t, lsecond(args), &date))
		return false;
	name = TextDatumGetCString(field->constvalue);
	if (strcmp(name, "year") != 0 && strcmp(name, "month") != 0 && strcmp(name, "day") != 0)
		return false;
	value->kind = GJ_KIND_DECIMAL;
	value->width = 4;
	value->scale = 0;
	value->display_scale = NULL;
	value->json = psprintf("{\"fn\":\"%s\",\"args\":[%s]}", name, date.json);
	return true;
}

static bool
substring(GjTranslator *t, List *args, GjValueJson *value)
{
	GjValueJson text;
	const Const *from = lsecond(args);
	const Const *length = list_length(args) == 3 ? lthird(args) : NULL;
	const char *encoding = gj_encoding_word();

	if (encoding == NULL || !IsA(from, Const) || from->constisnull ||
		(length != NULL && (!IsA(length, Const) || length->constisnull ||
							DatumGetInt32(length->constvalue) < 0)) ||
		!gj_translate_value(t, linitial(args), &text))
		return false;
	value->kind = GJ_KIND_TEXT;
	value->width = value->scale = 0;
	value->display_scale = NULL;
	value->json = psprintf("{\"fn\":\"substring\",\"args\":[%s],\"from\":%d,\"for\":%d,\"encoding\":\"%s\"}",
						   text.json, DatumGetInt32(from->constvalue),
						   length != NULL ? DatumGetInt32(length->constvalue) : -1, encoding);
	return true;
}

static bool
function(GjTranslator *t, Oid oid, List *args, Oid type, GjValueJson *value)
{
	switch (oid)
	{
		case F_NUMERIC_ADD:
			return numeric_arithmetic(t, '+', args, value);
		case F_NUMERIC_SUB:
			return numeric_arithmetic(t, '-', args, value);
		case F_NUMERIC_MUL:
			return numeric_arithmetic(t, '*', args, value);
		case F_INT2UM:
		case F_INT4UM:
		case F_INT8UM:
		case F_NUMERIC_UMINUS:
			return negation(t, args, type, value);
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
			if (!gj_translate_value(t, linitial(args), value))
				return false;
			value->kind = GJ_KIND_DECIMAL;
			return true;
		case F_INT8_INT4:
		case F_INT8_INT2:
		case F_INT4_INT2:		/* the same number in a wider type */
			return gj_translate_value(t, linitial(args), value);
		case F_EXTRACT_TEXT_DATE:
			return date_field(t, args, value);
		case F_TEXT_BPCHAR:		/* strips trailing blanks, as our bpchar does */
			return gj_translate_value(t, linitial(args), value);
		case F_SUBSTRING_TEXT_INT4_INT4:
		case F_SUBSTRING_TEXT_INT4:
		case F_SUBSTR_TEXT_INT4_INT4:
		case F_SUBSTR_TEXT_INT4:
			return substring(t, args, value);
		default:
			return list_length(args) == 2 && integer_arithmetic(t, oid, args, type, value);
	}
}

/* ---- CASE, COALESCE, NULLIF ---- */

static char *
case_json(char **conditions, int n, GjValueJson *arms, bool scales)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"case\":[");
	for (int i = 0; i < n; i++)
		appendStringInfo(&json, "%s{\"when\":%s,\"then\":%s}", i > 0 ? "," : "", conditions[i],
						 scales ? arms[i].display_scale : arms[i].json);
	appendStringInfo(&json, "],\"else\":%s}", scales ? arms[n].display_scale : arms[n].json);
	return json.data;
}

static bool
choice(GjTranslator *t, const CaseExpr *expr, GjValueJson *value)
{
	int			n = list_length(expr->args);
	char	  **conditions = palloc(n * sizeof(char *));
	GjValueJson *arms = palloc0((n + 1) * sizeof(GjValueJson));
	const GjValueJson *outer = t->tested;
	GjValueJson tested;
	bool		ok = true;

	if (expr->arg != NULL)
	{
		if (!gj_translate_value(t, expr->arg, &tested))
			return false;
		t->tested = &tested;
	}
	for (int i = 0; i < n && ok; i++)
	{
		CaseWhen   *when = list_nth_node(CaseWhen, expr->args, i);

		conditions[i] = gj_translate_condition(t, when->expr);
		ok = conditions[i] != NULL;
	}
	t->tested = outer;
	for (int i = 0; i < n && ok; i++)
		ok = gj_translate_value(t, list_nth_node(CaseWhen, expr->args, i)->result, &arms[i]);
	ok = ok && gj_translate_value(t, expr->defresult, &arms[n]) && gj_unite(arms, n + 1, value);
	if (!ok)
		return false;
	value->json = case_json(conditions, n, arms, false);
	if (value->display_scale != NULL)
		value->display_scale = case_json(conditions, n, arms, true);
	return true;
}

/* COALESCE is a CASE: its arguments are evaluated without side effects. */
static bool
coalesce(GjTranslator *t, const CoalesceExpr *expr, GjValueJson *value)
{
	int			n = list_length(expr->args) - 1;
	char	  **conditions = palloc((n + 1) * sizeof(char *));
	GjValueJson *arms = palloc0((n + 1) * sizeof(GjValueJson));

	/* what is left of several arguments after those that are NULL */
	if (n == 0)
		return gj_translate_value(t, linitial(expr->args), value);
	for (int i = 0; i <= n; i++)
	{
		if (!gj_translate_value(t, list_nth(expr->args, i), &arms[i]))
			return false;
		conditions[i] = psprintf("{\"not\":{\"is_null\":%s}}", arms[i].json);
	}
	if (!gj_unite(arms, n + 1, value))
		return false;
	value->json = case_json(conditions, n, arms, false);
	if (value->display_scale != NULL)
		value->display_scale = case_json(conditions, n, arms, true);
	return true;
}

/* ---- conditions ---- */

/* A comparison with a numeric parameter. */
static char *
parameter_comparison(GjTranslator *t, GjPageTest test, Expr *left, Expr *right)
{
	bool		commuted = gj_is_numeric_parameter(left);
	Expr	   *operand = commuted ? right : left;
	const Param *param = (const Param *) (commuted ? left : right);
	GjValueJson value;
	bool		stored;

	if (gj_is_numeric_parameter(operand))
		return NULL;
	stored = gj_translate_stored(t, operand, &value);
	if (!stored && !gj_translate_value(t, operand, &value))
		return NULL;
	return gj_compare_parameter(t, test, &value, stored, param, commuted);
}

static char *
comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left, Expr *right)
{
	GjPageTest	test;
	GjValueJson a;
	GjValueJson b;
	char	   *stored;

	if (!gj_find_test(opno, collation, exprType((Node *) left), exprType((Node *) right), &test))
		return NULL;
	if (gj_is_numeric_parameter(left) || gj_is_numeric_parameter(right))
		return parameter_comparison(t, test, left, right);
	stored = gj_compare_stored(t, test, left, right);
	if (stored != NULL)
		return stored;
	if (!gj_translate_value(t, left, &a) || !gj_translate_value(t, right, &b) ||
		a.kind != b.kind ||
		(a.kind == GJ_KIND_DECIMAL && !gj_align(&a, &b)))
		return NULL;
	return gj_compare_json(test, a.json, b.json);
}

/* text LIKE pattern; bpchar keeps its blanks here */
static char *
like(GjTranslator *t, Oid function, Oid collation, List *args)
{
	Expr	   *left = linitial(args);
	const Const *pattern = lsecond(args);
	const char *encoding = gj_encoding_word();
	bool		negated = function == F_TEXTNLIKE || function == F_BPCHARNLIKE;
	struct varlena *bytes;
	const char *data;
	int			length;
	GjValueJson value;
	bool		escaped = false;
	char	   *json;

	if (encoding == NULL || !IsA(pattern, Const) || pattern->constisnull ||
		!OidIsValid(collation) || !get_collation_isdeterministic(collation))
		return NULL;
	if (function == F_BPCHARLIKE || function == F_BPCHARNLIKE)
	{
		const Var  *var = gj_plain_column(left);

		if (var == NULL || !gj_translate_column(t, var, GJ_READ_BLANKS, &value))
			return NULL;
	}
	else if (!gj_translate_value(t, left, &value))
		return NULL;
	bytes = PG_DETOAST_DATUM_PACKED(pattern->constvalue);
	data = VARDATA_ANY(bytes);
	length = VARSIZE_ANY_EXHDR(bytes);

	/* PostgreSQL raises an error for an escape character at the end */
	for (int i = 0; i < length; i++)
		escaped = !escaped && data[i] == '\\';
	if (escaped)
		return NULL;
	json = psprintf("{\"like\":%s,\"pattern\":\"%s\",\"encoding\":\"%s\"}",
					value.json, gj_hex(data, length), encoding);
	return negated ? psprintf("{\"not\":%s}", json) : json;
}

/* value = ANY (constants) and value <> ALL (constants) */
static char *
in_list(GjTranslator *t, ScalarArrayOpExpr *expr)
{
	Expr	   *left = linitial(expr->args);
	Const	   *list = lsecond(expr->args);
	GjPageTest	test;
	GjValueJson value;
	ArrayType  *array;
	Oid			type;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	bool		has_null = false;
	StringInfoData items;
	char	   *json;

	if (!IsA(list, Const) || list->constisnull)
		return NULL;
	array = DatumGetArrayTypeP(list->constvalue);
	type = ARR_ELEMTYPE(array);
	if (!gj_find_test(expr->opno, expr->inputcollid, exprType((Node *) left), type, &test) ||
		test != (expr->useOr ? GJ_TEST_EQ : GJ_TEST_NE))
		return NULL;

	/* NaN, as it is stored, equals no constant */
	if (!gj_translate_stored(t, left, &value) && !gj_translate_value(t, left, &value))
		return NULL;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &elements, &nulls, &n);

	initStringInfo(&items);
	for (int i = 0; i < n; i++)
	{
		Const	   *element = makeConst(type, -1, expr->inputcollid, typlen, elements[i],
										nulls[i], typbyval);
		GjValueJson item;
		const char *from;
		int			length;

		if (nulls[i])
		{
			has_null = true;
			continue;
		}
		if (!gj_translate_constant(element, &item) || item.kind != value.kind)
			return NULL;

		/* a constant with more decimals than the value equals none of them */
		if (item.kind == GJ_KIND_DECIMAL && !gj_constant_to_scale(&item, value.scale))
			return NULL;
		if (items.len > 0)
			appendStringInfoChar(&items, ',');
		from = strchr(item.json, ':') + 1;
		length = strlen(from) - 1;
		appendBinaryStringInfo(&items, from, length);
	}
	json = psprintf("{\"in\":%s,\"%s\":[%s],\"null\":%s}", value.json,
					value.kind == GJ_KIND_TEXT ? "texts" : "ints", items.data,
					has_null ? "true" : "false");
	return expr->useOr ? json : psprintf("{\"not\":%s}", json);
}

static char *
logic(GjTranslator *t, BoolExpr *expr)
{
	StringInfoData json;
	ListCell   *lc;

	initStringInfo(&json);
	if (expr->boolop == NOT_EXPR)
	{
		char	   *arg = gj_translate_condition(t, linitial(expr->args));

		return arg != NULL ? psprintf("{\"not\":%s}", arg) : NULL;
	}
	appendStringInfo(&json, "{\"%s\":[", expr->boolop == AND_EXPR ? "and" : "or");
	foreach(lc, expr->args)
	{
		char	   *arg = gj_translate_condition(t, lfirst(lc));

		if (arg == NULL)
			return NULL;
		appendStringInfo(&json, "%s%s", foreach_current_index(lc) > 0 ? "," : "", arg);
	}
	appendStringInfoString(&json, "]}");
	return json.data;
}

/* IS [NOT] TRUE, FALSE, UNKNOWN */
static char *
boolean_test(GjTranslator *t, BooleanTest *expr)
{
	char	   *arg = gj_translate_condition(t, expr->arg);
	char	   *unknown;

	if (arg == NULL)
		return NULL;
	unknown = psprintf("{\"is_null\":{\"truth\":%s}}", arg);
	switch (expr->booltesttype)
	{
		case IS_TRUE:
			return psprintf("{\"and\":[%s,{\"not\":%s}]}", arg, unknown);
		case IS_NOT_TRUE:
			return psprintf("{\"or\":[{\"not\":%s},%s]}", arg, unknown);
		case IS_FALSE:
			return psprintf("{\"and\":[{\"not\":%s},{\"not\":%s}]}", arg, unknown);
		case IS_NOT_FALSE:
			return psprintf("{\"or\":[%s,%s]}", arg, unknown);
		case IS_UNKNOWN:
			return unknown;
		case IS_NOT_UNKNOWN:
			return psprintf("{\"not\":%s}", unknown);
	}
	return NULL;
}

static char *
translate_condition(GjTranslator *t, Expr *expr)
{
	GjValueJson value;

	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return logic(t, (BoolExpr *) expr);
		case T_NullTest:
			{
				NullTest   *test = (NullTest *) expr;
				const Var  *var = t->leaf == NULL ? gj_plain_column(test->arg) : NULL;

				if (test->argisrow ||
					!(var != NULL ? gj_translate_column(t, var, GJ_READ_NULLS, &value) :
					  gj_translate_value(t, test->arg, &value)))
					return NULL;
				return psprintf(test->nulltesttype == IS_NULL ? "{\"is_null\":%s}" :
								"{\"not\":{\"is_null\":%s}}", value.json);
			}
		case T_BooleanTest:
			return boolean_test(t, (BooleanTest *) expr);
		case T_ScalarArrayOpExpr:
			return in_list(t, (ScalarArrayOpExpr *) expr);
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) expr;
				Oid			function = get_opcode(op->opno);

				if (list_length(op->args) != 2)
					return NULL;
				if (function == F_TEXTLIKE || function == F_TEXTNLIKE ||
					function == F_BPCHARLIKE || function == F_BPCHARNLIKE)
					return like(t, function, op->inputcollid, op->args);
				return comparison(t, op->opno, op->inputcollid, linitial(op->args),
								  lsecond(op->args));
			}
		case T_Var:
		case T_Const:
		case T_Param:
		case T_RelabelType:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
			if (!gj_translate_value(t, expr, &value) || value.kind != GJ_KIND_BOOL)
				return NULL;
			return psprintf("{\"compare\":\"=\",\"left\":%s,\"right\":{\"int\":1}}", value.json);
		default:
			return NULL;
	}
}

char *
gj_translate_conditions(GjTranslator *t, List *exprs)
{
	return list_length(exprs) == 1 ? gj_translate_condition(t, linitial(exprs)) :
		gj_translate_condition(t, (Expr *) makeBoolExpr(AND_EXPR, exprs, -1));
}

/* ---- every kind of expression ---- */

/* NULLIF(a, b): NULL where a = b, else a */
static bool
null_if(GjTranslator *t, NullIfExpr *expr, GjValueJson *value)
{
	char	   *equal = comparison(t, expr->opno, expr->inputcollid, linitial(expr->args),
								   lsecond(expr->args));

	if (equal == NULL || !gj_translate_value(t, linitial(expr->args), value) ||
		value->kind == GJ_KIND_TEXT || value->display_scale != NULL)
		return false;
	value->json = psprintf("{\"case\":[{\"when\":%s,\"then\":{\"null\":%d}}],\"else\":%s}",
						   equal, value->width, value->json);
	return true;
}

static bool
translate_value(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	bool		ok;
	char	   *condition;

	if (t->leaf != NULL && t->leaf(t->leaf_arg, expr, value, &ok))
		return ok;
	switch (nodeTag(expr))
	{
		case T_Var:
			return gj_translate_column(t, (Var *) expr, GJ_READ_VALUE, value);
		case T_Const:
			return gj_translate_constant((Const *) expr, value);
		case T_Param:
			return gj_translate_parameter(t, (Param *) expr, value);
		case T_RelabelType:
			{
				RelabelType *relabel = (RelabelType *) expr;

				return gj_same_value(exprType((Node *) relabel->arg), relabel->resulttype) &&
					gj_translate_value(t, relabel->arg, value);
			}
		case T_FuncExpr:
			{
				FuncExpr   *call = (FuncExpr *) expr;

				return function(t, call->funcid, call->args, call->funcresulttype, value);
			}
		case T_OpExpr:
			{
				OpExpr	   *op = (OpExpr *) expr;

				set_opfuncid(op);
				if (op->opresulttype != BOOLOID)
					return function(t, op->opfuncid, op->args, op->opresulttype, value);
				break;
			}
		case T_CaseExpr:
			return choice(t, (CaseExpr *) expr, value);
		case T_CaseTestExpr:
			if (t->tested == NULL)
				return false;
			*value = *t->tested;
			return true;
		case T_CoalesceExpr:
			return coalesce(t, (CoalesceExpr *) expr, value);
		case T_NullIfExpr:
			return null_if(t, (NullIfExpr *) expr, value);
		default:
			break;
	}
	if (exprType((Node *) expr) != BOOLOID)
		return false;
	condition = gj_translate_condition(t, expr);
	if (condition == NULL)
		return false;
	(void) gj_describe_value(BOOLOID, value);
	value->json = psprintf("{\"truth\":%s}", condition);
	return true;
}

/* ---- bounds ---- */

/*
 * Some constructs repeat the text of an argument, so that the text may grow
 * exponentially with the nesting of the expression.
 */
static bool
is_short(const char *json)
{
	return strlen(json) <= GJ_MAX_EXPRESSION_BYTES;
}

char *
gj_translate_condition(GjTranslator *t, Expr *expr)
{
	char	   *json;

	check_stack_depth();
	json = translate_condition(t, expr);
	return json != NULL && is_short(json) ? json : NULL;
}

bool
gj_translate_value(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	check_stack_depth();
	return translate_value(t, expr, value) && is_short(value->json) &&
		(value->display_scale == NULL || is_short(value->display_scale));
}
