/*
 * plan/block/column.h - columns of the daemon's result of an aggregation.
 */
#ifndef PLAN_BLOCK_COLUMN_H
#define PLAN_BLOCK_COLUMN_H

#include "plan/expr/translate.h"

/* An aggregate function of the daemon's. */
typedef struct GjFunction
{
	const char *name;
	bool		distinct;
	char	   *json;
} GjFunction;

typedef struct GjAggregation
{
	GjTranslator translator;
	GjAggregate *result;		/* its arrays have room for all leaves */
	int			source;			/* number of the daemon's result as an input */
	List	   *leaves;			/* expressions of custom_scan_tlist, in order */
	List	   *keys;			/* GROUP BY expressions */
	StringInfoData keys_json;
	StringInfoData carry_json;
	StringInfoData functions_json;
	List	   *functions;		/* of GjFunction, each once */
	List	   *checks;			/* of GjCheck */
} GjAggregation;

/* Adds an empty column to the result. */
extern GjColumn *gj_add_column(GjAggregation *a);

/* Describes an integer that the daemon computes. */
extern void gj_describe_integer(GjColumn *column, int width);

/*
 * Describes a column that returns values of this type as they are fed.  Returns
 * false if there is none.
 */
extern bool gj_describe_type(GjColumn *column, Oid type, int32 typmod, Oid collation);

/* Appends to a list whose items are separated by commas. */
extern void gj_append_item(StringInfo list, const char *item);

/*
 * Returns the column of the daemon's result with this function, and adds it
 * if necessary.
 */
extern int	gj_function_column(GjAggregation *a, const char *name, const char *arg,
							   const char *filter, bool distinct, int width);

/* Does equality in GROUP BY mean equal bytes in the daemon's column? */
extern bool gj_groups_by_bytes(const SortGroupClause *clause, const Expr *key);

#endif							/* PLAN_BLOCK_COLUMN_H */
