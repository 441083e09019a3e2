/*
 * plan/expr/leaf.h - types, columns and constants as values of the daemon.
 */
#ifndef PLAN_EXPR_LEAF_H
#define PLAN_EXPR_LEAF_H

#include "plan/expr/translate.h"

/* Display scales beyond this are not computed by the daemon. */
#define GJ_MAX_SCALE 36

/* Width of an integer constant or parameter (docs/job.md), in bytes. */
#define GJ_CONSTANT_WIDTH 8

/*
 * Fills in all but the text.  Returns false if the daemon has no such type.
 */
extern bool gj_describe_value(Oid type, GjValueJson *value);

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

/* Translates a column. */
extern bool gj_translate_column(GjTranslator *t, const Var *var, GjReading reading,
								GjValueJson *value);

/* Translates a column of floats as integers that have its order. */
extern bool gj_translate_float(GjTranslator *t, const Var *var, GjReading reading,
							   GjValueJson *value);

/*
 * Returns the column that is read for var, or NULL if no row of the
 * translator's tree has it.
 */
extern const Var *gj_visible_column(GjTranslator *t, const Var *var);

extern bool gj_translate_constant(const Const *c, GjValueJson *value);

/*
 * Gives an integer constant this scale.  Returns false if it has more decimals
 * or becomes too large.
 */
extern bool gj_constant_to_scale(GjValueJson *constant, int scale);

/*
 * Makes an integer one of this many bytes, which it fits.  1 is for booleans
 * only.
 */
extern void gj_set_width(GjValueJson *value, int width);

/* A decimal's display scale as a value, where the decimal is not NULL. */
extern char *gj_display_scale(const GjValueJson *value);

/* {"fn": "+"} or another operation of two values, with a result of this width. */
extern char *gj_call_json(char operator, int width, const char *a, const char *b);

/* {"case": ...} of one condition. */
extern char *gj_choice_json(const char *condition, const char *then, const char *otherwise);

/* Gives both decimals the larger scale of the two. */
extern bool gj_align(GjValueJson *a, GjValueJson *b);

/*
 * Gives n values, of which one is chosen row by row, one kind and scale, and
 * describes the chosen one in *value, but for its texts: where display_scale
 * is set, so is that of each arm.
 */
extern bool gj_unite(GjValueJson *arms, int n, GjValueJson *value);

/* Hexadecimal digits. */
extern char *gj_hex(const char *data, int length);

/* How the daemon finds characters in the database's encoding.  NULL: it cannot. */
extern const char *gj_encoding_word(void);

#endif							/* PLAN_EXPR_LEAF_H */
