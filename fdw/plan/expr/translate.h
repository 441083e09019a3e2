/*
 * plan/expr/translate.h - expressions in the form in which the daemon evaluates them.
 *
 * The daemon knows integers and bytes (docs/job.md).  A numeric becomes an
 * integer whose scale is known here, a date its days, a boolean 0 or 1.
 */
#ifndef PLAN_EXPR_TRANSLATE_H
#define PLAN_EXPR_TRANSLATE_H

#include "plan/input/input.h"

typedef enum GjKind
{
	GJ_KIND_INT,				/* integers, dates, timestamps */
	GJ_KIND_DECIMAL,			/* numeric: the integer, divided by 10^scale */
	GJ_KIND_BOOL,
	GJ_KIND_TEXT				/* bytes; bpchar without trailing blanks */
} GjKind;

typedef struct GjValueJson
{
	char	   *json;			/* a value of docs/job.md */
	GjKind		kind;
	int			width;			/* bytes of the integer: 1, 2, 4, 8 or 16 */
	int			scale;			/* GJ_KIND_DECIMAL */

	/*
	 * The display scale, as an integer value of docs/job.md, where it depends
	 * on the row: CASE and COALESCE over numerics of several scales.  NULL: it
	 * is scale.
	 */
	char	   *display_scale;
} GjValueJson;

struct GjTranslator;

/*
 * How to translate an argument, so that the files for kinds of expressions do
 * not call the file that calls them.
 */
typedef struct GjTranslatorMethods
{
	bool		(*value) (struct GjTranslator *t, Expr *expr, GjValueJson *value);
	char	   *(*condition) (struct GjTranslator *t, Expr *expr);
} GjTranslatorMethods;

extern const GjTranslatorMethods gj_translator_methods;

typedef struct GjTranslator
{
	const GjTranslatorMethods *methods; /* &gj_translator_methods */
	PlannerInfo *root;
	GjInputs   *inputs;			/* NULL: check only.  The text then has the
								 * size of the real one, but no real places */

	/*
	 * The tree whose rows are read.  A hidden column is replaced by an equal
	 * one.  NULL: columns of the tables in hidden are not read.
	 */
	const GjTree *tree;
	Relids		hidden;
	bool		met_hidden;		/* set: an expression needs a hidden column */

	/*
	 * May take over the translation of an expression, and has to do so for
	 * columns.  NULL: not used.  Returns whether it has; *ok says whether that
	 * was possible.
	 */
	bool		(*leaf) (void *arg, Expr *expr, GjValueJson *value, bool *ok);
	void	   *leaf_arg;

	const GjValueJson *tested;	/* the value of CaseTestExpr; NULL: none */
} GjTranslator;

/*
 * Translates an expression into *value.  Returns false if the daemon cannot
 * evaluate it exactly as PostgreSQL does.  Evaluating may fail where
 * PostgreSQL raises an error, and in some cases where it does not; the job
 * then ends before its first row.
 */
static inline bool
gj_translate_value(GjTranslator *t, Expr *expr, GjValueJson *value)
{
	return t->methods->value(t, expr, value);
}

/* The same for a condition.  Returns NULL if it cannot be translated. */
static inline char *
gj_translate_condition(GjTranslator *t, Expr *expr)
{
	return t->methods->condition(t, expr);
}

/* The conjunction of a list of expressions, none of which is left out. */
extern char *gj_translate_conditions(GjTranslator *t, List *exprs);

/* A reference to a column: {"input":i,"column":c}. */
extern char *gj_reference_json(GjOutput place);

#endif							/* PLAN_EXPR_TRANSLATE_H */
