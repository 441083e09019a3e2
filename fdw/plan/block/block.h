/*
 * plan/block/block.h - query blocks: a job with an aggregation.
 */
#ifndef PLAN_BLOCK_BLOCK_H
#define PLAN_BLOCK_BLOCK_H

#include "postgres.h"

#include "plan/expr/expr.h"
#include "plan/state.h"

/* ---- the aggregation of a query block, as the daemon does it ---- */

/* An aggregation as core plans it. */
typedef struct GjGrouping
{
	List	   *keys;			/* GROUP BY expressions */
	List	   *clauses;		/* their SortGroupClauses */
	List	   *sets;			/* grouping sets: lists of references of clauses;
								 * NIL: one by all keys */
	List	   *leaves;			/* what is read above it, custom_scan_tlist: keys,
								 * then columns that depend on them, Aggrefs and
								 * GroupingFuncs */
	List	   *having;			/* conditions on groups */
} GjGrouping;

/* An aggregate function of the daemon's. */
typedef struct GjFunction
{
	const char *name;
	GjExpr	   *arg;			/* NULL: none */
	GjExpr	   *filter;			/* NULL: none */
	bool		distinct;
} GjFunction;

/* Two columns of the daemon's result that must agree. */
typedef struct GjCheck
{
	int			first;
	int			second;
	bool		packed;			/* extremes of both ways to pack, else integers */
	int			key;			/* column; where it is NULL, nothing is shown; or -1 */
} GjCheck;

/* The members of an aggregate node of the job, docs/internals/job.md. */
typedef struct GjMembers
{
	List	   *keys;			/* of GjExpr */
	List	   *carry;			/* of GjExpr, which are columns */
	List	   *functions;		/* of GjFunction, each once */
} GjMembers;

/* An aggregation of the rows of a tree, translated. */
typedef struct GjAggregation
{
	GjTranslator translator;
	const GjGrouping *grouping;
	GjAggregate *result;		/* but for its texts; its arrays have room for all
								 * leaves */
	int			source;			/* number of the daemon's result as an input */
	GjMembers	rows;			/* of the aggregation of rows */
	List	   *checks;			/* of GjCheck */
	GjExpr	   *check;			/* of all checks; NULL: none */
	GjExpr	   *having;			/* NULL: not evaluated by the daemon */
	GjMembers	combined;		/* of the aggregation by grouping sets */
	GjExpr	   *set_filter;
} GjAggregation;

/*
 * Translates an aggregation of the tree's rows.  Returns the reason why it cannot
 * be translated.  If there is none, *a is filled in.  It keeps the grouping.
 */
extern GjReject gj_translate_aggregation(PlannerInfo *root, const GjTree *tree,
										 const GjGrouping *grouping, GjAggregation *a);

/* Does the daemon accept the document of a job with the tree and this above it? */
extern bool gj_aggregation_fits(const GjAggregation *a, const GjTree *tree);

/*
 * Places the columns and parameters that it reads in the job that is being made, and
 * writes its texts.
 */
extern GjAggregate *gj_write_aggregation(GjInputs *inputs, const GjAggregation *a);

/* ---- its columns and functions ---- */

/* Adds an empty column to the result. */
extern GjColumn *gj_add_column(GjAggregation *a);

/* Describes an integer that the daemon computes. */
extern void gj_describe_integer(GjColumn *column, int width);

/*
 * Describes a column that returns values of this type as they are fed.  Returns
 * false if there is none.
 */
extern bool gj_describe_type(GjColumn *column, Oid type, int32 typmod, Oid collation);

/*
 * Returns the column of the daemon's result with this function, and adds it
 * if necessary.
 */
extern int	gj_function_column(GjAggregation *a, const char *name, GjExpr *arg,
							   GjExpr *filter, bool distinct, int width);

/* Does equality in GROUP BY mean equal bytes in the daemon's column? */
extern bool gj_groups_by_bytes(const SortGroupClause *clause, const Expr *key);

/*
 * Adds the columns that an aggregate function needs, and describes in *result
 * how they become its value.  Returns the reason why that is not possible.
 */
extern GjReject gj_add_function(GjAggregation *a, const Aggref *aggref, GjResult *result);

/* ---- which one of equal numerics PostgreSQL shows (plan/block/columns.c) ---- */

/*
 * The column with the least or greatest display scale of the values that are
 * not NULL, by the function's name.
 */
extern int	gj_scale_column(GjAggregation *a, const char *name, GjExpr *arg, GjExpr *filter);

/*
 * A value and its display scale as one integer, so that values are compared
 * first.  operator: "+" or "-"; of values that are equal, the order by scale
 * is then ascending or descending.
 */
extern GjExpr *gj_packed(GjExpr *arg, const char *operator);

/*
 * Adds a check of the looks of an expression.  Returns false if it would
 * probably fail, unless joins are forced.
 */
extern bool gj_add_check(GjAggregation *a, GjCheck check, const Expr *expr);

/*
 * The condition of all checks on the result, which is the daemon's input of
 * this number.  It is true or an arithmetic error.  NULL: there is no check.
 */
extern GjExpr *gj_check_condition(const GjAggregation *a, int input);

/* Does anything above the aggregation depend on how this key looks? */
extern bool gj_is_shown(const PlannerInfo *root, const List *having, const Expr *key);

/* ---- grouping sets ---- */

/*
 * Completes an aggregation by all keys, whose columns have been added, to one
 * by grouping sets.
 */
extern GjReject gj_add_grouping_sets(GjAggregation *a);

/* Adds the input whose rows are the grouping sets, behind all others. */
extern void gj_add_sets_input(GjInputs *inputs, const GjGrouping *grouping,
							  const GjAggregate *aggregate);

/* ---- the CustomPath of an OffloadBlock ---- */

/*
 * A CustomPath with additional fields.  Its custom_paths are those of the
 * inputs in order, then the native path, which delivers the node's target.
 */
typedef struct GjBlockPath
{
	CustomPath	cpath;
	GjVariant	variant;
	GjTree	   *tree;
	GjAggregation *aggregation; /* NULL: above a Gather */
	double		groups;			/* before HAVING */
	double		growth;		/* groups / core's estimate of them */
	double		finest_groups;	/* by all keys, if there are grouping sets */
	GjTime		time;
	bool		promised;		/* see GjPlan */
	Cost		native_cost;	/* of the path that it replaces */
	double		native_ns;		/* that this is expected to take */
	const char *defect;			/* of the node that was made of it; NULL: none */
} GjBlockPath;

/*
 * Adds paths for the groups of the trees' rows.  clauses are the
 * SortGroupClauses of the keys, sets the grouping sets as core has expanded
 * them, having the conditions on groups.  The target is that of output.
 */
extern GjReject gj_add_block_paths(PlannerInfo *root, RelOptInfo *output, GjTree **trees,
							   List *clauses, List *sets, List *having);

/* ---- the only table of a block ---- */

/*
 * Remembers how a table would be scanned, in the hook for its paths: core later
 * replaces its target and paths by those that compute GROUP BY expressions.
 */
extern void gj_remember_scan(PlannerInfo *root, RelOptInfo *rel);

/*
 * Decides how a table is fed whose scan was remembered, when the hooks of all
 * libraries have run.  NULL if it was not remembered.
 */
extern GjBaserel *gj_scanned_base(PlannerInfo *root, RelOptInfo *rel);

#endif							/* PLAN_BLOCK_BLOCK_H */
