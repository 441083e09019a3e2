/*
 * plan/expr/expr.h - expressions in the form in which the daemon evaluates them.
 *
 * The daemon knows integers and bytes (docs/internals/job.md).  A numeric becomes an
 * integer whose scale is known here, a date its days, a boolean 0 or 1.
 *
 * A translated expression is a tree, whose nodes may be shared.  It is made when
 * a path is considered.  The positions of columns in the job's inputs are known
 * only when the plan is made of the path, and then the tree is written once.
 */
#ifndef PLAN_EXPR_EXPR_H
#define PLAN_EXPR_EXPR_H

#include "job/page_qual.h"
#include "plan/input/input.h"
#include "plan/state.h"

/* ---- the tree ---- */

typedef enum GjKind
{
	GJ_KIND_INT,				/* integers, dates, timestamps */
	GJ_KIND_DECIMAL,			/* numeric: the integer, divided by 10^scale */
	GJ_KIND_BOOL,
	GJ_KIND_TEXT				/* bytes; bpchar without trailing blanks */
} GjKind;

typedef enum GjExprTag
{
	/* values */
	GJ_EXPR_COLUMN,
	GJ_EXPR_PARAMETER,
	GJ_EXPR_INT,
	GJ_EXPR_NULL,
	GJ_EXPR_TEXT,
	GJ_EXPR_CALL,
	GJ_EXPR_SUBSTRING,
	GJ_EXPR_CASE,				/* args: condition and value of each arm, then the
								 * value of ELSE */
	GJ_EXPR_TRUTH,				/* a condition as 1, 0 or NULL */
	/* conditions */
	GJ_EXPR_COMPARE,
	GJ_EXPR_AND,
	GJ_EXPR_OR,
	GJ_EXPR_NOT,
	GJ_EXPR_IS_NULL,
	GJ_EXPR_LIKE,
	GJ_EXPR_IN					/* args: the value, then constants */
} GjExprTag;

/*
 * A column or parameter that expressions read.  Its number in the job is known
 * when the plan is made: gj_place_leaves().
 */
typedef struct GjLeaf
{
	const Var  *var;			/* NULL: a parameter, or a column of the daemon's
								 * own result, whose place is known */
	GjForm		form;			/* of var */
	bool		is_key;			/* its bytes are compared */
	const Expr *parameter;		/* NULL: a column */
	GjRounding	rounding;		/* of the parameter */
	int			scale;
	GjOutput	place;			/* of the column */
	int			number;			/* of the parameter */
} GjLeaf;

/*
 * A node.  Constructors make it complete but for the description of its value,
 * which the caller may change until it is used.
 */
typedef struct GjExpr
{
	GjExprTag	tag;

	/* description of the value */
	GjKind		kind;
	int			width;			/* bytes of the integer: 1, 2, 4, 8 or 16 */
	int			scale;			/* GJ_KIND_DECIMAL */

	/*
	 * The display scale, as an integer, where it depends on the row: CASE and
	 * COALESCE over numerics of several scales.  NULL: it is scale.
	 */
	struct GjExpr *display_scale;

	const char *word;			/* function or comparison; bytes of a text or
								 * pattern as hexadecimal digits */
	const char *encoding;		/* SUBSTRING and LIKE: of characters */
	int64		number;			/* INT: the constant; NULL and CALL: width, if it is
								 * written; SUBSTRING: first character; IN: is NULL
								 * in the list? */
	int			length;			/* SUBSTRING: in characters; -1: to the end */
	bool		checked;		/* COLUMN: NaN, as it is stored, is an error */
	GjLeaf	   *leaf;			/* COLUMN and PARAMETER */
	int			nargs;
	struct GjExpr **args;

	/* of the text */
	int			levels;			/* how deeply objects and lists are nested */
	int			bytes;			/* GJ_MAX_EXPRESSION_BYTES + 1: more than these */

	/*
	 * May the daemon fail to evaluate it with an arithmetic error?  Its own rule
	 * is joincore.ValueCanFail.
	 */
	bool		can_fail;
} GjExpr;

/* Width of an integer constant or parameter (docs/internals/job.md), in bytes. */
#define GJ_CONSTANT_WIDTH 8

/* Display scales beyond this are not computed by the daemon. */
#define GJ_MAX_SCALE 36

/*
 * The longest text of one expression, and of all expressions of a job.  Keeps
 * the document below the daemon's limits of 1 MiB and 65,536 objects: an
 * object has at least 9 bytes.  Nodes may be shared, so that the text may grow
 * exponentially with the nesting of the expression.
 */
#define GJ_MAX_EXPRESSION_BYTES (256 * 1024)

/* Parameters of a job, docs/internals/job.md. */
#define GJ_MAX_PARAMETERS 1024

/*
 * ---- constructors (plan/expr/expr.c) ----
 *
 * They return NULL if an argument is NULL: an expression is translated as a whole
 * or not at all.
 */

extern GjExpr *gj_int(int64 number);
extern GjExpr *gj_null(int width);	/* 0: of a text */
extern GjExpr *gj_text(const char *bytes, int length);
extern GjExpr *gj_column_expr(GjLeaf *leaf, bool checked);
extern GjExpr *gj_parameter_expr(GjLeaf *leaf);

/*
 * An operation, such as "+", of two values, with an integer of this width.  0: the
 * function has none.
 */
extern GjExpr *gj_call(const char *operator, int width, GjExpr *a, GjExpr *b);

/* The year, month or day of a date. */
extern GjExpr *gj_date_part(const char *name, GjExpr *date);

extern GjExpr *gj_substring(GjExpr *text, int from, int length, const char *encoding);

/* n arms. */
extern GjExpr *gj_case(GjExpr **conditions, GjExpr **values, int n, GjExpr *otherwise);
extern GjExpr *gj_choice(GjExpr *condition, GjExpr *then, GjExpr *otherwise);
extern GjExpr *gj_truth(GjExpr *condition);

extern GjExpr *gj_compare(GjPageTest test, GjExpr *left, GjExpr *right);
extern GjExpr *gj_both(GjExpr *a, GjExpr *b);
extern GjExpr *gj_either(GjExpr *a, GjExpr *b);

/* GJ_EXPR_AND or GJ_EXPR_OR of a list of conditions. */
extern GjExpr *gj_junction(GjExprTag tag, const List *conditions);

/* The conjunction; of a single condition, the condition. */
extern GjExpr *gj_conjunction(const List *conditions);
extern GjExpr *gj_not(GjExpr *condition);
extern GjExpr *gj_is_null(GjExpr *value);
extern GjExpr *gj_like(GjExpr *value, const char *bytes, int length, const char *encoding);
extern GjExpr *gj_in(GjExpr *value, const List *constants, bool has_null);

/* expr, described as the value of model is. */
extern GjExpr *gj_described_as(GjExpr *expr, const GjExpr *model);

/* The same value, as one of this kind. */
extern GjExpr *gj_as_kind(const GjExpr *value, GjKind kind);

/* Do both have the same text?  NULL equals NULL only. */
extern bool gj_same_expr(const GjExpr *a, const GjExpr *b);

/* ---- the text (plan/expr/write.c) ---- */

/* Completes a node whose arguments are complete. */
extern void gj_measure_expr(GjExpr *expr);

/* Returns the text of a value or condition, docs/internals/job.md. */
extern char *gj_write_expr(const GjExpr *expr);

extern void gj_append_expr(StringInfo json, const GjExpr *expr);

/* A reference to a column: {"input":i,"column":c}. */
extern void gj_append_reference(StringInfo json, GjOutput place);

/* ---- translation ---- */

typedef struct GjTranslator
{
	PlannerInfo *root;

	/*
	 * The tree whose rows are read.  A hidden column is replaced by an equal
	 * one.  NULL: columns of the tables in hidden are not read.
	 */
	const GjTree *tree;
	Relids		hidden;
	bool		met_hidden;		/* set: an expression needs a hidden column */

	/*
	 * May take over the translation of an expression, and has to do so for
	 * columns.  NULL: not used.  Returns whether it has; *value is NULL if that
	 * was not possible.
	 */
	bool		(*leaf) (void *arg, Expr *expr, GjExpr **value);
	void	   *leaf_arg;

	/*
	 * Conditions of a table that may be kept.  They have further forms
	 * (plan/expr/kept.c), which those of joins and aggregates do not have.
	 */
	bool		kept;

	/*
	 * The node starts again with other values of parameters, so that those of the outer
	 * query's rows are known, too.
	 */
	bool		restarts;

	const GjExpr *tested;		/* the value of CaseTestExpr; NULL: none */
	bool		floats;			/* values are floats that are added up */
	List	   *leaves;			/* of GjLeaf, each once, in the order in which they
								 * were met */
} GjTranslator;

/*
 * Translates an expression.  Returns NULL if the daemon cannot evaluate it
 * exactly as PostgreSQL does.  Evaluating may fail where PostgreSQL raises an
 * error, and in some cases where it does not; the job then ends before its first
 * row.
 */
extern GjExpr *gj_translate_value(GjTranslator *t, Expr *expr);

/* The same for a condition. */
extern GjExpr *gj_translate_condition(GjTranslator *t, Expr *expr);

/* ---- types, columns and constants (plan/expr/leaf.c) ---- */

/*
 * Describes values of a type in *value.  Returns false if the daemon has no such
 * type.
 */
extern bool gj_describe_value(Oid type, GjExpr *value);

/* An operation whose result has this type, which the daemon has. */
extern GjExpr *gj_typed_call(const char *operator, Oid type, GjExpr *a, GjExpr *b);

/* The leaf of the translator that is like this one, which is added if necessary. */
extern GjLeaf *gj_leaf(GjTranslator *t, GjLeaf wanted);

/* How a column is read. */
typedef enum GjReading
{
	GJ_READ_VALUE,				/* as a value of its type */
	GJ_READ_BLANKS,				/* the same, with a bpchar's trailing blanks,
								 * which LIKE sees and = does not */
	GJ_READ_STORED,				/* the same, but a numeric's NaN and a float's -0
								 * are the least 64-bit integer, not an
								 * arithmetic error */
	GJ_READ_NULLS				/* to test for NULL only; any type */
} GjReading;

extern GjExpr *gj_translate_column(GjTranslator *t, const Var *var, GjReading reading);

/* A column of floats as integers that have its order. */
extern GjExpr *gj_translate_float_column(GjTranslator *t, const Var *var, GjReading reading);

/* A column as it is returned, in the form of its payload. */
extern GjExpr *gj_translate_payload(GjTranslator *t, const Var *var, bool is_key);

/* A column of the daemon's own result. */
extern GjExpr *gj_result_column(int input, int column, bool checked);

extern GjExpr *gj_translate_constant(const Const *c);

/*
 * An integer constant at this scale.  NULL if it has more decimals or becomes too
 * large.
 */
extern GjExpr *gj_constant_to_scale(const GjExpr *constant, int scale);

/*
 * An integer as one of this many bytes, which it fits.  1 is for booleans only.
 */
extern GjExpr *gj_to_width(GjExpr *value, int width);

/* A decimal's display scale as a value, where the decimal is not NULL. */
extern GjExpr *gj_display_scale(const GjExpr *value);

/* Gives both decimals the larger scale of the two. */
extern bool gj_align(GjExpr **a, GjExpr **b);

/*
 * A choice of one of the values of n arms and of the last one, row by row.  They
 * get one kind and scale.  NULL: they have none in common.
 */
extern GjExpr *gj_choose(GjExpr **conditions, GjExpr **values, int n);

/* How the daemon finds characters in the database's encoding.  NULL: it cannot. */
extern const char *gj_encoding_word(void);

/* ---- kinds of expressions, each in a file of its name ---- */

/* The float that an expression adds up, as an integer that has its order. */
extern GjExpr *gj_translate_float(GjTranslator *t, Expr *expr);

/* The same of a column, or of an expression that the plan of an input computes. */
extern GjExpr *gj_translate_plain_float(GjTranslator *t, Expr *expr, GjReading reading);

/* Calls of functions and operators that return this type. */
extern GjExpr *gj_translate_call(GjTranslator *t, Oid function, List *args, Oid type);
extern GjExpr *gj_translate_number_call(GjTranslator *t, Oid function, List *args, Oid type);
extern GjExpr *gj_translate_time_call(GjTranslator *t, Oid function, List *args);

extern GjExpr *gj_translate_case(GjTranslator *t, const CaseExpr *expr);
extern GjExpr *gj_translate_coalesce(GjTranslator *t, const CoalesceExpr *expr);
extern GjExpr *gj_translate_extreme(GjTranslator *t, const MinMaxExpr *expr);
extern GjExpr *gj_translate_nullif(GjTranslator *t, const NullIfExpr *expr);

/* num_nulls() and num_nonnulls() */
extern GjExpr *gj_translate_null_count(GjTranslator *t, const FuncExpr *call);

/* An expression of any kind that is a condition. */
extern GjExpr *gj_translate_test(GjTranslator *t, Expr *expr);

/* The comparison of two expressions by an operator. */
extern GjExpr *gj_translate_comparison(GjTranslator *t, Oid opno, Oid collation, Expr *left,
									   Expr *right);

/* Does the function compare a date with a timestamp?  Sets the test, and their order. */
extern bool gj_find_date_test(Oid function, bool *date_first, GjPageTest *test);

/* The comparison of a date with a timestamp, in either order, by this function. */
extern GjExpr *gj_compare_date_with_timestamp(GjTranslator *t, Oid function, Expr *left,
											  Expr *right);

/* ---- comparisons (plan/expr/compare.c) ---- */

/*
 * Is the operator a comparison that the daemon knows, of operands of these
 * types under this collation?  If so, *test tells which.
 */
extern bool gj_find_test(Oid opno, Oid collation, Oid left, Oid right, GjPageTest *test);

/* Does a RelabelType between these types leave the value as it is? */
extern bool gj_same_value(Oid from, Oid to);

/* Returns the column that the expression reads unchanged, or NULL. */
extern const Var *gj_plain_column(const Expr *expr);

/* A numeric column as it is stored (GJ_READ_STORED).  NULL if the expression is none. */
extern GjExpr *gj_translate_stored(GjTranslator *t, const Expr *expr);

/*
 * Compares numerics of one scale as they are stored, which cannot fail.
 * Returns NULL if the operands are not columns and constants of one scale.
 */
extern GjExpr *gj_compare_stored(GjTranslator *t, GjPageTest test, const Expr *left,
								 const Expr *right);

/*
 * Compares with a numeric parameter, whose scale is not known before it is: with
 * the integers below and above it.  *is_parameter: one operand is such a
 * parameter.
 */
extern GjExpr *gj_compare_parameter(GjTranslator *t, GjPageTest test, Expr *left, Expr *right,
									bool *is_parameter);

/*
 * Compares decimals as integers of one scale, of which one is a constant with more
 * decimals than the other one has, and the other one may be a NaN as it is stored.
 * This cannot fail.  Returns NULL if the constant has no more decimals, or there is
 * none.
 */
extern GjExpr *gj_compare_longer(GjPageTest test, GjExpr *a, GjExpr *b, bool may_be_nan);

/* ---- comparisons of kept tables (plan/expr/kept.c) ---- */

/*
 * Comparisons of floats, of enums and the like, and of dates with constant
 * timestamps, which cannot fail.  Returns NULL for others.
 */
extern GjExpr *gj_translate_kept_comparison(GjTranslator *t, Oid opno, Expr *left, Expr *right);

/* ---- parameters (plan/expr/parameters.c) ---- */

/*
 * A parameter whose values are integers for the daemon, or texts.  NULL for other
 * types and for correlated parameters, unless the translator restarts.  The job is not offloaded in executions in
 * which texts are too long.
 */
extern GjExpr *gj_translate_parameter(GjTranslator *t, const Param *param);

/*
 * Is the expression the current date or time, or a function of it and of
 * constants?  Its value then is the same for all rows.
 */
extern bool gj_is_known_at_start(Expr *expr);

/* Translates it to a parameter.  NULL if its type is not an integer's. */
extern GjExpr *gj_translate_known(GjTranslator *t, Expr *expr);

/*
 * A numeric parameter, multiplied by 10^scale and rounded; NULL if it is
 * correlated.  The job is not offloaded in executions in which it is too large, or
 * not a number.
 */
extern GjExpr *gj_numeric_parameter(GjTranslator *t, const Param *param, int scale,
									GjRounding rounding);

/*
 * Gives columns and parameters, in this order, their numbers in the job that is
 * being made.
 */
extern void gj_place_leaves(GjInputs *inputs, const List *leaves);

extern int	gj_count_parameters(const List *leaves);

/*
 * Adds to a node's children, which are complete, a Result whose targets are the
 * job's parameters.  It is never run.  They are not in custom_exprs, because core
 * replaces an expression there that equals a column of the node by a Var, and
 * there is no row when they are evaluated.
 */
extern List *gj_with_parameters(const GjInputs *inputs, List *children);

/* ---- numeric columns without a declared scale (plan/expr/unscaled_numeric.c) ---- */

/*
 * The scale at which the column's values are expected to be 64-bit decimals, or
 * -1 if that is not expected.
 */
extern int	gj_unscaled_scale(PlannerInfo *root, const Var *var);

/*
 * Do equal values of the expression probably have the same number of decimals?
 * So it is if all sampled values of a column have one scale, or if none of them
 * ends in a zero that could be left out.
 */
extern bool gj_looks_alike(PlannerInfo *root, const Expr *expr);

/* ---- conditions of a table that the daemon evaluates itself (plan/input/conditions.c) ---- */

/* They stay below the daemon's limit of nesting. */
#define GJ_MAX_CONDITION_LEVELS 200

/* The conjunction of a scan's conditions, in their order; NULL if one has no form. */
extern GjExpr *gj_translate_conditions(GjTranslator *t, const List *quals);

/* A column of the input that has what the leaf reads, or -1. */
extern int	gj_find_stored(const GjInput *input, const GjLeaf *leaf);

/*
 * Gives the leaves of an input's conditions their places, with hidden columns for those
 * that have none.
 */
extern void gj_place_conditions(GjInputs *inputs, int input, const List *leaves);

/* ---- the size of the job's document (plan/expr/write.c) ---- */

/* Records the size of a join with the tree's conditions, whose sides have theirs. */
extern void gj_measure_tree(GjTree *tree);

/* Puts a node with expressions of this size above those of the job. */
extern void gj_add_above(GjTreeSize *size, int levels, int bytes);

/* Does the daemon accept a document of this size? */
extern bool gj_size_fits(const GjTreeSize *size);

#endif							/* PLAN_EXPR_EXPR_H */
